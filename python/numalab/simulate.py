"""Runs in this process: the simulator behind a function call."""

from __future__ import annotations

import json
import os
import queue
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numalab import _native
from numalab.catalog import Catalog, Thing, things
from numalab.comparison import Comparison
from numalab.errors import LabError, LabWarning, Named, SpecError, unknown
from numalab.spec import Experiment
from numalab.table import Table, table_html

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numalab.policy import Policy

# What ``progress`` is called with: runs that are done, all runs, and for each run in progress its name and the
# model time so far, s.
Progress = Callable[[int, int, Mapping[str, float]], None]


@dataclass(frozen=True)
class Settled:
    """Where a run had settled whose rest was not simulated. Its other figures are those of the whole run."""

    # From when on its scores had their settled rates, what was simulated, and what was not: s of model time.
    after_s: float
    simulated_s: float
    skipped_s: float
    # Units a second of each score, once settled and before.
    per_second: dict[str, float]
    before_per_second: dict[str, float]


@dataclass(frozen=True)
class Run:
    """A run and what it measured."""

    plan: _native.Plan
    outcome: _native.Outcome
    # Directory of its record, and how long the directory is kept.
    directory: Path | None = None
    _keep: object = None
    _policy: Policy | None = None

    @property
    def machine(self) -> str:
        """Name of the machine."""
        return self.plan.machine

    @property
    def kernel(self) -> str:
        """Name of the kernel, with its overrides."""
        return self.plan.kernel

    @property
    def workload(self) -> str:
        """Name of the workload."""
        return self.plan.workload

    @property
    def seed(self) -> int:
        """Seed of every random stream of the run."""
        return self.plan.seed

    @property
    def status(self) -> str:
        """``completed``, ``timeout`` or ``failed``."""
        return self.outcome.status

    @property
    def elapsed_s(self) -> float:
        """Elapsed model time, s."""
        return self.outcome.scalars["elapsed_s"]

    @property
    def scalars(self) -> dict[str, float]:
        """Figures: ``elapsed_s``, ``user_s``, ``system_s``, ``blocked_s``, and one per score."""
        return Named("figure", self.outcome.scalars)

    @property
    def counters(self) -> dict[str, int]:
        """Counters of vmstat under the kernel's names: counts over the whole run."""
        return Named("counter", self.outcome.counters)

    @property
    def reasons(self) -> dict[str, int]:
        """Counts of skips and refusals by reason."""
        return Named("reason", self.outcome.reasons)

    @property
    def settled(self) -> Settled | None:
        """Where the run had settled, if the rest of it was not simulated."""
        if self.outcome.settled is None:
            return None
        after_s, simulated_s, skipped_s, rates = self.outcome.settled
        once, before = ({name: pair[i] for name, *pair in rates} for i in (0, 1))
        return Settled(after_s, simulated_s, skipped_s, Named("score", once), Named("score", before))

    @property
    def series_names(self) -> list[str]:
        """Names of the time series."""
        return self.outcome.series_names

    def series(self, name: str) -> Table:
        """Return a time series: a row per sample, ``time_ns`` from the start, then its columns.

        Raises ``UnknownName``, a ``KeyError``, for a name that is not in ``series_names``.
        """
        if name not in self.series_names:
            raise unknown("series", name, self.series_names)
        return Table(self.outcome.series(name))

    def plot_memory(self, *, ax: Axes | None = None) -> Figure:
        """Draw where the pages of the workload are over time: an area per node. ``ax``: as ``Comparison.plot``."""
        from numalab.plots import memory

        return memory(self, ax)

    def plot_moves(self, *, ax: Axes | None = None) -> Figure:
        """Draw page moves as a heatmap: on which node each stretch of memory is over time.

        ``ax`` is as in ``Comparison.plot``.
        """
        from numalab.plots import moves

        return moves(self, ax)

    def trace(self, path: str | os.PathLike[str]) -> Path:
        """Write the events of the run as a Perfetto trace, and return its path.

        The run is repeated for its events; it must have a record (``numalab.run(…, out=…)`` or the default).
        """
        if self.directory is None:
            raise LabError(2, "this run has no record; expected one that `numalab.run` made")
        self.plan.write_events(self.directory, self._policy.native() if self._policy else None)
        record = self.directory / self.plan.id[:16]
        code, _, message = _native.call(["trace", str(record), "--out", os.fspath(path)])
        if code != 0:
            raise LabError(code, message)
        return Path(path)

    def __repr__(self) -> str:
        """Return its name, how it ended and its time."""
        return f"<Run {label(self.plan)}: {self.status}, {self.elapsed_s:.4g} s>"

    def _repr_html_(self) -> str:
        """Return its figures, for notebooks."""
        return table_html(
            ["figure", "value"], list(self.scalars.items()), f"{label(self.plan)}: {self.status}"
        )


def label(plan: _native.Plan) -> str:
    """Return the name of a run in messages."""
    return f"{plan.machine} {plan.workload} {plan.kernel} seed {plan.seed}"


def run(
    machine: Thing | Iterable[Thing] | Experiment,
    kernels: Thing | Iterable[Thing] | None = None,
    workload: Thing | Iterable[Thing] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    iterations: int | None = None,
    seed: int | None = None,
    params: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    baseline: str | None = None,
    quiet_machine: bool | None = None,
    until_settled: bool | None = None,
    exact: bool | None = None,
    policy: Policy | Sequence[Policy | None] | None = None,
    jobs: int | None = None,
    progress: bool | Progress = True,
    catalog: Catalog | None = None,
) -> Comparison:
    """Run machines × kernels × workloads in this process, and compare the kernels.

    ``machine``, ``kernels`` and ``workload`` are names of the catalog, paths of TOML files, or specs built in
    Python; each may be a list. In their place, one name, path or spec of an experiment may be given. Iteration
    ``i`` has seed ``seed + i``. ``params`` are parameters of workloads, ``settings`` roles and tunables of all
    kernels. On a ``quiet_machine`` no kernel threads and daemons run beside the workload, and timers fire on time.
    ``until_settled`` leaves out the rest of runs that have settled (``Run.settled``,
    ``docs/explanation/settled-runs.md``). ``exact`` handles each page as a step of its own
    (``docs/explanation/runs-of-pages.md``). ``jobs`` runs are made at a time (default: one per CPU). They are
    threads, and none holds the interpreter's lock. ``progress`` is a bar on standard error or in the notebook,
    ``False``, or a function.

    Records go to ``out`` as those of ``numalab run``; runs that have one are not repeated. Without ``out`` they
    are in a temporary directory that lives as long as the comparison.

    With a ``policy`` the kernels make that policy's decisions, and are called ``KERNEL+POLICY``
    (``docs/how-to/policies-in-python.md``). A list compares policies; ``None`` in it stands for the kernels as they
    are. Runs with a policy are made anew each time, one after the other.

    Returns a ``Comparison`` with its ``runs``. Raises ``SpecError`` before anything runs if a name or a setting
    is wrong. A run that fails or reaches its limit is part of the result, and a ``LabWarning`` tells of it.
    """
    catalog = catalog or Catalog()
    request = _request(
        catalog,
        machine,
        kernels,
        workload,
        params=params,
        settings=settings,
        seed=seed,
        iterations=iterations,
        baseline=baseline,
        quiet_machine=quiet_machine,
        until_settled=until_settled,
        exact=exact,
    )
    keep = None
    if out is None:
        keep = tempfile.TemporaryDirectory(prefix="numalab-")
        out = Path(keep.name) / "records"
    policies = _policies(policy)
    if any(p is not None for p in policies):
        request = request.under(
            [("", []) if p is None else (f"+{p.label}", p.conditions()) for p in policies]
        )
    plans = request.plans
    # The runs of each policy follow those of the one before.
    of_plan = [p for p in policies for _ in range(len(plans) // len(policies))]
    store = _native.Store(request, out)
    try:
        outcomes = run_plans(plans, store=store, policy=of_plan, jobs=jobs, progress=progress)
        store.close()
    finally:
        store.release()
    runs = [Run(p, o, Path(out), keep, by) for p, o, by in zip(plans, outcomes, of_plan, strict=True)]
    code, text, message = _native.call(["compare", "--json", "--quiet", "--", os.fspath(out)])
    if not text:
        raise LabError(code, message)
    comparison = Comparison(json.loads(text), code, message, runs)
    notes = [note for workload in comparison["workloads"] for note in workload["notes"]]
    if notes or code != 0:
        comparison.message = "\n".join(dict.fromkeys([*message.splitlines(), *notes]))
        warnings.warn(f"{os.fspath(out)}: {comparison.message}", LabWarning, stacklevel=2)
    return comparison


def _request(
    catalog: Catalog,
    machine: Thing | Iterable[Thing] | Experiment,
    kernels: Thing | Iterable[Thing] | None,
    workload: Thing | Iterable[Thing] | None,
    **options: Any,
) -> _native.Request:
    """Resolve what ``run`` was asked for."""
    seed, iterations = options.pop("seed"), options.pop("iterations")
    if iterations is not None and iterations < 1:
        what, expected = f"{iterations} runs", "at least 1"
        raise SpecError(
            f"iterations: {what}; expected {expected}", file="iterations", what=what, expected=expected
        )
    if kernels is None and workload is None:
        given = things("experiment", machine)
        if len(given) != 1:
            raise TypeError("kernels and workload are missing; expected them beside several machines")
        refused = [name for name, value in options.items() if value is not None]
        if refused:
            raise TypeError(
                f"{', '.join(refused)} beside an experiment; expected it in the experiment itself"
            )
        name = catalog.resolve("experiment", given[0])
        return catalog.native.experiment(name, seed, iterations)
    if kernels is None or workload is None:
        missing = "kernels" if kernels is None else "workload"
        raise TypeError(f"{missing} is missing; expected it beside machine")
    for name, values in (("machine", machine), ("kernels", kernels), ("workload", workload)):
        if not things(name, values):
            raise SpecError(f"{name}: none is given; expected at least one", file=name, what="none is given")
    seed, iterations = 1 if seed is None else seed, 1 if iterations is None else iterations
    return catalog.request(machine, kernels, workload, seed=seed, iterations=iterations, **options)


def _policies(given: Policy | Sequence[Policy | None] | None) -> list[Policy | None]:
    """Return what ``run`` was given as a list. Raises ``SpecError`` if it is empty or two have one name."""

    def refuse(what: str, expected: str) -> SpecError:
        return SpecError(f"policy: {what}; expected {expected}", file="policy", what=what, expected=expected)

    policies = list(given) if isinstance(given, Sequence) else [given]
    if not policies:
        raise refuse("none is given", "at least one, or None")
    labels = [None if p is None else p.label for p in policies]
    twice = next((label for i, label in enumerate(labels) if label in labels[:i]), None)
    if twice is not None or labels.count(None) > 1:
        raise refuse(f"two are called `{twice}`", "a `name` of its own for each")
    return policies


def run_plans(
    plans: Sequence[_native.Plan],
    *,
    store: _native.Store | None = None,
    policy: Policy | Sequence[Policy | None] | None = None,
    jobs: int | None = None,
    progress: bool | Progress = False,
) -> list[_native.Outcome]:
    """Run plans in threads, and return their outcomes in order. Plans with a record are not run.

    ``policy`` is that of all plans, or a list with that of each. A plan with a policy is run although it has a record,
    since the policy may call what its plan does not know of.
    """
    policies = list(policy) if isinstance(policy, Sequence) else [policy] * len(plans)
    hooks = {id(p): p.native() for p in policies if p is not None}
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in range(len(plans)):
        todo.put(i)
    done: queue.SimpleQueue[tuple[int, _native.Outcome | BaseException]] = queue.SimpleQueue()
    live: dict[int, _native.Clock] = {}

    def work() -> None:
        while True:
            try:
                i = todo.get_nowait()
            except queue.Empty:
                return
            try:
                hook = hooks.get(id(policies[i]))
                outcome = store.get(plans[i]) if store is not None and hook is None else None
                if outcome is None:
                    live[i] = _native.Clock()
                    outcome = plans[i].run(live[i], hook)
                    if store is not None:
                        if hook is not None:
                            store.forget(plans[i])
                        store.put(plans[i], outcome)
                done.put((i, outcome))
            except BaseException as e:
                done.put((i, e))
            finally:
                live.pop(i, None)

    # A policy's object answers one question at a time, so its runs are made one after the other.
    count = 1 if hooks else max(1, min(jobs or os.cpu_count() or 1, len(plans)))
    # Daemons: an interrupt ends the program without waiting for runs, whose records are then not written.
    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()
    outcomes: dict[int, _native.Outcome] = {}
    with _shown(progress) as show:
        while len(outcomes) < len(plans):
            try:
                i, result = done.get(timeout=0.2)
            except queue.Empty:
                pass
            else:
                if isinstance(result, BaseException):
                    while not todo.empty():  # No further run is started.
                        try:
                            todo.get_nowait()
                        except queue.Empty:
                            break
                    raise result
                outcomes[i] = result
            now = {label(plans[k]): clock.ns / 1e9 for k, clock in list(live.items())}
            show(len(outcomes), len(plans), now)
    return [outcomes[i] for i in range(len(plans))]


def _shown(progress: bool | Progress) -> Any:
    from numalab.progress import shown

    return shown(progress)
