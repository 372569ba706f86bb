"""Where a sweep keeps its results: a content-addressed cache of plans, and a Parquet dataset."""

from __future__ import annotations

import json
import os
import posixpath
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numalab.errors import need

if TYPE_CHECKING:
    import pyarrow as pa

# Columns of every row, in their order; those of axes, figures and counters follow.
FIRST = ("point", "plan", "machine", "kernel", "workload", "seed", "status", "reason")

_PART = re.compile(r"part-(\d+)-(\d+)\.parquet$")


def file_system(url: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return the fsspec file system of a path or URL, and the path in it."""
    fs, path = need("fsspec.core", "sweep").url_to_fs(os.fspath(url))
    return fs, path.rstrip("/")


def is_local(fs: Any) -> bool:
    """Whether a file system is that of this machine."""
    return "file" in (fs.protocol if isinstance(fs.protocol, (tuple, list)) else (fs.protocol,))


def write(fs: Any, path: str, data: bytes) -> None:
    """Write a file so that no reader sees a part of it."""
    if is_local(fs):
        # Local: beside its place, then renamed.
        os.makedirs(posixpath.dirname(path), exist_ok=True)
        partial = f"{path}.{uuid.uuid4().hex}.partial"
        with open(partial, "wb") as f:
            f.write(data)
        os.replace(partial, path)
    else:  # Object stores show an object when it is complete.
        fs.pipe_file(path, data)


class PlanCache:
    """Figures of finished plans, one file per plan under the SHA-256 of the plan.

    An id covers the machine, the kernel, the workload, the seed and the version of the simulator, so a file never
    becomes stale, and any number of sweeps and engines may share a cache.
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        """Open the cache at a path or URL; it is created when the first plan has finished."""
        self.fs, self.root = file_system(url)

    def _path(self, plan: str) -> str:
        return f"{self.root}/{plan[:2]}/{plan}.json"

    def get(self, plan: str) -> dict[str, Any] | None:
        """Return the figures of a plan, or ``None``."""
        try:
            value: dict[str, Any] = json.loads(self.fs.cat_file(self._path(plan)))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return value

    def put(self, plan: str, figures: Mapping[str, Any]) -> None:
        """Keep the figures of a plan."""
        write(self.fs, self._path(plan), json.dumps(figures, separators=(",", ":")).encode())


class Dataset:
    """A Parquet dataset, partitioned by workload: ``workload=NAME/part-FIRST-STOP.parquet``.

    A part holds the points from ``FIRST`` up to ``STOP`` of the grid, and exists only when it is complete.
    """

    MANIFEST = "_sweep.json"
    TURN = "_turn"

    def __init__(self, url: str | os.PathLike[str]) -> None:
        """Open the dataset at a path or URL."""
        self.fs, self.root = file_system(url)
        self.local = is_local(self.fs)

    def turn(self) -> str:
        """Return whose turn it is to sweep."""
        text: bytes = self.fs.cat_file(f"{self.root}/{self.TURN}")
        return text.decode()

    def take_turn(self, turn: str) -> None:
        """Make it the turn of a client; batches of others end."""
        write(self.fs, f"{self.root}/{self.TURN}", turn.encode())

    def manifest(self) -> dict[str, Any] | None:
        """Return what the dataset was made from, or ``None`` if there is none."""
        try:
            value: dict[str, Any] = json.loads(self.fs.cat_file(f"{self.root}/{self.MANIFEST}"))
        except FileNotFoundError:
            return None
        return value

    def claim(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest."""
        write(self.fs, f"{self.root}/{self.MANIFEST}", json.dumps(manifest, indent=1).encode())

    def files(self) -> list[str]:
        """Return the paths of the parts."""
        self.fs.invalidate_cache()
        return sorted(self.fs.glob(f"{self.root}/workload=*/part-*.parquet"))

    def intervals(self) -> list[tuple[int, int]]:
        """Return the points that are there, as sorted intervals without the end."""
        found = (_PART.search(path) for path in self.files())
        return sorted((int(m[1]), int(m[2])) for m in found if m)

    def put(self, workload: str, first: int, stop: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a part."""
        import io

        table = _table(rows)
        sink = io.BytesIO()
        need("pyarrow.parquet", "sweep").write_table(table, sink, compression="zstd")
        path = f"{self.root}/workload={workload}/part-{first:09d}-{stop:09d}.parquet"
        write(self.fs, path, sink.getvalue())

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows that are there, in the order of the grid. Figures that a workload lacks are null."""
        import io

        arrow, parquet = need("pyarrow", "sweep"), need("pyarrow.parquet", "sweep")
        parts = []
        for path in self.files():
            part = parquet.read_table(io.BytesIO(self.fs.cat_file(path)), partitioning=None)
            if columns is not None:
                part = part.select([c for c in columns if c in part.column_names])
            parts.append(part)
        table: pa.Table = (
            arrow.concat_tables(parts, promote_options="permissive") if parts else arrow.table({})
        )
        return table.sort_by("point") if "point" in table.column_names else table


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table; the columns of all rows, figures as 64-bit numbers."""
    arrow = need("pyarrow", "sweep")
    names = list(dict.fromkeys([*FIRST, *(name for row in rows for name in row)]))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        present = [v for v in values if v is not None]
        kind = None
        if name in ("plan", "machine", "kernel", "workload", "status", "reason") or not present:
            kind = arrow.string()
        elif all(isinstance(v, bool) for v in present):
            kind = arrow.bool_()
        elif all(isinstance(v, int) for v in present):
            kind = arrow.int64()
        elif all(isinstance(v, (int, float)) for v in present):
            kind = arrow.float64()
        else:
            kind, values = arrow.string(), [None if v is None else str(v) for v in values]
        columns[name] = arrow.array(values, type=kind)
    table: pa.Table = arrow.table(columns)
    return table


def gaps(done: Sequence[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """Yield what is missing of ``0 .. size`` between sorted intervals."""
    at = 0
    for first, stop in done:
        if at < min(first, size):
            yield at, min(first, size)
        at = max(at, stop)
    if at < size:
        yield at, size
