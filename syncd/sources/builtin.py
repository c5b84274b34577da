"""What is left out without being asked: noise, secrets, and what holds no text.

Each rule is an exact name, an ending or an anchored pattern, never a guess such as `*secret*`.
`directory_rule` and `file_rule` give the reason, and the marker an `include` has to spell out
to overrule it; a rule whose marker is None cannot be overruled. Secrets ignore case.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Raised whenever a rule below changes: it is part of every recipe, so that files are judged anew.
BUILTIN_VERSION = 1

VERSION_CONTROL = "version control"
DEPENDENCIES = "dependencies"
VIRTUAL_ENVIRONMENT = "virtual environment"
CACHE = "cache directory"
BACKUP = "editor backup"
TEMPORARY = "temporary file"
TRASH = "trash"
SECRETS = "secrets"
BINARY = "binary"
NO_EXTRACTOR = "document format without an extractor"


class Rule(NamedTuple):
    """Why a name is left out, and what an include must literally contain to have it."""

    reason: str
    marker: str | None


def _words(text: str) -> list[str]:
    return text.split()


def _named(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


_DIRECTORIES = {
    **_named(VERSION_CONTROL, ".git .hg .svn .bzr .jj .pijul CVS _darcs .sl"),
    **_named(DEPENDENCIES, "node_modules bower_components jspm_packages .terraform .gradle"),
    **_named(
        CACHE,
        "__pycache__ .mypy_cache .ruff_cache .pytest_cache .pytype .hypothesis .tox .nox .cache "
        ".sass-cache .parcel-cache .turbo .ipynb_checkpoints",
    ),
    **_named(TRASH, ".Trash .Trashes lost+found $RECYCLE.BIN"),
}
_TRASH_OF_USER = re.compile(r"\.Trash-\d+")

_SECRET_DIRECTORIES = frozenset(
    _words(
        ".gnupg .ssh .password-store .aws .azure .kube .gsutil .oci .bluemix .1password "
        ".mozilla .thunderbird .electrum"
    )
)
_SECRET_NAMES = frozenset(
    _words(
        ".env .envrc .netrc _netrc .authinfo .pgpass .my.cnf .mylogin.cnf .git-credentials .npmrc "
        ".pypirc .htpasswd .htdigest .dockercfg .s3cfg .boto .vault-token .terraformrc "
        "terraform.rc rclone.conf .msmtprc .fetchmailrc .smbcredentials .gitlab-token "
        "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk "
        "credentials credentials.json credentials.toml credentials.db credentials.tfrc.json "
        ".credentials .credentials.json application_default_credentials.json access_tokens.db "
        "secrets.json secrets.toml secrets.yaml secrets.yml logins.json key4.db signons.sqlite "
        ".bash_history .zsh_history .sh_history .histfile .python_history .psql_history "
        ".mysql_history .sqlite_history .node_repl_history .rediscli_history .lesshst "
        "wallet.dat .xauthority"
    )
)
_SECRET_ENDINGS = tuple(
    _words(
        ".pem .key .p8 .p12 .pfx .pkcs12 .ppk .jks .keystore .keytab .kdbx .kdb .gpg .pgp .asc "
        ".env .keyring .kwl .kwallet .agekey .ovpn .tfstate .tfstate.backup .tfvars .psafe3 "
        ".1pif .agilekeychain .opvault .mobileprovision"
    )
)
_SECRET_ENV = re.compile(r"\.env[.\-_].*", re.DOTALL)
# The last alternative: copies that people and editors make of a private key.
_SECRET_PATTERN = re.compile(
    r"(?: secring\..* | ssh_host_\w+_key | client_secret[_.\-].*\.json | krb5cc_\w+"
    r" | id_(?:rsa|dsa|ecdsa|ed25519)[.\-_](?!.*pub$).* )",
    re.VERBOSE | re.DOTALL,
)
# Ordinary names that hold credentials where they stand: the directory, then the name.
_SECRET_PLACES = frozenset(
    {
        (".docker", "config.json"),
        (".config", "gcloud"),
        (".config", "hub"),
        (".config", "op"),
        (".config", "sops"),
        (".config", "rclone"),
        ("share", "keyrings"),
        ("gh", "hosts.yml"),
        ("glab-cli", "config.yml"),
        ("containers", "auth.json"),
        (".composer", "auth.json"),
        ("composer", "auth.json"),
        (".m2", "settings.xml"),
        (".m2", "settings-security.xml"),
        (".terraform.d", "credentials.tfrc.json"),
        ("doctl", "config.yaml"),
        *(("etc", name) for name in ("shadow", "shadow-", "gshadow", "gshadow-")),
    }
)

_BACKUPS = re.compile(
    r"(?: .*~ | \#.*\# | \.\#.* | \..*\.sw. | .*\.sw[nop] | 4913 | .*\.kate-swp | \.~lock\..*\#"
    r" | ~\$.* | \.un~ )",
    re.VERBOSE | re.DOTALL,
)
# Atomic savers: `.a.md.tmp9`, `a.ts.tmp.123.456`, and what copying tools leave until they end.
_TEMPORARIES = re.compile(
    r"(?: .*\.tmp | \..*\.tmp[-.\w]* | .*\.tmp\.[\d.]+ | \.goutputstream-.* | \.fuse_hidden.*"
    r" | \.nfs[\da-f]{8,} | .*\.part | .*\.partial | .*\.crdownload | \.DS_Store | Thumbs\.db )",
    re.VERBOSE | re.DOTALL,
)

_DOCUMENT_ENDINGS = frozenset(
    _words(
        "pdf doc docx docm dotx ppt pptx pptm pps ppsx xls xlsx xlsm xlsb odt ods odp odg odf ott "
        "epub mobi azw azw3 rtf pages numbers keynote djvu xps oxps pst one vsd vsdx"
    )
)
_BINARY_ENDINGS = frozenset(
    _words(
        # images, fonts
        "ai avif bmp cr2 cur dng eot eps gif heic heif icns ico jp2 jpeg jpg jxl nef otf png psd "
        "tga tif tiff ttc ttf webp woff woff2 xcf blend fits "
        # sound, film
        "3gp aac aif aiff avi flac flv m4a m4b m4v mid midi mka mkv mov mp3 mp4 mpeg mpg oga ogg "
        "ogv opus swf wav webm wma wmv "
        # archives, packages, disks
        "7z apk asar bz2 bz3 cab cpio deb dmg ear egg gz img ipa iso jar lz lz4 lzma msi nupkg pyz "
        "pyzw qcow2 rar rpm tar tbz2 tgz txz vdi vhd vmdk war whl xpi xz zip zst "
        # object code
        "a bin class dll dylib exe ko lib o pdb pyc pyd pyo rlib rmeta so wasm dex elc beam "
        # data
        "arrow db db3 dbf feather gguf h5 hdf5 joblib mdb npy npz onnx orc parquet pkl pickle "
        "rdb safetensors sas7bdat sqlite sqlite3 tflite mscz ggb"
    )
)


def directory_rule(parent: str, name: str) -> Rule | None:
    """Why a directory of this name in a directory named `parent` is left out; None: it is not."""
    reason = _DIRECTORIES.get(name)
    if reason is not None:
        return Rule(reason, name)
    if _TRASH_OF_USER.fullmatch(name):
        return Rule(TRASH, name)
    folded = name.lower()
    if folded in _SECRET_DIRECTORIES or (parent.lower(), folded) in _SECRET_PLACES:
        return Rule(SECRETS, folded)
    return None


def file_rule(parent: str, name: str) -> Rule | None:
    """Why a file of this name in a directory named `parent` is left out; None: it is not."""
    folded = name.lower()
    marker = _secret_marker(parent.lower(), folded)
    if marker is not None:
        return Rule(SECRETS, marker)
    if name == ".git":
        return Rule(VERSION_CONTROL, ".git")
    if _BACKUPS.fullmatch(name):
        return Rule(BACKUP, folded)
    if _TEMPORARIES.fullmatch(name):
        return Rule(TEMPORARY, folded)
    return _kind_rule(folded)


def _secret_marker(parent: str, name: str) -> str | None:
    if name in _SECRET_NAMES or (parent, name) in _SECRET_PLACES:
        return name
    if name.endswith(_SECRET_ENDINGS):
        return next(ending for ending in _SECRET_ENDINGS if name.endswith(ending))
    if _SECRET_ENV.fullmatch(name):
        return ".env"
    return name if _SECRET_PATTERN.fullmatch(name) else None


def _kind_rule(name: str) -> Rule | None:
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        return None
    if ending in _DOCUMENT_ENDINGS:
        return Rule(NO_EXTRACTOR, None)
    if ending in _BINARY_ENDINGS:
        return Rule(BINARY, f".{ending}")
    return None


_PRIVATE_KEY = re.compile(
    r"\s*(?:-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-|AGE-SECRET-KEY-)"
)


def is_private_key(text: str) -> bool:
    """Whether a text begins as a private key does (RFC 7468 and its like), whatever its name."""
    return _PRIVATE_KEY.match(text) is not None
