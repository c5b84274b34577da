"""Where requests go, whom they trust, and what becomes of the key."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from urllib.parse import quote

import pytest

from syncd.engines import build_engine
from syncd.engines.cortex import tls
from syncd.engines.cortex.credentials import Credential, Key, redact
from syncd.engines.cortex.endpoint import is_loopback, parse
from syncd.memory.errors import Config, Unauthorized
from tests.cortex.rig import TOKEN


@pytest.mark.parametrize(
    ("text", "base", "host"),
    [
        ("https://api.example.com", "https://api.example.com", "api.example.com"),
        ("https://api.example.com/", "https://api.example.com", "api.example.com"),
        ("https://a.example:8443/x/y/", "https://a.example:8443/x/y", "a.example:8443"),
        ("http://127.0.0.1:9/v", "http://127.0.0.1:9/v", "127.0.0.1:9"),
        ("http://[::1]:8", "http://[::1]:8", "[::1]:8"),
        ("http://localhost", "http://localhost", "localhost"),
    ],
)
def test_a_path_in_the_endpoint_is_kept(text: str, base: str, host: str) -> None:
    where = parse(text)
    assert (where.base, where.host) == (base, host)
    assert where.url("v1/recall") == base + "/v1/recall"


def test_a_query_is_escaped_to_the_last_byte() -> None:
    where = parse("https://a.example")
    assert where.url("memory/scopes", (("prefix", "tmh:probe"), ("limit", "1"))) == (
        "https://a.example/memory/scopes?prefix=tmh%3Aprobe&limit=1"
    )
    assert (
        where.url("e", (("labels", "a,b c/ü"),)) == "https://a.example/e?labels=a%2Cb%20c%2F%C3%BC"
    )


@pytest.mark.parametrize(
    "text",
    [
        "http://cortex.example.com", "http://10.0.0.1", "http://127.0.0.1.example.com",
        "http://localhost.example.com", "http://0.0.0.0", "ftp://a.example", "a.example", "https://",
        "https://u:secret@a.example", "https://secret@a.example", "https://a.example?key=secret",
        "https://a.example#secret", "https://a.example:port", "https://a.example:99999",
        "https://[::1", "https://a b", "https://a\nb", "", "https://ä.example", "//a.example",
    ],
)  # fmt: skip
@pytest.mark.parametrize("id", ["cortexdb", "tinyhumans"])
def test_an_endpoint_that_is_refused(id: str, text: str) -> None:
    with pytest.raises(Config) as error:
        build_engine(id, {"endpoint": text or " "}, TOKEN)
    assert "secret" not in error.value.message


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST.",
                                  "a.localhost", "::ffff:127.0.0.1"])  # fmt: skip
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["128.0.0.1", "::2", "localhosts", "xlocalhost", "0.0.0.0", "::"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(Config, match="no setting 'key'"):
        build_engine("cortexdb", {"key": "x"})
    with pytest.raises(Config, match="endpoint is empty"):
        build_engine("cortexdb", {"endpoint": " "})
    with pytest.raises(Config, match=r"cannot read ca_file /.*no such file"):
        build_engine("cortexdb", {"ca_file": str(tmp_path / "none.pem")})
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(Config, match="holds no certificate"):
        build_engine("tinyhumans", {"ca_file": tmp_path / "empty.pem"})


def test_the_environment_names_an_authority(tmp_path: Path) -> None:
    with pytest.raises(Config, match="cannot read SSL_CERT_FILE"):
        tls.context(environ={"SSL_CERT_FILE": str(tmp_path / "none.pem")})


def test_verification_is_always_on(tmp_path: Path) -> None:
    for trust in (tls.context(environ={}), tls.nobody()):
        assert trust.verify_mode is ssl.CERT_REQUIRED
        assert trust.check_hostname
    assert tls.context(environ={}).cert_store_stats()["x509_ca"] > 50


@pytest.mark.parametrize("given", [None, "", "  ", "\t\n", lambda: "", lambda: " "])
def test_no_key_is_unauthorized_and_says_where_one_is_set(given: Credential) -> None:
    with pytest.raises(Unauthorized, match=r"no key is set for cortexdb \(engines.cortexdb.key\)"):
        Key(given, "cortexdb").read()


@pytest.mark.parametrize("given", ["a\nb", "a\r\nX-Y: z", "schlüssel", "a\x00", "\x7f", "key\n"])
def test_a_key_that_no_header_can_carry(given: str) -> None:
    with pytest.raises(Unauthorized) as error:
        Key(given, "cortexdb").read()
    assert given not in error.value.message


def test_a_key_is_asked_for_each_time() -> None:
    made = iter(["one", "two"])
    key = Key(lambda: next(made), "cortexdb")
    assert (key.read(), key.read()) == ("one", "two")


def test_a_key_that_cannot_be_read_tells_the_kind_of_trouble_alone() -> None:
    def broken() -> str:
        raise ValueError(f"cannot parse {TOKEN}")

    with pytest.raises(Unauthorized, match=r"could not be read \(ValueError\)") as error:
        Key(broken, "cortexdb").read()
    assert TOKEN not in repr(error.value)
    assert error.value.__context__ is None

    def refused() -> str:
        raise Unauthorized("the key file /k holds no key")

    with pytest.raises(Unauthorized, match="the key file /k holds no key"):
        Key(refused, "cortexdb").read()


def test_a_key_shows_itself_nowhere() -> None:
    key = Key(TOKEN, "cortexdb")
    assert TOKEN not in f"{key!r} {key}"
    assert not hasattr(key, "__dict__")


@pytest.mark.parametrize(
    "echo",
    [
        TOKEN, f"Bearer {TOKEN}", TOKEN.upper(), quote(TOKEN, safe=""), TOKEN.replace("/", "\\/"),
        TOKEN.replace("+", "\\u002B").replace("=", "\\u003d"), TOKEN.replace("+", "&#43;"),
        base64.b64encode(TOKEN.encode()).decode(), f"a{TOKEN}b{TOKEN}c",
        TOKEN.replace("/", "&#x2f;"),
    ],
)  # fmt: skip
def test_what_a_server_echoes_is_hidden(echo: str) -> None:
    hidden = redact(f"no: '{echo}'", TOKEN)
    assert "[hidden]" in hidden
    assert "0123456789" not in hidden
    assert "canary" not in hidden.lower()
    assert hidden.startswith("no: '")
    assert "Y2FuYXJ5" not in hidden


def test_an_odd_key_is_hidden_too() -> None:
    assert redact("a (x[* b", "(x[*") == "a [hidden] b"


def test_a_key_that_is_cut_or_masked_is_hidden_as_far_as_it_goes() -> None:
    assert redact(f"bad {TOKEN[:15]}... in {TOKEN[:8]}", TOKEN) == "bad [hidden]... in [hidden]"
    assert redact(TOKEN[:7], TOKEN) == TOKEN[:7]
    assert redact("aaaaaaaaaaaa", "aaaaaaaa") == "[hidden]aaaa"


def test_a_long_key_is_no_trouble() -> None:
    key = "x1" * 4000
    assert redact(f"a {key} b", key) == "a [hidden] b"
