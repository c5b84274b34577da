"""Where the service is: an address that sends nothing in clear text beyond this machine."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from syncd.memory.errors import Config


class Endpoint(NamedTuple):
    """A base address; `base` ends without a slash, `host` is for messages."""

    base: str
    host: str
    secure: bool
    loopback: bool

    def url(self, route: str, query: tuple[tuple[str, str], ...] = ()) -> str:
        """The address of `route` below the base, every reserved byte of the query escaped."""
        tail = "?" + urlencode(query, quote_via=quote, safe="") if query else ""
        return f"{self.base}/{route}{tail}"


def parse(text: str) -> Endpoint:
    """The endpoint that `text` names; Config, which never repeats what may be a secret in it."""
    if not re.fullmatch(r"[!-~]+", text):
        raise Config("the endpoint must be an address such as https://cortex.example.com")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise Config("the endpoint is not an address") from None
    if parts.scheme not in ("https", "http") or not host:
        raise Config("the endpoint must start with https:// and name a host")
    _plain(parts)
    loopback = is_loopback(host)
    if parts.scheme == "http" and not loopback:
        raise Config(f"the endpoint {host} must use https: http would send the key in clear text")
    shown = f"[{host}]" if ":" in host else host
    named = shown if port is None else f"{shown}:{port}"
    path = parts.path.rstrip("/")
    return Endpoint(f"{parts.scheme}://{named}{path}", named, parts.scheme == "https", loopback)


def _plain(parts: SplitResult) -> None:
    if "@" in parts.netloc:
        raise Config("the endpoint must not hold a user name or a password")
    if parts.query or parts.fragment:
        raise Config("the endpoint must not hold a query or a fragment")


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, by name or by number."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
