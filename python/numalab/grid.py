"""Grids of plans, expanded one point at a time."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from numalab.catalog import Catalog, Thing, text_of, things
from numalab.errors import SpecError
from numalab.files import MACHINE_BYTES_MAX, read_text
from numalab.spec import Spec

# What becomes of a point whose kernel never reads one of its settings.
INEFFECTIVE = ("refuse", "leave_out")

Value = bool | int | float | str


@dataclass(frozen=True)
class Point:
    """One plan of a grid, by the values of its axes."""

    machine: str
    kernel: str
    workload: str
    params: Mapping[str, Value]
    settings: Mapping[str, Value]
    seed: int
    # Whether settings that the kernel never reads are left out, instead of making the point impossible.
    leave_out: bool = False


@dataclass(frozen=True)
class Grid:
    """Machines × kernels × workloads × parameters × settings × seeds.

    ``params`` maps a parameter (``"NAME"``, or ``"WORKLOAD.NAME"`` for one workload) to its values, ``settings``
    a role or tunable to its values; a single value is a list of one. ``seeds`` are numbers; an ``int`` n means
    seeds 1 to n. The number of plans is ``len(grid)``.

    A kernel that never reads a setting, as ``off`` reads none of the scanner, makes the point impossible, and it is
    refused. With ``ineffective="leave_out"`` the point is run without that setting.

    Nothing is expanded: a grid of a million plans is as small as its axes. The last axis,
    the seed, varies fastest, and the workload slowest.
    """

    machines: Thing | Sequence[Thing]
    kernels: Thing | Sequence[Thing]
    workloads: Thing | Sequence[Thing]
    params: Mapping[str, Value | Sequence[Value]] = field(default_factory=dict)
    settings: Mapping[str, Value | Sequence[Value]] = field(default_factory=dict)
    seeds: int | Sequence[int] = 1
    name: str = "sweep"
    ineffective: str = "refuse"

    def __post_init__(self) -> None:
        """Raise ``SpecError`` for a word that ``ineffective`` does not know."""
        if self.ineffective not in INEFFECTIVE:
            expected = " or ".join(INEFFECTIVE)
            text = f"ineffective: no `{self.ineffective}`; expected {expected}"
            raise SpecError(text, file="ineffective", what=f"no `{self.ineffective}`", expected=expected)

    @cached_property
    def payload(self) -> dict[str, Any]:
        """The grid as plain values, with the text of every file and spec, so that it can go to other machines."""
        texts: dict[str, str] = {}
        axes: dict[str, list[str]] = {}
        for kind, given in (
            ("workloads", self.workloads),
            ("machines", self.machines),
            ("kernels", self.kernels),
        ):
            names = []
            for thing in things(kind, given):
                name, text = _portable(thing)
                names.append(name)
                if text is not None:
                    texts[f"{kind}/{name}"] = text
            axes[kind] = _axis(kind, names)
        whole = isinstance(self.seeds, int) and not isinstance(self.seeds, bool)
        if (isinstance(self.seeds, int) and not (whole and self.seeds > 0)) or isinstance(self.seeds, str):
            expected = "how many, from 1, or a list of them"
            text = f"seeds: {self.seeds!r} is no number of seeds; expected {expected}"
            raise SpecError(
                text, file="seeds", what=f"{self.seeds!r} is no number of seeds", expected=expected
            )
        seeds = range(1, self.seeds + 1) if isinstance(self.seeds, int) else list(self.seeds)
        return {
            "name": self.name,
            "texts": texts,
            # The default is no part of it, so that grids without this word keep their digest.
            **({} if self.ineffective == "refuse" else {"ineffective": self.ineffective}),
            **axes,
            "params": {k: _axis(f"params.{k}", _listed(v)) for k, v in self.params.items()},
            "settings": {k: _axis(f"settings.{k}", _listed(v)) for k, v in self.settings.items()},
            "seeds": [seeds.start, seeds.stop]
            if isinstance(seeds, range)
            else {"list": _axis("seeds", seeds)},
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the grid, hexadecimal: 16 digits. Files count by their text."""
        text = json.dumps(self.payload, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def view(self) -> GridView:
        """The points of the grid by number."""
        return GridView(self.payload)

    def __len__(self) -> int:
        """Return the number of plans."""
        return self.view.size

    def __getitem__(self, index: int) -> Point:
        """Return a point by number."""
        return self.view.point(index)

    def __iter__(self) -> Iterator[Point]:
        """Yield the points in order."""
        return (self.view.point(i) for i in range(self.view.size))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Grid:
        """Read a sweep file (``docs/reference/sweeps.md``). Raises ``SpecError``."""
        return read_grid(Path(path))


class GridView:
    """The points of a payload by number, in mixed radix."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        """Take the axes of a payload."""
        seeds = payload["seeds"]
        self.seeds: Sequence[int] = range(*seeds) if isinstance(seeds, list) else seeds["list"]
        self.params = list(payload["params"])
        self.settings = list(payload["settings"])
        self.leave_out = payload.get("ineffective") == "leave_out"
        self.axes: list[Sequence[Any]] = [
            payload["workloads"],
            payload["machines"],
            payload["kernels"],
            *payload["settings"].values(),
            *payload["params"].values(),
            self.seeds,
        ]
        self.size = 1
        for axis in self.axes:
            self.size *= len(axis)
        # Plans of one workload, which are a partition of the results.
        self.block = self.size // len(self.axes[0]) if self.size else 0

    def seeds_in_a_row(self, index: int) -> int:
        """Return how many points from this one on differ in their seed alone, each by 1 from the one before."""
        at = index % len(self.seeds)
        if isinstance(self.seeds, range):
            return len(self.seeds) - at
        end = at + 1
        while end < len(self.seeds) and self.seeds[end] == self.seeds[end - 1] + 1:
            end += 1
        return end - at

    def point(self, index: int) -> Point:
        """Return a point. Raises ``IndexError``."""
        if not 0 <= index < self.size:
            raise IndexError(f"point {index} of a grid of {self.size}")
        values = []
        for axis in reversed(self.axes):
            index, at = divmod(index, len(axis))
            values.append(axis[at])
        workload, machine, kernel, *rest = reversed(values)
        n = len(self.settings)
        settings = dict(zip(self.settings, rest[:n], strict=True))
        params = dict(zip(self.params, rest[n:-1], strict=True))
        # A parameter of another workload says nothing here, and neither would its name be known.
        own = {k: v for k, v in params.items() if "." not in k or k.rpartition(".")[0] == workload}
        return Point(machine, kernel, workload, own, settings, rest[-1], self.leave_out)


def _listed(value: Value | Sequence[Value]) -> Sequence[Value]:
    return [value] if isinstance(value, (bool, int, float, str)) else value


def _axis(name: str, values: Iterable[Any]) -> list[Any]:
    out = list(values)
    if not out:
        raise SpecError(f"{name}: no values; expected at least one", file=name, what="no values")
    twice = next((v for i, v in enumerate(out) if v in out[:i]), None) if len(out) < 10_000 else None
    if twice is not None:
        text = f"{name}: {twice!r} is there twice; expected each value once"
        raise SpecError(text, file=name, what=f"{twice!r} is there twice", expected="each value once")
    return out


def _portable(thing: Thing) -> tuple[str, str | None]:
    """Return the name of a thing, and its text if it is not of the catalog."""
    if isinstance(thing, Spec):
        return thing.name, thing.toml()
    name = os.fspath(thing)
    if not (name.endswith(".toml") or "/" in name):
        return name, None
    try:
        text = read_text(name, MACHINE_BYTES_MAX)
    except OSError as e:
        raise SpecError(f"{name}: {e.strerror}; expected a TOML file", file=name, what=str(e.strerror)) from e
    try:
        own = tomllib.loads(text).get("name", Path(name).stem)
    except tomllib.TOMLDecodeError as e:
        raise SpecError(f"{name}: {e}; expected a TOML file", file=name, what=str(e)) from e
    return str(own), text


def catalog_of(payload: Mapping[str, Any]) -> Catalog:
    """Return a catalog with the texts of a payload."""
    catalog = Catalog()
    for place, text in payload["texts"].items():
        kind, _, name = place.partition("/")
        catalog.native.insert(kind, name, f"<{name}>", text)
    return catalog


_KEYS = (
    "name",
    "title",
    "about",
    "machines",
    "kernels",
    "workloads",
    "seeds",
    "ineffective",
    "params",
    "set",
)


def read_grid(path: Path) -> Grid:
    """Read a sweep file. Raises ``SpecError`` for what it does not know."""
    from difflib import get_close_matches

    def refuse(what: str, expected: str, suggestion: str | None = None) -> SpecError:
        near = f"; did you mean `{suggestion}`?" if suggestion else ""
        text = f"{path}: {what}; expected {expected}{near}"
        return SpecError(text, file=str(path), what=what, expected=expected, suggestion=suggestion)

    try:
        document = tomllib.loads(read_text(path))
    except OSError as e:
        raise refuse(str(e.strerror), "a TOML file of a sweep (docs/reference/sweeps.md)") from e
    except tomllib.TOMLDecodeError as e:
        raise refuse(str(e), "a TOML file of a sweep (docs/reference/sweeps.md)") from e
    for key in document:
        if key not in _KEYS:
            near = next(iter(get_close_matches(key, _KEYS, 1)), None)
            raise refuse(f"unknown key `{key}`", f"one of {', '.join(_KEYS)}", near)
    for key in ("machines", "kernels", "workloads"):
        if not isinstance(document.get(key), list) or not document[key]:
            raise refuse(f"`{key}` is no list of names", "a list of at least one name")
    seeds = document.get("seeds", 1)
    listed = isinstance(seeds, list) and all(isinstance(s, int) for s in seeds)
    if isinstance(seeds, bool) or not (isinstance(seeds, int) and seeds > 0 or listed):
        raise refuse("`seeds` is neither a number nor a list", "how many seeds, or a list of them")
    ineffective = document.get("ineffective", "refuse")
    if ineffective not in INEFFECTIVE:
        raise refuse(f"`ineffective` is {ineffective!r}", " or ".join(INEFFECTIVE))
    tables = {}
    for key in ("params", "set"):
        flat = dict(_flat(document.get(key, {})))
        tables[key] = {k: v if isinstance(v, list) else [v] for k, v in flat.items()}
    return Grid(
        document["machines"],
        document["kernels"],
        document["workloads"],
        params=tables["params"],
        settings=tables["set"],
        seeds=seeds,
        name=str(document.get("name", path.stem)),
        ineffective=ineffective,
    )


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables under dotted names."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


__all__ = ["Grid", "GridView", "Point", "catalog_of", "read_grid", "text_of"]
