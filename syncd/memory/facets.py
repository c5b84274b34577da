"""The dimensions along which memory is explored (operations.md, "explore" and "narrow")."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from syncd.memory.errors import InvalidRequest
from syncd.memory.filters import MetaFilter
from syncd.memory.meta import ItemKind, MemoryMeta, SourceKind, word
from syncd.memory.namespace import Namespace, Reach
from syncd.memory.wire import is_blank


class Facet(StrEnum):
    KIND = "kind"
    SOURCE = "source"
    SOURCE_ID = "source_id"
    WORKSPACE = "workspace"
    FOLDER = "folder"
    FILE_PATH = "file_path"
    LANGUAGE = "language"
    REPO = "repo"
    URL = "url"
    THREAD = "thread"
    AGENT = "agent"
    TOOL_CALL = "tool_call"
    TAG = "tag"
    NAMESPACE = "namespace"

    def values(self, kind: ItemKind, meta: MemoryMeta) -> tuple[str, ...]:
        """An item's values: none when the field is unset, several only for tags."""
        if self is Facet.TAG:
            return tuple(dict.fromkeys(meta.tags))
        value = self._value(kind, meta)
        return () if value is None else (value,)

    def _value(self, kind: ItemKind, meta: MemoryMeta) -> str | None:
        match self:
            case Facet.KIND:
                return kind.value
            case Facet.SOURCE:
                return meta.source.kind.value
            case Facet.SOURCE_ID:
                return meta.source.id
            case Facet.TOOL_CALL:
                return meta.tool_call.name if meta.tool_call else None
            case Facet.NAMESPACE:
                return str(meta.namespace)
            case _:
                value: str | None = getattr(meta, _FILTER_FIELD[self])
                return value

    def narrow(self, filter: MetaFilter, value: str) -> MetaFilter:
        """`filter` confined to the bucket `value`; it replaces the one field that it targets.

        Raises InvalidRequest for a blank value, an unknown kind, or no namespace.
        """
        if is_blank(value):
            raise InvalidRequest("a bucket's value is blank")
        match self:
            case Facet.KIND:
                return replace(filter, kinds=(word(ItemKind, value, "item kind"),))
            case Facet.SOURCE:
                return replace(filter, sources=(word(SourceKind, value, "source kind"),))
            case Facet.TAG:
                return replace(filter, tags_any=(value,))
            case Facet.NAMESPACE:
                return replace(filter, reach=Reach.exact(Namespace.parse(value)))
            case _:
                return replace(filter, **{_FILTER_FIELD[self]: value})  # type: ignore[arg-type]


_FILTER_FIELD = {
    Facet.SOURCE_ID: "source_id",
    Facet.WORKSPACE: "workspace",
    Facet.FOLDER: "folder",
    Facet.FILE_PATH: "file_path",
    Facet.LANGUAGE: "language",
    Facet.REPO: "repo",
    Facet.URL: "url",
    Facet.THREAD: "thread_id",
    Facet.AGENT: "agent_id",
    Facet.TOOL_CALL: "tool_call",
}
