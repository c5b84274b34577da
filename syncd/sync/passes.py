"""The pass: every trigger (start, event, timer, command, overflow) ends in this one sequence.

Probe the root, forget what was left over, set the ledger right, plan, read and store, look at the
root and at what is gone again, then forget. Nothing is forgotten unless the root was trusted before
and after. Between two files a long pass gives way to short ones that wait, of its own source too.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Event

from syncd.memory import MemoryEngine
from syncd.sources import (
    Outcome,
    Reading,
    Root,
    Skip,
    SourceUnavailable,
    Unreadable,
    escape,
)
from syncd.sources.source import Source
from syncd.sync.census import Census, naming_is_cheaper
from syncd.sync.errors import Stopped
from syncd.sync.ledger import Ledger
from syncd.sync.plan import (
    Action,
    Doom,
    Examine,
    Gone,
    Hold,
    LeaveOut,
    Unseen,
    collapse,
    decide,
    plan,
)
from syncd.sync.push import Pusher, digest, parcel
from syncd.sync.reconcile import set_right
from syncd.sync.rows import NO_LOOK, Claim, Entry, State, kept
from syncd.sync.scope import WHOLE, Scope, covered, still_absent
from syncd.sync.tally import Tally

_NOTES = 500
# A checkout or a rebase takes seconds; then the source says itself that it cannot be looked at.
_PATIENCE_SECONDS = 10.0
_NOTHING = Claim(b"", ())


@dataclass(slots=True)
class Pass:
    """One pass of one source. `progress` is called after each file that was examined.

    When `pressing()` says so, `interlude()` is called between two files, with nothing under way: it
    may run other passes on the same ledger. One that concerns the same source is to be repeated
    after this pass, whose listing may be older; if it fails, its error must end this pass too.
    """

    source: Source
    ledger: Ledger
    engine: MemoryEngine
    hold: Hold = field(default_factory=Hold)
    accept_deletions: bool = False
    stop: Event = field(default_factory=Event)
    progress: Callable[[Tally], None] = lambda tally: None
    pressing: Callable[[], bool] = lambda: False
    interlude: Callable[[], None] = lambda: None
    census: Census = field(default_factory=Census)

    def run(self, scope: Scope = WHOLE) -> Tally:
        """Make memory equal to the disk within `scope`; what was done, counted.

        Raises SourceUnavailable (nothing was forgotten), the engine's errors (what was done is
        written down), LedgerError and Stopped.
        """
        return _Run(self, scope).run()

    def outlook(self) -> Tally:
        """What a whole pass would look at, counted, with nothing read, stored or forgotten."""
        return _Run(self, WHOLE).outlook()


class _Run:
    def __init__(self, order: Pass, scope: Scope) -> None:
        self.source = order.source
        self.ledger = order.ledger
        self.order = order
        self.scope = scope
        self.tally = Tally(order.source.id)
        self.pusher = Pusher(
            order.source.id,
            order.ledger,
            order.engine,
            self.tally,
            order.source.filter,
            order.census,
        )
        self.before: int | None = None
        self.gone: list[Gone] = []
        self.traces: set[tuple[int, int, int]] = set()
        self.notes: list[Entry] = []
        self.gave_way = False
        self.deferred: list[Examine] = []
        self.accounted: set[str] = set()

    def run(self) -> Tally:
        self._wait_out()
        root = self.source.probe()
        self.pusher.forget_doomed()
        if self.scope.whole:
            self._set_right()
        self._trust(root)
        for action in self._actions():
            self._act(action)
            self._breathe()
        self._read_deferred()
        self._settle_up()
        self._part_with(root)
        self._sign(root)
        return self.tally

    @property
    def known(self) -> int:
        """How many files memory held before; counted when first asked, for it reads every row."""
        if self.before is None:
            self.before = self.ledger.count(self.source.id)[0] - self.pusher.added
        return self.before

    def outlook(self) -> Tally:
        self._trust(self.source.probe())
        for action in self._actions():
            match action:
                case Examine():
                    self._trace(action)
                    self.tally.examined += 1
                case LeaveOut():
                    self.tally.left_out[action.reason] += 1
                case Unseen():
                    self.tally.unread.append(action)
                case Gone():
                    self.gone.append(action)
        self.accounted = self.source.accounted({gone.path for gone in self.gone})
        go, held = self._verdict()
        self.tally.forgotten = sum(g.state in (State.HELD, State.UNREADABLE) for g in go)
        self.tally.held = len(held)
        return self.tally

    # -- before ------------------------------------------------------------------------------

    def _wait_out(self) -> None:
        """Let what goes on in the source come to its end, within reason."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self.source.busy() and time.monotonic() < deadline:
            if self.order.stop.wait(0.1):
                raise Stopped

    def _set_right(self) -> None:
        if set_right(self.source, self.ledger, self.order.engine, self.order.census):
            self.before = None

    def _trust(self, root: Root) -> None:
        """SourceUnavailable when the root is not the one whose absence would mean something."""
        if self.order.accept_deletions:
            return
        before = self.ledger.source(self.source.id).root
        if before is not None and before != root and self.known:
            self._recognise(before, root)
        if self.source.is_empty() and self.known and not self._all_witnessed():
            raise SourceUnavailable(
                f"{self.source.root} is empty, but memory holds {self.known} of its files; "
                f"if they were really removed: syncd sync --accept-deletions {self.source.id}"
            )

    def _recognise(self, before: Root, root: Root) -> None:
        """Another directory is believed to be the same one only by what it contains."""
        missing = sum(
            isinstance(action, Gone) and action.state == State.HELD
            for action in plan(
                self.source.scan(), self.ledger.rows(self.source.id), self.source.judge
            )
        )
        tolerated = 0 if before.device != root.device else self.order.hold.share * self.known
        if missing > tolerated:
            raise SourceUnavailable(
                f"{self.source.root} is another directory than before, and {missing} of "
                f"{self.known} files are not in it; if that is right: "
                f"syncd sync --accept-deletions {self.source.id}"
            )

    def _all_witnessed(self) -> bool:
        return all(self.scope.saw_removed(path) for path, _ in self.ledger.claims(self.source.id))

    # -- during ------------------------------------------------------------------------------

    def _actions(self) -> Iterator[Action]:
        # A path met twice would be sent twice, of which only the second would be written down.
        mark = self.ledger.source(self.source.id).mark if self.scope.whole else None
        for path in covered(self.scope.paths):
            seen = self.source.scan(path, mark)
            yield from plan(seen, self.ledger.rows(self.source.id, path), self.source.judge)

    def _breathe(self) -> None:
        """Between two files: stop when that was asked for, give way to what presses."""
        if self.order.stop.is_set():
            raise Stopped
        if self.order.pressing():
            self._give_way()

    def _settle_up(self) -> None:
        """Send and write down all that was collected."""
        self._write_notes()
        self.pusher.flush()

    def _give_way(self) -> None:
        self._settle_up()
        self.gave_way = True
        self.order.interlude()

    def _claim(self, path: str, known: bool) -> Claim:
        """What memory holds of a path; one that was not known may be by now."""
        # A scan of one path may answer with what lies above it, of which the plan had no row.
        if not known and self.scope.whole and not self.gave_way:
            return _NOTHING
        return self.ledger.claim(self.source.id, path) or _NOTHING

    def _act(self, action: Action) -> None:
        match action:
            case Examine():
                self._trace(action)
                if self.source.defers(action.sighting.path):
                    self.deferred.append(action)
                else:
                    self._take(action, self.source.read(action.sighting.path))
            case LeaveOut():
                self._leave_out(action)
            case Gone():
                self.gone.append(action)
            case Unseen():
                self.tally.unread.append((action.path, action.reason))

    def _trace(self, action: Examine) -> None:
        # A first pass can have met no file before, so it need not remember a hundred thousand.
        if not self.scope.whole or self.known:
            look = kept(action.sighting.look)
            self.traces.add((look.inode, look.size, look.mtime_ns))

    def _read_deferred(self) -> None:
        """Read together what is better read so, in the order that the source likes."""
        waiting = {action.sighting.path: action for action in self.deferred}
        if waiting:
            with contextlib.closing(self.source.read_many(list(waiting))) as outcomes:
                for path, became in outcomes:
                    self._take(waiting[path], became)
                    self._breathe()

    def _take(self, action: Examine, became: Outcome | None) -> None:
        """Deal with what a file became."""
        path, _, recipe = action.sighting
        self.tally.examined += 1
        claim = self._claim(path, action.known)
        match became:
            case Reading():
                self._send(path, became, recipe, claim)
            case Skip():
                entry = Entry(
                    path, became.look, recipe, became.settled, State.LEFT_OUT, became.reason
                )
                self.tally.left_out[became.reason] += 1
                self._replace(entry, claim)
            case Unreadable():
                # What memory has of it stays: that it cannot be read does not make it untrue.
                self.tally.unread.append((path, became.reason))
                self._note(Entry(path, NO_LOOK, 0, False, State.UNREADABLE, became.reason, *claim))
            case None if action.known or claim.ids:
                self.gone.append(Gone(path, State.HELD, False, (0, 0, 0)))
        self.order.progress(self.tally)

    def _send(self, path: str, reading: Reading, recipe: int, claim: Claim) -> None:
        if claim.ids and claim.digest == digest(reading.items):
            entry = Entry(path, reading.look, recipe, reading.settled, State.HELD, None, *claim)
            self._note(entry)
        else:
            self.pusher.add(parcel(path, reading, recipe, claim.ids))

    def _leave_out(self, action: LeaveOut) -> None:
        self.tally.left_out[action.reason] += 1
        entry = Entry(action.path, action.look, action.recipe, True, State.LEFT_OUT, action.reason)
        self._replace(entry, self._claim(action.path, action.known))

    def _replace(self, entry: Entry, claim: Claim) -> None:
        """Write a row that names no items any more, dooming those that it named."""
        if not claim.ids:
            self._note(entry)
            return
        with self.ledger.transaction():
            self.ledger.write(self.source.id, [entry])
            self.ledger.doom_ids(self.source.id, claim.ids)

    def _note(self, entry: Entry) -> None:
        self.notes.append(entry)
        if len(self.notes) >= _NOTES:
            self._write_notes()

    def _write_notes(self) -> None:
        if self.notes:
            with self.ledger.transaction():
                self.ledger.write(self.source.id, self.notes)
            self.notes = []

    # -- after -------------------------------------------------------------------------------

    def _part_with(self, root: Root) -> None:
        """Forget what is gone, provided the root is still the one that was scanned."""
        if self.gone:
            if self.source.probe() != root:
                raise SourceUnavailable(f"{self.source.root} was replaced during the pass")
            paths = {gone.path for gone in self.gone}
            self.accounted = self.source.accounted(paths)
            absent = self.accounted | still_absent(self.source, sorted(paths - self.accounted))
            self.gone = [gone for gone in self.gone if gone.path in absent]
            go, held = self._verdict()
            self.tally.held = len(held)
            self._doom([gone.path for gone in go])
        if self.scope.whole:
            claims = self.ledger.claims(self.source.id)
            left_over = self.order.census.left_over(self.source.id, claims)
            self.ledger.doom_ids(self.source.id, left_over)
        self.pusher.forget_doomed()

    def _verdict(self) -> tuple[list[Gone], list[Gone]]:
        return decide(
            self.gone,
            known=self.known,
            hold=self.order.hold,
            accepted=self.order.accept_deletions,
            witnessed=lambda path: path in self.accounted or self.scope.saw_removed(path),
            moved=self.traces.__contains__,
        )

    def _doom(self, paths: Iterable[str]) -> None:
        source = self.source.id
        with self.ledger.transaction():
            self.ledger.condemn(source, paths)
            holding = self.ledger.condemned(source)
            dooms = self._dooms(holding)
            ids = sum(map(len, holding.values()))
            named = self.order.engine.selects_by_listing and naming_is_cheaper(
                ids, len(dooms), self.ledger.count(source)[1] + ids
            )
            for doom, hit in dooms.items():
                if named or doom.by_id or self.source.filter(doom.path) is None:
                    self.ledger.doom_ids(source, [id for path in hit for id in holding[path]])
                else:
                    self.ledger.doom_paths(source, [doom.path])
            self.ledger.erase_condemned(source)

    def _dooms(self, paths: Iterable[str]) -> dict[Doom, list[str]]:
        source = self.source.id
        if self.ledger.source(source).place != self.source.root:
            # The items lie below an earlier root, where no filter of this one reaches.
            return {Doom(path, by_id=True): [path] for path in paths}
        root = escape(self.source.root)
        return collapse(paths, lambda path: self.ledger.occupied(source, path), root)

    def _sign(self, root: Root) -> None:
        """Write down what the pass found; a scoped pass only adds to it."""
        now = time.time()
        fields: dict[str, object] = {"last_change": now} if self.tally.changed else {}
        if self.scope.whole:
            state = "held" if self.tally.held else "idle"
            reason = held_reason(self.tally.held, self.source.id) if self.tally.held else None
            fields |= {"state": state, "reason": reason, "last_pass": now, "held": self.tally.held}
            before = self.ledger.source(self.source.id).place
            # What is held may still lie below an earlier root.
            place = before if self.tally.held else self.source.root
            self.ledger.note_root(self.source.id, place, root)
            undone = self.tally.held or self.tally.unread
            fields["mark"] = None if undone else self.source.mark()
            self.tally.set_aside = self.ledger.explained(self.source.id, State.SET_ASIDE)
            self.tally.left_out = Counter(self.ledger.reasons(self.source.id, State.LEFT_OUT))
        elif self.tally.examined or self.tally.changed:
            # The mark stands for what a whole scan saw; memory has gone on since.
            fields["mark"] = None
        if fields:
            self.ledger.note(self.source.id, **fields)


def held_reason(count: int, source: str) -> str:
    """The sentence that tells what is held and how it ends."""
    return (
        f"{count} files are gone; nothing is forgotten until they come back "
        f"or: syncd sync --accept-deletions {source}"
    )
