"""What a remote's address says: whose repository it is, and where a commit can be looked at.

Pure. Credentials are taken out first, so that nothing that is made here can hold any.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_SCP = re.compile(
    r"(?:(?P<user>[^@/\s]+)@)?(?P<host>\[[^\]]+\]|[^:/\s]+):(?P<path>(?!//).*)", re.DOTALL
)
_PAGES = {
    "github.com": "https://github.com/{}/commit/{}",
    "gitlab.com": "https://gitlab.com/{}/-/commit/{}",
    "bitbucket.org": "https://bitbucket.org/{}/commits/{}",
    "codeberg.org": "https://codeberg.org/{}/commit/{}",
}
_OTHER_HOSTS = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


class Remote(NamedTuple):
    """An address without credentials, and what it names; `host` is "" for a path of a machine."""

    address: str
    host: str
    path: str

    @property
    def name(self) -> str:
        """`owner/name` where the address has them, else the address."""
        parts = self.path.split("/")
        known = self.host in _PAGES and len(parts) >= 2
        return self.path if self.host and (known or len(parts) == 2) else self.address

    def page(self, commit: str) -> str | None:
        """Where a known forge shows a commit (its full hash)."""
        page = _PAGES.get(self.host)
        return page.format(self.path, commit) if page and "/" in self.path else None


class Access(NamedTuple):
    """How an address is reached: without credentials, and the header that holds them."""

    address: str
    header: str | None
    secrets: tuple[str, ...]


def is_address(written: str) -> bool:
    """Whether a repository is named by address (`https://…`, `git@host:path`), not by path."""
    found = _SCP.fullmatch(written)
    return "://" in written or (found is not None and found["user"] is not None)


def remote(written: str) -> Remote:
    """What an address says, as it stands in a configuration."""
    if "://" in written:
        parts = urlsplit(written)
        host = _host(parts.netloc)
        address = access(written).address
        if parts.scheme == "file":
            return Remote(address, "", _path(parts.path))
        return Remote(address, _known(host), _path(parts.path))
    found = _SCP.fullmatch(written)
    if found is None or "/" in found["host"]:
        return Remote(written, "", _path(written))
    user = f"{found['user'].split(':')[0]}@" if found["user"] else ""
    address = f"{user}{found['host']}:{found['path']}"
    return Remote(address, _known(found["host"]), _path(found["path"]))


def access(written: str) -> Access:
    """An address parted from its credentials: no command line or file may show those."""
    parts = urlsplit(written) if "://" in written else None
    if parts is None:
        return Access(written, None, ())
    userinfo, at, place = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    secrets = tuple({text for one in (password, unquote(password), userinfo) if (text := one)})
    if parts.scheme == "ssh":
        # The name is needed to log in, and no secret; ssh takes no password from an address.
        shown = f"{user}@{place}" if user else place
        return Access(f"ssh://{shown}{parts.path}", None, secrets if password else ())
    address = f"{parts.scheme}://{place}{parts.path}"
    if not at:
        return Access(address, None, ())
    pair = b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    return Access(address, f"Authorization: Basic {pair}", (*secrets, unquote(user), pair))


def _host(netloc: str) -> str:
    return re.sub(r":\d*$", "", netloc.rpartition("@")[2])


def _known(host: str) -> str:
    host = host.lower()
    return _OTHER_HOSTS.get(host, host)


def _path(path: str) -> str:
    return path.strip("/").removesuffix(".git").rstrip("/")
