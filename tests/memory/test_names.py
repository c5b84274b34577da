"""What other programs import, and the errors they catch."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import syncd.memory
from syncd.memory import conformance, errors

NAMES = [
    "load_item",
    "Document",
    "Conversation",
    "Learning",
    "MemoryMeta",
    "MetaFilter",
    "SourceRef",
    "SourceKind",
    "ItemKind",
    "LearningKind",
    "Role",
    "Turn",
    "TurnRange",
    "ToolCallRef",
    "Namespace",
    "Segment",
    "Reach",
    "MemoryEngine",
    "EngineDescriptor",
    "EngineHealth",
    "FetchMode",
    "FetchRequest",
    "FetchPage",
    "RecallRequest",
    "RecallAnswer",
    "Citation",
    "ListRequest",
    "ListPage",
    "ForgetTarget",
    "ForgetReport",
    "ExploreRequest",
    "ExplorePage",
    "Facet",
    "GetRequest",
    "Hit",
    "StoreReceipt",
    "MAX_STORE_MANY",
    "MAX_GET_IDS",
    "validate_many",
    "errors",
]
ERRORS = "Unsupported InvalidRequest Unauthorized NotFound Conflict Unavailable Engine Config"
PACKAGE = Path(syncd.memory.__file__).parent


def test_every_name_of_the_contract_is_public() -> None:
    assert set(NAMES) <= set(syncd.memory.__all__)
    assert set(syncd.memory.__all__) - set(NAMES) == {"Bucket", "Instant", "Item", "Uri"}
    for name in syncd.memory.__all__:
        assert hasattr(syncd.memory, name)


def test_public_names_are_listed_once_and_in_order() -> None:
    constants = sorted(name for name in syncd.memory.__all__ if name.isupper())
    classes = sorted(name for name in syncd.memory.__all__ if name[0].isupper())
    classes = [name for name in classes if name not in constants]
    rest = sorted(name for name in syncd.memory.__all__ if name[0].islower())
    assert syncd.memory.__all__ == [*constants, *classes, *rest]
    assert len(set(syncd.memory.__all__)) == len(syncd.memory.__all__)


def test_conformance_has_the_contracts_names() -> None:
    assert set(conformance.__all__) == {"CHECKS", "ConformanceError", "Report", "run"}
    parameters = inspect.signature(conformance.run).parameters
    assert list(parameters) == ["engine", "run_id", "settle"]
    assert len(set(conformance.CHECKS)) == len(conformance.CHECKS)


def test_the_package_starts_light() -> None:
    code = "import sys, syncd.memory; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    for heavy in ("pydantic", "ruamel", "watchdog", "apscheduler", "httpx", "git", "sqlite3"):
        assert heavy not in loaded
    assert "syncd.memory.conformance" not in loaded
    assert "syncd.memory.reference" not in loaded


SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_contract_imports_nothing_else_of_ours_and_does_no_io(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        assert not (isinstance(node, ast.Name) and node.id in ("open", "print"))
    for module in imported:
        assert not module.startswith("syncd") or module.startswith("syncd.memory")
        assert module.split(".")[0] not in ("os", "pathlib", "socket", "sqlite3", "subprocess")


def subclasses() -> list[type[errors.MemoryError]]:
    return [getattr(errors, name) for name in ERRORS.split()]


def test_there_is_one_base_and_eight_errors() -> None:
    assert set(errors.MemoryError.__subclasses__()) == set(subclasses())
    assert issubclass(errors.MemoryError, Exception)
    assert not issubclass(errors.MemoryError, builtins.MemoryError)


@pytest.mark.parametrize("kind", subclasses(), ids=lambda kind: kind.__name__)
def test_an_error_is_its_message_and_only_unavailable_is_transient(
    kind: type[errors.MemoryError],
) -> None:
    error = kind("the disk is away")
    assert str(error) == error.message == "the disk is away"
    assert error.transient == (kind is errors.Unavailable)
    with pytest.raises(errors.MemoryError):
        raise error


def messages() -> list[tuple[str, str]]:
    """Every literal beginning and end of a message that the package raises."""
    found = []
    for path in SOURCES:
        if path.parent != PACKAGE:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in ERRORS.split() and len(node.args) == 1:
                found.append((f"{path.name}:{node.lineno}", ast.unparse(node.args[0])))
    return found


def test_messages_are_found() -> None:
    assert len(messages()) > 30


@pytest.mark.parametrize(("where", "source"), messages(), ids=lambda value: value[:40])
def test_messages_are_lowercase_without_a_final_stop(where: str, source: str) -> None:
    text = re.sub(r"^f?[\"']|[\"']$", "", source)
    literal = re.sub(r"\{[^{}]*\}", "", text)
    assert not re.search(r"[.!]$", literal), where
    ranges = literal.replace("A-Z", "")
    assert ranges == ranges.lower(), where
