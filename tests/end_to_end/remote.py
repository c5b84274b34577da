"""A machine whose memory is a double of CortexDB on loopback.

What memory holds is read from the double's log while waiting, which costs no request, and back
through the engine at the end.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from syncd.engines import build_engine
from syncd.memory import Hit, MemoryEngine
from tests.cortex.double import Double, Recorded
from tests.cortex.double.server import Server
from tests.end_to_end.harness import Machine, Texts, listed
from tests.waiting import until

ENGINES = {"direct": "cortexdb", "hosted": "tinyhumans"}
TOKEN = "canary-7f3a9c-token"
PACE = {"first": 0.05, "engine": 0.25, "refused": 0.6, "key": 0.05, "asked": 1.0, "review": 0.1}
BUCKET = {"burst": 1000, "rate": 1000}


class Remote(Machine):
    """`key` is the file that the key lies in."""

    def __init__(self, top: Path, double: Double, **pace: float) -> None:
        self.double = double
        double.token = TOKEN
        self.engine = ENGINES[double.wire]
        self.settings: dict[str, Any] = {"endpoint": double.url}
        self.key = top / "key"
        self.write_key(TOKEN)
        super().__init__(top)
        self.pace(**pace)

    def pace(self, **pace: float) -> None:
        self.environment["HASTY_PACE"] = json.dumps({**PACE, **pace})
        self.environment["HASTY_BUCKET"] = json.dumps(BUCKET)

    def write_key(self, token: str) -> None:
        self.key.write_text(token + "\n")

    def configure(self, *sources: dict[str, Any], **top: Any) -> None:
        settings = {**self.settings, "key": {"file": str(self.key)}}
        super().configure(*sources, engine=self.engine, engines={self.engine: settings}, **top)

    def command(self, *arguments: str) -> list[str]:
        return [word.replace("syncd", "tests.end_to_end.hasty") if word == "syncd" else word
                for word in super().command(*arguments)]  # fmt: skip

    # -- memory --------------------------------------------------------------------------------

    def open(self) -> MemoryEngine:
        return build_engine(self.engine, self.settings, self.double.token)

    def hits(self) -> list[Hit]:
        with self.open() as engine:
            return list(listed(engine))

    def memory(self, root: Path | None = None) -> Texts:
        """As the log has it: each live event."""
        prefix = f"{root or self.root}/"
        out: Texts = defaultdict(list)
        for event in self.double.log:
            envelope = json.loads(event.text)
            path = envelope["meta"]["file_path"]
            if path.startswith(prefix):
                out[path.removeprefix(prefix)].append(envelope["text"])
        return dict(out)

    def assert_true(self, timeout: float = 30.0) -> None:
        """Memory comes to equal the disk; the engine reads it so; nothing was done amiss."""
        self.assert_equal_to_disk(timeout)
        assert super().memory() == self.disk()
        # What a killed process had sent half of is nothing that it did amiss.
        cut = [
            r for r in self.double.requests if len(r.raw) != int(r.headers.get("content-length", 0))
        ]
        assert self.double.violations == [f"{r.route}: body must be an object" for r in cut]
        assert self.double.repeated_keys == []

    def written(self) -> int:
        """How many events were ever written, if the newest one is still there."""
        return max(int(event.id.removeprefix("evt_"), 16) for event in self.double.log)

    # -- requests ------------------------------------------------------------------------------

    @contextmanager
    def asking(self) -> Iterator[list[Recorded]]:
        """The requests that come meanwhile, filled in at the end."""
        start = len(self.double.requests)
        found: list[Recorded] = []
        yield found
        found += self.double.requests[start:]

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Nobody listens at the double's port meanwhile."""
        double = self.double
        address = double._server.server_address
        double._server.stop()

        class Same(Server):
            def server_bind(self) -> None:
                self.server_address = address
                super().server_bind()

        yield
        double._server = Same(double._exchange, None)
        double._server.start()

    def quiet(self) -> None:
        """Wait until the daemon has looked at everything and has nothing to do."""
        until(lambda: "unavailable" not in self.settled(), what="a pass")

    def assert_secret(self, *tokens: str) -> None:
        """No token in the log, the status or the bytes of the state."""
        shown = self.syncd("status", "--json")
        files = [path.read_bytes() for path in self.state.rglob("*") if path.is_file()]
        told = [*files, self.log.read_bytes(), shown.stdout.encode(), shown.stderr.encode()]
        for token in (TOKEN, *tokens):
            assert not [text for text in told if token.encode() in text]


def routes(requests: list[Recorded]) -> dict[str, int]:
    """How many requests each route got."""
    out: dict[str, int] = defaultdict(int)
    for request in requests:
        out[request.route] += 1
    return dict(out)
