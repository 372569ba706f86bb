"""Sweeps: grids of plans on Dask, from this machine to a cluster.

A batch is a range of points of the grid. A worker resolves a point, looks for the plan in the cache, runs it if it
is not there, and keeps its figures at once. When the batch is through, it writes one part of the dataset. So
whatever is killed, a plan that has finished is in the cache, and a part that exists is complete. Who sweeps takes a
turn; batches of an earlier turn, whose client was killed, end with the plan that they are at.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numalab import _native
from numalab.catalog import Catalog
from numalab.errors import LabError, SpecError, need
from numalab.grid import Grid, GridView, Point, catalog_of
from numalab.local_cluster import local_client
from numalab.progress import Show, shown
from numalab.store import Dataset, PlanCache, gaps
from numalab.table import table_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from distributed import Client
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Batches that a worker's thread has waiting, so that it never waits for the client.
AHEAD = 3
# Aim for the CPU time of a batch, s: bounds, and how many batches a thread should get at least. A batch costs some
# 30 ms in all processes. CPU time, because on a busy machine plans take long by the clock, and batches would be small.
BATCH_CPU_S = (1.0, 15.0)
BATCHES_PER_THREAD = 10
# A batch whose plans cost more than expected ends after so many times its aim, or after so much time, s.
OVER_AIM = 3.0
BATCH_MOST_S = 60.0
# Time between looks at how many threads there are, s.
LOOK_S = 5.0
# Workloads, machines and kernels together of which a point is resolved before a sweep begins.
LOOKED_AT = 64
# Most plans of a batch, and most that are resolved together.
BATCH_MOST = 4096
SEEDS_AT_ONCE = 64
NOT_MY_TURN = "another client goes on with this sweep"


class SweepInterrupted(LabError):
    """The sweep stopped before its end. What has finished is kept, and the same call goes on from there."""

    def __init__(self, message: str) -> None:
        """Keep the message; the exit code is 3."""
        super().__init__(3, message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the message."""
        return SweepInterrupted, (self.message,)


@dataclass
class Counts:
    """How many plans of a sweep were run, taken from the cache, or refused as impossible.

    ``seconds`` and ``cpu_seconds`` are the wall and CPU time of the runs alone, s.
    """

    ran: int = 0
    reused: int = 0
    refused: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def add(self, other: Mapping[str, Any]) -> None:
        """Add those of a batch."""
        self.ran += other["ran"]
        self.reused += other["reused"]
        self.refused += other["refused"]
        self.seconds += other["seconds"]
        self.cpu_seconds += other["cpu_seconds"]


@dataclass
class Sweep:
    """The results of a sweep, complete or not: a dataset on disk or in an object store."""

    out: str
    grid: Grid | None = None
    counts: Counts = field(default_factory=Counts)

    @property
    def dataset(self) -> Dataset:
        """The dataset."""
        return Dataset(self.out)

    @property
    def done(self) -> int:
        """How many points have results."""
        return sum(stop - first for first, stop in self.dataset.intervals())

    def reasons(self) -> dict[str, int]:
        """Return why points were refused or failed, and how many were, the most common reason first."""
        found = self.table(["point", "reason"]).column("reason").drop_null().value_counts().to_pylist()
        return {r["values"]: r["counts"] for r in sorted(found, key=lambda r: -r["counts"])}

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """Return the results as an Arrow table: a row per point, columns as in ``docs/reference/sweeps.md``."""
        return self.dataset.table(columns)

    def frame(self) -> pd.DataFrame:
        """Return the results as a ``pandas.DataFrame``.

        ``elapsed_s_model_error``, and so for ``user_s`` and ``system_s``, is how far the model's predictions are
        off: half of the predicted changes of published figures lie within this factor of the published one
        (``docs/explanation/trust.md``). A smaller change between two points may be none.
        """
        frame: pd.DataFrame = self._judged().to_pandas()
        return frame

    def _judged(self) -> pa.Table:
        """Return the results, with the model's error beside each time that published tables tell of."""
        table = self.table()
        pa = need("pyarrow", "sweep")
        for name in ("elapsed_s", "user_s", "system_s"):
            error = _native.model_error(name)
            if error is not None and name in table.column_names:
                at = table.column_names.index(name) + 1
                factors = pa.array([error[1]] * len(table), pa.float64())
                table = table.add_column(at, f"{name}_model_error", factors)
        return table

    def polars(self) -> pl.DataFrame:
        """Return what ``frame`` returns as a ``polars.DataFrame`` over the same buffers."""
        frame: pl.DataFrame = need("polars", "frames").from_arrow(self._judged())
        return frame

    def plot(self, x: str, y: str = "elapsed_s", hue: str | None = None, *, ax: Axes | None = None) -> Figure:
        """Draw a figure against an axis: the mean, and a band from least to largest; a line per ``hue``.

        ``ax`` is as in ``Comparison.plot``.
        """
        from numalab.plots import lines

        return lines(self.frame(), x, y, hue, ax)

    def __repr__(self) -> str:
        """Return where it is and how far."""
        total = "" if self.grid is None else f" of {len(self.grid)}"
        return f"<Sweep {self.out}: {self.done}{total} plans>"

    def _repr_html_(self) -> str:
        """Return counts by status, and the most common reasons of refusals and failures, for notebooks."""
        status = self.table(["point", "status"]).column("status").value_counts().to_pylist()
        body = [[s["values"], s["counts"]] for s in status]
        body += [[reason, n] for reason, n in list(self.reasons().items())[:5]]
        return table_html(["status", "plans"], body, repr(self))


def open_sweep(out: str | os.PathLike[str]) -> Sweep:
    """Open the results of a sweep, which may still be running. Raises ``LabError`` if there are none."""
    if Dataset(out).manifest() is None:
        raise LabError(2, f"{os.fspath(out)}: no sweep is here; expected the directory of one")
    return Sweep(os.fspath(out))


# What a worker keeps between batches: the catalog of a grid, by its digest.
_catalogs: dict[str, tuple[Catalog, GridView]] = {}
_lock = threading.Lock()


def _session(payload: Mapping[str, Any], digest: str) -> tuple[Catalog, GridView]:
    with _lock:
        if digest not in _catalogs:
            _catalogs.clear()
            _catalogs[digest] = (catalog_of(payload), GridView(payload))
        return _catalogs[digest]


def _ineffective(e: SpecError, settings: Iterable[str]) -> str | None:
    """Return the setting that a refusal is about, if it says that the kernel never reads that setting."""
    return next((name for name in settings if e.what == f"`{name}` has no effect here"), None)


def _refusal(e: SpecError, point: Point) -> str:
    """Return why a point was refused, for readers of the results."""
    name = _ineffective(e, point.settings)
    if name is None:
        return e.message
    never = f"kernel {point.kernel} never reads `{name}`, which needs {e.expected}"
    return f'{never}; with ineffective = "leave_out" the point is run without it'


def resolve(catalog: Catalog, point: Point, seeds: int = 1) -> tuple[list[_native.Plan], list[str]]:
    """Return the plans of a point under so many seeds in a row, and settings that its kernel never reads.

    These were left out. Raises ``SpecError`` if the point is impossible.
    """
    settings, left_out = dict(point.settings), list[str]()
    while True:
        try:
            request = catalog.request(
                point.machine,
                point.kernel,
                point.workload,
                params=point.params,
                settings=settings,
                seed=point.seed,
                iterations=seeds,
                files=False,
            )
            return request.plans, left_out
        except SpecError as e:
            name = _ineffective(e, settings)
            if not point.leave_out or name is None:
                raise
            del settings[name]
            left_out.append(name)


@dataclass(frozen=True)
class Found:
    """A point of a batch, with its plan, or why it has none."""

    point: Point
    plan: _native.Plan | None
    left_out: list[str]
    refusal: str = ""


def find(catalog: Catalog, view: GridView, first: int, stop: int) -> Iterator[Found]:
    """Yield the points from ``first`` up to ``stop``.

    Seeds in a row are resolved together, which takes a fraction of the time.
    """
    at, alone_until = first, first
    while at < stop:
        point, seeds = view.point(at), min(view.seeds_in_a_row(at), stop - at, SEEDS_AT_ONCE)
        try:
            plans, left_out = resolve(catalog, point, 1 if at < alone_until else seeds)
        except SpecError as e:
            if at >= alone_until and seeds > 1:
                # Some of them may be possible, since a workload may depend on its seed.
                alone_until = at + seeds
                continue
            yield Found(point, None, [], _refusal(e, point))
            at += 1
            continue
        for plan in plans:
            yield Found(view.point(at), plan, left_out)
            at += 1


def row_of(
    found: Found, cache: PlanCache, figures: _native.Figures
) -> tuple[dict[str, Any], str, tuple[float, float]]:
    """Add the figures of a point to ``figures``, and return its axes, what was done, and the time of its run.

    What was done is ran, reused or refused. The time is wall and CPU time, s. Figures never become objects of Python,
    which would take longer than everything else between two runs.
    """
    point, plan = found.point, found.plan
    axes: dict[str, Any] = {
        "plan": plan and plan.id,
        "machine": point.machine,
        "kernel": point.kernel,
        "workload": point.workload,
        "seed": point.seed,
        **{f"set.{k}": v for k, v in point.settings.items()},
        **{f"param.{k}": v for k, v in point.params.items()},
    }
    if plan is None:
        figures.refuse(found.refusal)
        return axes, "refused", (0.0, 0.0)
    if found.left_out:
        axes["left_out"] = ", ".join(found.left_out)
    text = cache.get(plan.id)
    # A text that was not written to its end is none.
    if text is not None and figures.read(text):
        return axes, "reused", (0.0, 0.0)
    begin, cpu = time.perf_counter(), time.thread_time()
    outcome = plan.run()
    times = (time.perf_counter() - begin, time.thread_time() - cpu)
    cache.put(plan.id, figures.add(outcome))
    return axes, "ran", times


@dataclass(frozen=True)
class Batch:
    """A range of points, and the CPU time that it should take, s."""

    first: int
    stop: int
    aim_s: float = BATCH_CPU_S[1]

    def over(self, cpu_s: float, wall_s: float) -> bool:
        """Whether it takes so much longer than expected that others should have the rest."""
        return cpu_s > OVER_AIM * self.aim_s or wall_s > BATCH_MOST_S


def _payload(payload: dict[str, Any]) -> dict[str, Any]:
    """Return what every batch of a sweep needs. A task, so that it is sent to the cluster once."""
    return payload


def run_batch(
    payload: Mapping[str, Any], digest: str, turn: str, batch: Batch, out: str, cache: str
) -> dict[str, Any]:
    """Carry out a batch, write its part, and return counts and where it ended. For workers.

    Whatever goes wrong is raised as a ``LabError``, which can be sent to the client. A panic of the extension and some
    exceptions of libraries cannot.
    """
    try:
        return _run_batch(payload, digest, turn, batch, out, cache)
    except (LabError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as e:
        text = f"{out}: plans {batch.first} to {batch.stop - 1}: {type(e).__name__}: {e}"
        failure = LabError(1, text)
    # Outside of the handler, so that the exception does not hold on to the other one.
    raise failure


def _run_batch(
    payload: Mapping[str, Any], digest: str, turn: str, batch: Batch, out: str, cache: str
) -> dict[str, Any]:
    """Carry out a batch, or its first part if it is over its time."""
    catalog, view = _session(payload, digest)
    plans, dataset = PlanCache(cache), Dataset(out)
    figures = _native.Figures()
    rows, counts = [], {"ran": 0, "reused": 0, "refused": 0, "seconds": 0.0, "cpu_seconds": 0.0}
    # What a worker reads and imports once is no cost of its first batch.
    begin, cpu_begin = time.perf_counter(), time.thread_time()
    looked, wall_s, cpu_s = 0.0, 0.0, 0.0
    for i, found in enumerate(find(catalog, view, batch.first, batch.stop), batch.first):
        # A look at a local file costs nothing; one at an object store is taken once a second.
        if dataset.local or time.monotonic() - looked > 1:
            if dataset.turn() != turn:
                raise SweepInterrupted(f"{out}: {NOT_MY_TURN}")
            looked = time.monotonic()
        row, did, (wall, cpu) = row_of(found, plans, figures)
        rows.append({"point": i, **row})
        counts[did] += 1
        counts["seconds"] += wall
        counts["cpu_seconds"] += cpu
        wall_s, cpu_s = time.perf_counter() - begin, time.thread_time() - cpu_begin
        if batch.over(cpu_s, wall_s):
            break
    stop = batch.first + len(rows)
    if not dataset.put(rows[0]["workload"], batch.first, stop, rows, turn, figures.table()):
        raise SweepInterrupted(f"{out}: {NOT_MY_TURN}")
    return {**counts, "stop": stop, "wall_s": wall_s, "cpu_s": cpu_s}


@dataclass(frozen=True)
class _Cost:
    """Wall and CPU time of a plan, s: moving means."""

    wall_s: float
    cpu_s: float

    def then(self, other: _Cost) -> _Cost:
        """Return the means after another batch."""
        return _Cost((self.wall_s + other.wall_s) / 2, (self.cpu_s + other.cpu_s) / 2)


class _Batches:
    """Ranges of points still to do, sized by what the last plans of their workload were seen to cost."""

    def __init__(self, view: GridView, done: list[tuple[int, int]], threads: int) -> None:
        self.view, self.threads = view, threads
        self.gaps = gaps(done, view.size)
        # What is to do next, the last one first: a gap, and what batches left of theirs.
        self.next_gaps = list(itertools.islice(self.gaps, 1))
        self.left = view.size - sum(stop - first for first, stop in done)
        # Cost of a plan of a workload.
        self.cost: dict[int, _Cost] = {}
        self.probes: dict[int, int] = {}

    def seen(self, batch: Batch, stop: int, wall_s: float, cpu_s: float) -> None:
        """Note that a batch has ended before the point ``stop``, and what it cost."""
        block, plans = batch.first // self.view.block, max(1, stop - batch.first)
        each = _Cost(wall_s / plans, cpu_s / plans)
        self.cost[block] = self.cost[block].then(each) if block in self.cost else each
        self.left -= stop - batch.first
        if stop < batch.stop:
            self.next_gaps.append((stop, batch.stop))

    def left_s(self) -> float | None:
        """Seconds until all is done."""
        each = [c.wall_s for c in self.cost.values()]
        return self.left * sum(each) / len(each) / self.threads if each else None

    def next(self) -> Batch | None:
        """Return the next range; ``None`` if there is none, or if the cost of the next plans is awaited."""
        if not self.next_gaps:
            self.next_gaps.extend(itertools.islice(self.gaps, 1))
        if not self.next_gaps:
            return None
        first, end = self.next_gaps[-1]
        block = first // self.view.block
        each = self.cost.get(block)
        low, aim_s = BATCH_CPU_S
        if each is None:
            # Single plans tell what such plans cost; a few of them are under way at a time.
            if self.probes.get(block, 0) >= self.threads:
                return None
            self.probes[block] = self.probes.get(block, 0) + 1
            size = 1
        else:
            share = self.left * each.cpu_s / self.threads / BATCHES_PER_THREAD
            aim_s = min(max(share, low), aim_s)
            # Time of waiting, as for an object store, bounds a batch too.
            fit = min(aim_s / max(each.cpu_s, 1e-6), BATCH_MOST_S / 2 / max(each.wall_s, 1e-6))
            size = max(1, min(int(fit), BATCH_MOST))
        stop = min(first + size, end, (block + 1) * self.view.block)
        self.next_gaps.pop()
        if stop < end:
            self.next_gaps.append((stop, end))
        return Batch(first, stop, aim_s)


def sweep(
    grid: Grid | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    client: Client | str | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool | Show = True,
) -> Sweep:
    """Run every plan of a grid that has no result yet, on Dask, and return the results.

    ``grid`` is a ``Grid`` or the path of a sweep file. ``out`` is a directory or a URL of fsspec, such as
    ``s3://bucket/sweep``; all workers must reach it (default: ``out/NAME``). ``client`` is a Dask client, or the
    address of a scheduler. Without one, this machine runs the plans with ``workers`` processes (default: one per
    CPU). ``cache`` holds finished plans (default: ``_plans`` in ``out``); sweeps with a common cache run no plan
    twice.

    The results can be read while the sweep runs (``numalab.open_sweep``). The same call goes on with an
    interrupted sweep. Raises ``SpecError`` if the grid is wrong or ``out`` holds another one, and
    ``SweepInterrupted`` if the scheduler is lost or a batch keeps killing its workers.
    """
    grid = grid if isinstance(grid, Grid) else Grid.from_file(grid)
    out = os.fspath(f"out/{grid.name}" if out is None else out)
    if "://" not in out:
        out = os.path.abspath(out)  # Workers have other working directories.
    cache = f"{out.rstrip('/')}/_plans" if cache is None else os.fspath(cache)
    if "://" not in cache:
        cache = os.path.abspath(cache)
    _check(grid)
    if workers is not None and workers < 1:
        what, expected = f"{workers} processes", "at least 1"
        raise SpecError(f"workers: {what}; expected {expected}", file="workers", what=what, expected=expected)
    made = {"grid": grid.digest, "simulator": _native.SIMULATOR, "payload": grid.payload}
    dataset = Dataset(out)
    found = dataset.manifest()
    if found is None:
        dataset.claim(made)
    elif (found["grid"], found["simulator"]) != (made["grid"], made["simulator"]):
        other = "another grid" if found["grid"] != made["grid"] else "another version of the simulator"
        expected = f"another directory, with cache={cache!r} to run no plan twice"
        text = f"{out}: it holds the sweep of {other}; expected {expected}"
        raise SpecError(text, file=out, what=f"it holds the sweep of {other}", expected=expected)
    result = Sweep(out, grid)
    if result.done < len(grid):
        with _client(client, workers) as live, shown(progress, "plans") as show:
            _carry_out(live, grid, out, cache, result.counts, show)
    return result


def _check(grid: Grid) -> None:
    """Resolve the first points of workloads, machines and kernels, so that a slip is found before anything runs.

    A grid may have points that are impossible, such as a workload on a machine that is too small for it. If all
    of the first ones are, the grid is wrong.
    """
    catalog, view = catalog_of(grid.payload), grid.view
    problem: SpecError | None = None
    step = view.block // (len(view.axes[1]) * len(view.axes[2]))
    for first in range(0, min(view.size, LOOKED_AT * step), step):
        try:
            resolve(catalog, view.point(first))
            return
        except SpecError as e:
            problem = problem or e
    if problem is not None:
        raise problem


@contextlib.contextmanager
def _client(client: Client | str | None, workers: int | None) -> Iterator[Any]:
    """Yield a client: the given one, one of the scheduler at an address, or one of this machine alone."""
    distributed = need("distributed", "sweep")
    if client is not None and not isinstance(client, str):
        yield client
        return
    if isinstance(client, str):
        try:
            with distributed.Client(client, timeout="20s", set_as_default=False) as own:
                yield own
        except OSError as e:
            raise SweepInterrupted(
                f"{client}: no scheduler answers there ({e}); expected `dask scheduler`"
            ) from e
        return
    with local_client(workers or os.cpu_count() or 1) as own:
        yield own


def _carry_out(
    # Any: of a client, types cannot tell whether its methods answer or give something to wait for.
    client: Any,
    grid: Grid,
    out: str,
    cache: str,
    counts: Counts,
    show: Show,
) -> None:
    """Keep every thread of the cluster busy until all points are done."""
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    turn = uuid.uuid4().hex
    # The turn first: no other client writes a part after that.
    Dataset(out).take_turn(turn)
    done = Dataset(out).intervals()
    # A task rather than scattered data: the scheduler computes it again when the workers that held it are gone.
    payload = client.submit(
        _payload, dict(grid.payload), key=f"numalab-{grid.digest}-{turn}-grid", pure=False, retries=10
    )
    threads = max(1, sum(client.nthreads().values()))
    looked = time.monotonic()
    batches = _Batches(grid.view, done, threads)
    total = grid.view.size
    under_way: dict[str, tuple[Batch, Any]] = {}
    while True:
        while len(under_way) < batches.threads * AHEAD and (batch := batches.next()) is not None:
            key = f"numalab-{grid.digest}-{turn}-{batch.first}-{batch.stop}"
            args = (payload, grid.digest, turn, batch, out, cache)
            future = client.submit(run_batch, *args, key=key, pure=False)
            future.add_done_callback(ended.put)
            under_way[str(future.key)] = (batch, future)
        if not under_way:
            return
        left = batches.left_s()
        show(total - batches.left, total, {} if left is None else {"time left": left})
        try:
            future = ended.get(timeout=0.5)
        except queue.Empty:
            if client.status not in ("running", "connecting"):
                raise _lost(client, out) from None
            if client.status == "running" and time.monotonic() - looked > LOOK_S:
                batches.threads = max(1, sum(client.nthreads().values()))
                looked = time.monotonic()
            continue
        batch, _ = under_way.pop(str(future.key))
        if future.status == "cancelled" or future.status == "lost":
            raise _lost(client, out)
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker":
                those = f"plans {batch.first} to {batch.stop - 1}"
                text = f"{those} keep killing their workers; expected more memory for them"
                raise SweepInterrupted(f"{out}: {text}: {error}") from error
            raise error
        result = future.result()
        batches.seen(batch, result["stop"], result["wall_s"], result["cpu_s"])
        counts.add(result)


def _lost(client: Client, out: str) -> SweepInterrupted:
    address = getattr(client.scheduler, "address", "the scheduler")
    text = f"{out}: {address} is gone; finished plans are kept, and the same call goes on from there"
    return SweepInterrupted(text)
