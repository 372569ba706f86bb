"""Writing TOML: the part of it that files of numalab use."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    # JSON escapes what TOML escapes, but for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _value(value: Any) -> str:
    """Write a value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if any(c in text for c in ".ein") else f"{text}.0"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(
        f"{value!r} is a {type(value).__name__}; expected text, a number, a list or a table of those"
    )


def dumps(document: Mapping[str, Any]) -> str:
    """Return a document as TOML. Lists of tables are written as ``[[name]]``, tables as ``[name]``."""
    return "\n".join(_table(document, "")).strip() + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(v, Mapping) for v in value)


def _table(table: Mapping[str, Any], prefix: str) -> list[str]:
    lines = [
        f"{_key(k)} = {_value(v)}"
        for k, v in table.items()
        if not isinstance(v, Mapping) and not _is_tables(v)
    ]
    for name, value in table.items():
        place = f"{prefix}{_key(name)}"
        if isinstance(value, Mapping):
            lines += ["", f"[{place}]", *_table(value, f"{place}.")]
        elif _is_tables(value):
            for one in value:
                lines += ["", f"[[{place}]]", *_table(one, f"{place}.")]
    return lines
