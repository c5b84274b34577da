"""What is wrong in a configuration file, where, and what was probably meant."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

# more than a person writes, and little enough to be read whole
MAX_BYTES: Final = 1 << 20


class Problem(NamedTuple):
    """One fault. `line` and `column` count from 1; 0 means that the file as a whole is meant."""

    file: Path
    line: int
    column: int
    path: str
    what: str
    meant: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else str(self.file)
        about = f" {self.path}:" if self.path else ""
        hint = f" (did you mean {self.meant}?)" if self.meant else ""
        return f"{place}:{about} {self.what}{hint}"


class ConfigError(Exception):
    """A configuration that cannot be used. `problems` holds every fault, in the file's order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Wrong(ValueError):
    """A value that cannot be used, before it is known where it stands."""

    def __init__(self, what: str, meant: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.meant = meant
