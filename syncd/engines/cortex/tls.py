"""Whom the client trusts: verification is never switched off, only told of another authority."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping

import certifi

from syncd.memory.errors import Config


def context(ca_file: str | None = None, environ: Mapping[str, str] = os.environ) -> ssl.SSLContext:
    """Trusts `ca_file` alone; else SSL_CERT_FILE alone; else the system's and the well-known ones.

    Raises Config when a file that is named cannot be read or holds no certificate.
    """
    if ca_file is not None:
        return _only(ca_file, "ca_file")
    if environ.get("SSL_CERT_FILE"):
        return _only(environ["SSL_CERT_FILE"], "SSL_CERT_FILE")
    trust = ssl.create_default_context()
    if not environ.get("SSL_CERT_DIR"):
        trust.load_verify_locations(certifi.where())
    return trust


def nobody() -> ssl.SSLContext:
    """Trusts no one: for a client that never speaks TLS, as it costs nothing to load."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _only(path: str, named_by: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        raise Config(f"{named_by} {path} holds no certificate") from None
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise Config(f"cannot read {named_by} {path}: {reason}") from None
