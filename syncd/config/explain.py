"""From what the models refuse to sentences with a position and what was probably meant."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from syncd.config.document import Document, Place
from syncd.config.models import Config, FolderConfig, RepositoryConfig
from syncd.config.problems import Wrong
from syncd.config.values import describe

# other programs' words for our keys, which no measure of spelling would connect
_OTHER_WORDS = {
    **dict.fromkeys(("path", "dir", "directory", "root"), "folder"),
    **dict.fromkeys(("repo", "git", "url"), "repository"),
    **dict.fromkeys(("ignore", "excludes", "skip"), "exclude"),
    **dict.fromkeys(("extensions", "patterns", "only"), "include"),
    **dict.fromkeys(("name", "source"), "id"),
    **dict.fromkeys(("interval", "every", "poll"), "rescan"),
    **dict.fromkeys(("max_size", "size"), "max_file_size"),
    **dict.fromkeys(("token", "api_key", "secret"), "key"),
}
_KEY_RULE = (
    "the key itself never stands here: say where it is, with env, file, command or credential"
)
_EXPECTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def explain(error: ValidationError, document: Document) -> None:
    """Add a problem to `document` for each fault in `error`."""
    for fault in error.errors(include_url=False):
        spelled = fault["loc"]
        # the third step names the kind of source, which is written nowhere
        place = spelled[:2] + spelled[3:] if spelled[:1] == ("sources",) else spelled
        if any(place[:length] in document.void for length in range(len(place) + 1)):
            continue
        kind = fault["type"]
        if kind == "extra_forbidden":
            _unknown_key(document, place, spelled)
        elif kind == "missing":
            _missing(document, place, spelled)
        else:
            what, meant = _wrong_value(document, place, fault)
            document.problem(document.mark(place), place, what, meant)


def _unknown_key(document: Document, place: Place, spelled: Place) -> None:
    name = str(place[-1])
    here = model_at(spelled[:-1])
    mark = document.keys.get(place, document.mark(place))
    if here is FolderConfig and name == "repository":
        what = "a source has a folder or a repository, not both"
        return document.problem(mark, place, what)
    if here is FolderConfig and name in RepositoryConfig.model_fields:
        return document.problem(mark, place, "this key belongs to a repository, not to a folder")
    return document.problem(mark, place, "unknown key", closest(name, here))


def closest(name: str, model: type[BaseModel]) -> str | None:
    """The key of `model` that `name` probably stands for."""
    known = list(model.model_fields)
    if model is FolderConfig:
        known.append("repository")
    other = _OTHER_WORDS.get(name)
    if other in known:
        return other
    plain = name.lower().replace("-", "_")
    found = difflib.get_close_matches(plain, known, n=1, cutoff=0.6)
    return found[0] if found else None


def _missing(document: Document, place: Place, spelled: Place) -> None:
    name = str(place[-1])
    wanted = "folder (or repository)" if spelled[-2:] == ("folder", "folder") else name
    document.problem(document.mark(place[:-1]), place[:-1], f"the key {wanted} is missing")


def _wrong_value(
    document: Document, place: Place, fault: Mapping[str, Any]
) -> tuple[str, str | None]:
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, Wrong) and place[-1] == "command":
        return "expected a list: the program and its arguments", None
    if isinstance(cause, Wrong):
        return _as_written(document, place, fault["input"], cause)
    if "key" in place:
        return (_KEY_RULE, None) if place[-1] == "key" else ("expected a text", None)
    written = document.written.get(place)
    got = describe(fault["input"], written)
    if fault["type"] == "literal_error":
        return _choice(got, fault)
    expected = _EXPECTED.get(fault["type"])
    if expected is None:
        return str(fault["msg"])[:1].lower() + str(fault["msg"])[1:], None
    meant = f'"{written}"' if written is not None and expected == "a text" else None
    return f"expected {expected}, got {got}", meant


def _as_written(
    document: Document, place: Place, value: object, cause: Wrong
) -> tuple[str, str | None]:
    """The reader's own sentence, with the number as it stands in the file (`0755`, `.inf`)."""
    written = document.written.get(place)
    if written is None or isinstance(value, str):
        return cause.what, cause.meant
    return cause.what.replace(describe(value), describe(value, written)), cause.meant


def _choice(got: str, fault: Mapping[str, Any]) -> tuple[str, str | None]:
    expected = str(fault["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
    words = expected.split(", ")
    found = difflib.get_close_matches(str(fault["input"]).lower(), words, n=1)
    return f"expected one of {', '.join(words)}, got {got}", found[0] if found else None


def model_at(spelled: Place) -> type[BaseModel]:
    """The model that describes the mapping at a place (the kind of source spelled out)."""
    model: type[BaseModel] = Config
    for index, step in enumerate(spelled):
        if isinstance(step, int):
            continue
        if spelled[0] == "sources" and index == 2:
            model = RepositoryConfig if step == "repository" else FolderConfig
        elif step in model.model_fields:
            model = next(models_in(model.model_fields[str(step)].annotation), model)
    return model


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that a field's type mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Union, types.UnionType, tuple, Annotated):
        for part in get_args(annotation):
            yield from models_in(part)
