"""Where a sweep keeps its results: a content-addressed cache of plans, and a Parquet dataset."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numalab.errors import need
from numalab.files import create, replace

if TYPE_CHECKING:
    import pyarrow as pa

# Columns that come first, in their order; those of other axes, figures and counters follow.
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
        _write_local(path, data, replace)
    else:  # Object stores show an object when it is complete.
        fs.pipe_file(path, data)


def _read(fs: Any, path: str, local: bool) -> bytes:
    """Return what a file holds; a local one without the detour through fsspec, which takes as long as the file."""
    if local:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    data: bytes = fs.cat_file(path)
    return data


def _write_local(path: str, data: bytes, how: Callable[[str, bytes], None]) -> None:
    """Write a file and, if need be, its folder."""
    try:
        how(path, data)
    except FileNotFoundError:
        os.makedirs(posixpath.dirname(path), exist_ok=True)
        how(path, data)


class PlanCache:
    """Figures of finished plans, one file per plan under the SHA-256 of the plan.

    An id covers the machine, the kernel, the workload, the seed and the version of the simulator, so a file never
    becomes stale, and any number of sweeps and engines may share a cache.
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        """Open the cache at a path or URL; it is created when the first plan has finished."""
        self.fs, self.root = file_system(url)
        self.local = is_local(self.fs)

    def _path(self, plan: str) -> str:
        return f"{self.root}/{plan[:2]}/{plan}.json"

    def get(self, plan: str) -> bytes | None:
        """Return what is kept of a plan, or ``None``. If who wrote it was killed, it may lack its end."""
        try:
            return _read(self.fs, self._path(plan), self.local)
        except FileNotFoundError:
            return None

    def put(self, plan: str, figures: bytes) -> None:
        """Keep the figures of a plan: a JSON object.

        Each plan pays for this, and a rename is half of it. It is not needed: no part of a JSON object is one.
        """
        if self.local:
            try:
                _write_local(self._path(plan), figures, create)
            except FileExistsError:  # What a killed process left, or a link that must not be followed.
                write(self.fs, self._path(plan), figures)
        else:
            write(self.fs, self._path(plan), figures)


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
        return _read(self.fs, f"{self.root}/{self.TURN}", self.local).decode()

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
        """Return the points that are there, as sorted intervals without the end. None overlap."""
        out: list[tuple[int, int]] = []
        for _, first, stop in _parts(self.files()):
            if out and first <= out[-1][1]:
                out[-1] = (out[-1][0], max(stop, out[-1][1]))
            else:
                out.append((first, stop))
        return out

    def put(
        self,
        workload: str,
        first: int,
        stop: int,
        rows: Sequence[Mapping[str, Any]],
        turn: str | None = None,
        figures: object | None = None,
    ) -> bool:
        """Write a part, and return whether it was written: not if it is the turn of another than ``turn``.

        ``figures`` are further columns of the same rows: anything that offers an Arrow stream.
        """
        import io

        arrow = need("pyarrow", "sweep")
        table = _table(rows)
        if figures is not None:
            more = arrow.table(figures)
            for name in more.column_names:
                table = table.append_column(name, more.column(name))
            first_ones = [name for name in FIRST if name in table.column_names]
            table = table.select(list(dict.fromkeys([*first_ones, *table.column_names])))
        sink = io.BytesIO()
        # Dictionaries and statistics of a hundred columns take as long as everything else.
        words = [f.name for f in table.schema if f.type == arrow.string()]
        options = {"use_dictionary": words, "write_statistics": ["point"]}
        need("pyarrow.parquet", "sweep").write_table(table, sink, compression="zstd", **options)
        path = f"{self.root}/workload={workload}/part-{first:09d}-{stop:09d}.parquet"
        if turn is not None and self.turn() != turn:
            return False
        write(self.fs, path, sink.getvalue())
        return True

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows that are there, in the order of the grid. Figures that a workload lacks are null."""
        arrow, parquet = need("pyarrow", "sweep"), need("pyarrow.parquet", "sweep")
        parts, end = [], 0
        for path, first, stop in _parts(self.files()):
            if stop <= end:
                continue
            # Neither a file object of Python nor threads: one that still held the file at exit ended the interpreter.
            source = parquet.ParquetFile(arrow.BufferReader(self.fs.cat_file(path)))
            names = source.schema_arrow.names
            wanted = names if columns is None else [c for c in columns if c in names]
            part = source.read(columns=wanted, use_threads=False).select(wanted)
            if first < end:
                # A batch of a client that was killed wrote these too, at the same time. Both have the same rows.
                part = part.slice(end - first)
            end = stop
            parts.append(part)
        table: pa.Table = (
            arrow.concat_tables(parts, promote_options="permissive") if parts else arrow.table({})
        )
        return table.sort_by("point") if "point" in table.column_names else table


def _parts(paths: Iterable[str]) -> list[tuple[str, int, int]]:
    """Return the parts by their points: path, first, and the one after the last."""
    found = ((path, _PART.search(path)) for path in paths)
    return sorted(((path, int(m[1]), int(m[2])) for path, m in found if m), key=lambda part: part[1:])


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table: the columns of all rows. Numbers have 64 bits."""
    arrow = need("pyarrow", "sweep")
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        present = [v for v in values if v is not None]
        if not present:
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
