"""What is left out unasked: exact names, secrets in any case, and nothing that merely sounds so."""

from __future__ import annotations

import pytest

from syncd.sources import builtin
from syncd.sources.builtin import directory_rule, file_rule, is_private_key


def reason(name: str, parent: str = "some") -> str | None:
    rule = file_rule(parent, name)
    return rule.reason if rule else None


def directory_reason(name: str, parent: str = "some") -> str | None:
    rule = directory_rule(parent, name)
    return rule.reason if rule else None


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.local", ".env.production", ".env.example", ".ENV", ".env-old", "prod.env"),
        *("id_rsa", "ID_RSA", "id_ed25519", "id_rsa.bak", "id_ecdsa_sk", "ssh_host_rsa_key"),
        *("server.pem", "server.KEY", "a.p12", "a.pfx", "a.ppk", "a.jks", "a.keystore"),
        *(".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd"),
        *("secring.gpg", "secring.old", "pass.kdbx", "old.kdb", "mail.gpg", "key.asc"),
        *("terraform.tfstate", "terraform.tfstate.backup", "credentials", "credentials.json"),
        *("application_default_credentials.json", "client_secret_123.json", "logins.json"),
        *("login.keyring", ".bash_history", "krb5cc_1000"),
    ],
)
def test_secrets_are_left_out(name: str) -> None:
    assert reason(name) == builtin.SECRETS


@pytest.mark.parametrize(
    "name",
    [
        *("secret_redaction.py", "secrets.py", "id_rsa.pub", "keyboard.md", "env.py"),
        *("environment.yml", "my.envelope", "token.py", "credentials.py", "password.md", ".t"),
        *(
            "passwords-howto.md",
            "monkey",
            "a.pub",
            "id_rsarium",
            "api_key.rs",
            "README",
            "a.md.bak",
        ),
        *(
            "image.svg",
            "graph.dot",
            "Makefile",
            "a.ts",
            "swp",
            "tmp",
            "part",
            "a.tmpl",
            "notes~.md",
        ),
    ],
)
def test_ordinary_names_stay(name: str) -> None:
    assert reason(name) is None


@pytest.mark.parametrize(
    ("parent", "name"),
    [(".docker", "config.json"), ("gh", "hosts.yml"), (".m2", "settings.xml")],
)
def test_places_of_credentials(parent: str, name: str) -> None:
    assert reason(name, parent) == builtin.SECRETS
    assert reason(name, "elsewhere") is None


@pytest.mark.parametrize(
    "name", ["a.md~", ".a.md.swp", ".a.swx", "#a.md#", ".#a.md", "4913", "a.kate-swp", "~$a.docx"]
)
def test_backups_of_editors(name: str) -> None:
    assert reason(name) == builtin.BACKUP


@pytest.mark.parametrize(
    "name",
    [
        *(".a.md.tmp9", "a.tmp", ".goutputstream-X1Y2Z3", "a.iso.part", "a.zip.crdownload"),
        *("a.ts.tmp.123.456", ".nfs00000000a1b2c3d4", ".fuse_hidden0001"),
    ],
)
def test_temporary_files(name: str) -> None:
    assert reason(name) == builtin.TEMPORARY


@pytest.mark.parametrize("name", ["a.png", "A.JPG", "x.tar.gz", "lib.so", "a.pyc", "n\n.gif"])
def test_binary_by_name(name: str) -> None:
    assert reason(name) == builtin.BINARY


@pytest.mark.parametrize("name", ["a.pdf", "B.DOCX", "c.odt", "d.epub", "e.rtf", "f.xlsx"])
def test_documents_wait_for_an_extractor(name: str) -> None:
    rule = file_rule("some", name)
    assert rule == (builtin.NO_EXTRACTOR, None)


@pytest.mark.parametrize("name", ["png", ".png", "gz"])
def test_an_ending_needs_a_name_before_it(name: str) -> None:
    assert reason(name) is None


def test_a_git_file_points_at_a_repository() -> None:
    assert reason(".git") == builtin.VERSION_CONTROL


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".git", builtin.VERSION_CONTROL),
        ("CVS", builtin.VERSION_CONTROL),
        ("cvs", None),
        ("node_modules", builtin.DEPENDENCIES),
        ("__pycache__", builtin.CACHE),
        (".Trash-1000", builtin.TRASH),
        (".ssh", builtin.SECRETS),
        (".SSH", builtin.SECRETS),
        (".aws", builtin.SECRETS),
        (".password-store", builtin.SECRETS),
        ("secrets", None),
        ("gcloud", None),
        ("keyrings", None),
        (".github", None),
        ("build", None),
    ],
)
def test_directories(name: str, expected: str | None) -> None:
    assert directory_reason(name) == expected


def test_directories_by_place() -> None:
    assert directory_reason("gcloud", ".config") == builtin.SECRETS
    assert directory_reason("keyrings", "share") == builtin.SECRETS


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----\nMII",
        "\n  -----BEGIN RSA PRIVATE KEY-----\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
        "PuTTY-User-Key-File-3: ssh-ed25519\n",
    ],
)
def test_private_keys_by_their_text(text: str) -> None:
    assert is_private_key(text)


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN PUBLIC KEY-----\n",
        "How to spot `-----BEGIN PRIVATE KEY-----` in a file\n",
        "",
    ],
)
def test_other_texts_are_no_private_keys(text: str) -> None:
    assert not is_private_key(text)
