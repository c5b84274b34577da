"""On real sockets: certificates, proxies, cut answers, and a close that ends what waits."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.engines import build_engine
from syncd.memory import ListRequest, errors
from tests.cortex.double import Double
from tests.cortex.rig import document, listed
from tests.waiting import until

LIST = ListRequest()


def _need_openssl() -> None:
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by the openssl program")


def certificate(where: Path, name: str) -> tuple[Path, Path]:
    _need_openssl()
    where.mkdir(exist_ok=True)
    pem, key = where / "cert.pem", where / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key),
               "-out", str(pem), "-subj", f"/CN={name}", "-addext", f"subjectAltName={name}",
               "-days", "2"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return pem, key


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("good"), "IP:127.0.0.1")


def test_an_unknown_authority_is_not_trusted_and_nothing_is_sent(good: tuple[Path, Path]) -> None:
    with Double("direct", certificate=good) as double:
        with build_engine("cortexdb", {"endpoint": double.url}, double.token) as engine:
            with pytest.raises(errors.Unavailable, match="is not trusted: self-signed") as error:
                engine.store(document("PRIVATE"))
            assert "ca_file" in error.value.message
            assert "127.0.0.1" in error.value.message
            assert engine.health().state == "down"
        assert double.requests == []


def test_an_own_authority_is(good: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with Double("hosted", certificate=good) as double:
        settings = {"endpoint": double.url, "ca_file": str(good[0])}
        with build_engine("tinyhumans", settings, double.token) as engine:
            engine.store(document("a"))
        monkeypatch.setenv("SSL_CERT_FILE", str(good[0]))
        with build_engine("tinyhumans", {"endpoint": double.url}, double.token) as engine:
            assert listed(engine) == ["a"]


def test_another_host_s_certificate_is_refused(tmp_path: Path) -> None:
    other = certificate(tmp_path / "other", "DNS:cortex.example")
    with Double("direct", certificate=other) as double:
        settings = {"endpoint": double.url, "ca_file": str(other[0])}
        refused = pytest.raises(errors.Unavailable, match=r"not trusted: .*mismatch")
        with build_engine("cortexdb", settings, double.token) as engine, refused:
            engine.list(LIST)
        assert double.requests == []


def expired(where: Path) -> tuple[Path, Path]:
    _need_openssl()
    pem, key, request, more = (where / name for name in ("c.pem", "k.pem", "r.csr", "extension"))
    more.write_text("subjectAltName=IP:127.0.0.1")
    asking = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-subj", "/CN=x"]
    subprocess.run([*asking, "-out", request], check=True, capture_output=True)
    signing = ["openssl", "x509", "-req", "-in", request, "-signkey", key, "-days", "-1"]
    subprocess.run([*signing, "-extfile", more, "-out", pem], check=True, capture_output=True)
    return pem, key


def test_an_expired_certificate_is_named_so(tmp_path: Path) -> None:
    old = expired(tmp_path)
    with Double("direct", certificate=old) as double:
        settings = {"endpoint": double.url, "ca_file": str(old[0])}
        with build_engine("cortexdb", settings, double.token) as engine:
            assert "not trusted: certificate has expired" in str(engine.health().reason)
        assert double.requests == []


def test_what_stays_on_this_machine_needs_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with (
        Double("direct") as double,
        build_engine("cortexdb", {"endpoint": double.url}, double.token) as engine,
    ):
        engine.store(document("a"))
        assert listed(engine) == ["a"]


def test_what_leaves_it_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        asked: list[bytes] = []

        def serve() -> None:
            connection, _ = proxy.accept()
            with connection:
                asked.append(connection.recv(4096))
                connection.sendall(b"HTTP/1.1 407 s3cret\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        where = f"http://u:s3cret@127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("https_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, where)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with build_engine("cortexdb", {"endpoint": "https://cortex.invalid"}, "key") as engine:
            health = engine.health()
        thread.join()
        assert asked[0].startswith(b"CONNECT cortex.invalid:443")
        assert b"Bearer" not in asked[0]
        assert health.state == "down"
        assert "the proxy refused" in str(health.reason)
        assert "s3cret" not in str(health.reason)


def test_a_name_that_is_not_known() -> None:
    with build_engine("cortexdb", {"endpoint": "https://cortex.invalid"}, "key") as engine:
        assert engine.health().state == "down"
        assert "cortex.invalid" in str(engine.health().reason)


def test_no_one_listening() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with build_engine("tinyhumans", {"endpoint": f"http://127.0.0.1:{port}"}, "key") as engine:
        reason = str(engine.health().reason)
    assert reason == f"memory/scopes at 127.0.0.1:{port} was not reached: connection refused"


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize("id", ["cortexdb", "tinyhumans"])
def test_close_ends_a_call_that_waits_for_an_answer(silent: socket.socket, id: str) -> None:
    address = f"http://127.0.0.1:{silent.getsockname()[1]}"
    engine = build_engine(id, {"endpoint": address}, "key")
    ended: list[BaseException] = []

    def call() -> None:
        try:
            engine.store(document("a"))
        except errors.MemoryError as error:
            ended.append(error)

    before = threading.active_count()
    thread = threading.Thread(target=call)
    thread.start()
    connection, _ = silent.accept()
    with connection:
        assert connection.recv(4096)
        started = time.monotonic()
        engine.close()
        thread.join(timeout=30)
        assert not thread.is_alive()
        # The call would have waited for a minute; what is judged is that it did not.
        assert time.monotonic() - started < 30
    assert isinstance(ended[0], errors.Unavailable)
    until(lambda: threading.active_count() <= before, what="the end of all threads")


def test_close_ends_a_call_over_tls(good: tuple[Path, Path]) -> None:
    with Double("direct", certificate=good) as double:
        double.fail("list", delay=25)
        settings = {"endpoint": double.url, "ca_file": str(good[0])}
        engine = build_engine("cortexdb", settings, double.token)
        ended: list[BaseException] = []

        def call() -> None:
            try:
                engine.list(LIST)
            except errors.MemoryError as error:
                ended.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        until(lambda: double.asked("list"), what="the request")
        engine.close()
        thread.join(timeout=20)
        assert not thread.is_alive()
        assert isinstance(ended[0], errors.Unavailable)


def test_threads_and_sockets_end_with_the_engine() -> None:
    before = threading.active_count()
    with Double("direct") as double:
        during = threading.active_count()
        engine = build_engine("cortexdb", {"endpoint": double.url}, double.token)
        engine.store_many([document(str(n)) for n in range(20)])
        engine.close()
        engine.close()
        # The double's own threads end as the connections do.
        until(lambda: threading.active_count() <= during, what="the end of the engine's threads")
        with pytest.raises(errors.Unavailable, match="closed"):
            engine.list(LIST)
        assert engine.health().state == "down"
    until(lambda: threading.active_count() <= before, what="the end of all threads")


@pytest.mark.parametrize("trouble", [{"drop": True}, {"reset": True}, {"cut": True}])
def test_a_read_survives_a_line_that_breaks_twice(trouble: dict[str, bool]) -> None:
    with (
        Double("direct") as double,
        build_engine("cortexdb", {"endpoint": double.url}, double.token) as engine,
    ):
        engine.store(document("a"))
        double.fail("list", 2, **trouble)
        assert listed(engine) == ["a"]


def test_a_path_in_the_endpoint_is_kept() -> None:
    with (
        Double("hosted", base="/cortex/v9") as double,
        build_engine("tinyhumans", {"endpoint": double.url + "/"}, double.token) as engine,
    ):
        engine.store(document("a"))
        assert listed(engine) == ["a"]
        assert all(request.path.startswith("/cortex/v9/memory/") for request in double.requests)
