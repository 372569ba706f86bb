"""Tuning: which settings of a kernel serve a workload best, by Optuna."""

from __future__ import annotations

import os
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from numalab import _native
from numalab.catalog import Catalog, Thing
from numalab.errors import LabError, SpecError, need, unknown
from numalab.progress import Show, shown
from numalab.simulate import run_plans
from numalab.table import table_html
from numalab.tuned_script import is_plain, script, shell_value

if TYPE_CHECKING:
    import optuna
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Values of a knob: bounds of whole numbers, searched on a logarithmic scale, or a list of choices.
Knob = tuple[int, int] | list[Any]

#: Knobs that a running kernel has under /proc/sys or debugfs, with the bounds that are searched.
KNOBS: dict[str, Knob] = {
    "scan.scan_delay_ms": (50, 4000),
    "scan.scan_period_min_ms": (50, 8000),
    "scan.scan_period_max_ms": (8000, 120_000),
    "scan.scan_size_mb": (16, 2048),
}

#: Objectives: figures of a run that are made small. The last is the worst stall: the longest time in which a thread
#: could not go on.
OBJECTIVES = ("elapsed_s", "system_s", "task_stall_max_ns")

# A point is given up after its first seed if another is as good in every objective, and better by this factor in one.
CLEARLY_WORSE = 1.2

# Why a point that was not run with every seed has no values.
GIVEN_UP = "clearly worse after its first seed"

# Folder of debugfs.
DEBUGFS = "/sys/kernel/debug"


@dataclass(frozen=True)
class Choice:
    """A point of the search: its settings, and its objectives as means over the seeds."""

    settings: dict[str, Any]
    values: dict[str, float]
    # Standard error of each mean.
    errors: dict[str, float]


@dataclass(frozen=True)
class ModelError:
    """How far the model's predictions of changes are off, by published tables (``docs/explanation/trust.md``).

    ``figure`` is the kind of figure. Half of the predictions lie within the factor ``half`` of the published
    change, and four of five within ``four_fifths``, which may be infinite.
    """

    figure: str
    half: float
    four_fifths: float

    def hides(self, per_cent: float) -> bool:
        """Whether a fall by ``per_cent`` is too small for the model to tell."""
        ratio = 1 - per_cent / 100
        return ratio > 0 and max(ratio, 1 / ratio) < self.half


@dataclass
class Tuning:
    """The result of ``tune``."""

    study: optuna.Study
    objectives: tuple[str, ...]
    machine: str
    workload: str
    kernel: str
    baseline: Choice
    tunables: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def trials(self) -> list[Choice]:
        """Every point that was run with all seeds, in order."""
        complete = [t for t in self.study.trials if t.values is not None]
        return [_choice(t.params, t.values, t.user_attrs.get("errors"), self.objectives) for t in complete]

    @property
    def given_up(self) -> int:
        """How many points were clearly worse than another after their first seed, and not run further."""
        return sum(t.state.name == "PRUNED" for t in self.study.trials)

    @property
    def pareto(self) -> list[Choice]:
        """The points that no other point beats in every objective, by the first objective."""
        best = [
            _choice(t.params, t.values, t.user_attrs.get("errors"), self.objectives)
            for t in self.study.best_trials
        ]
        return sorted(best, key=lambda c: c.values[self.objectives[0]])

    @property
    def best(self) -> Choice:
        """The point whose objectives, as ratios to those of the kernel's own settings, have the least product."""

        def product(choice: Choice) -> float:
            out = 1.0
            for name in self.objectives:
                out *= max(choice.values[name], 1e-12) / max(self.baseline.values[name], 1e-12)
            return out

        return min([self.baseline, *self.pareto], key=product)

    def importances(self, objective: str | None = None) -> dict[str, float]:
        """Return which part of an objective's variance each knob explains (fANOVA), the largest first.

        ``objective`` is the first one by default. If it is the same at all points, every share is 0. Raises
        ``LabError`` if there are fewer than two points, and ``UnknownName`` for another objective.
        """
        optuna = _optuna()
        need("sklearn", "tune")
        name = self._objective(objective)
        at, tried = self.objectives.index(name), self.trials
        if len(tried) < 2:
            raise LabError(2, f"{len(tried)} points cannot tell which knob matters; expected at least two")
        if len({c.values[name] for c in tried}) == 1:
            return dict.fromkeys(tried[0].settings, 0.0)
        evaluator = optuna.importance.FanovaImportanceEvaluator(seed=1)
        found = optuna.importance.get_param_importances(
            self.study, evaluator=evaluator, target=lambda t: t.values[at]
        )
        return {str(name): float(share) for name, share in found.items()}

    def _objective(self, name: str | None) -> str:
        """Return an objective by its name, by default the first one. Raises ``UnknownName``."""
        if name is not None and name not in self.objectives:
            raise unknown("objective", name, self.objectives)
        return name or self.objectives[0]

    def gain(self, objective: str | None = None, choice: Choice | None = None) -> tuple[float, float]:
        """Return by how many per cent an objective falls against the kernel's own settings, and its standard error.

        The error is that of the seeds. It does not cover what the model does not know.
        """
        name, choice = self._objective(objective), choice or self.best
        before, after = self.baseline.values[name], choice.values[name]
        if before == 0:
            return 0.0, 0.0
        spread = ((self.baseline.errors[name] * after / before) ** 2 + choice.errors[name] ** 2) ** 0.5
        return 100 * (1 - after / before), 100 * spread / before

    def model_error(self, objective: str | None = None) -> ModelError | None:
        """Return how far the model's predictions of an objective are off, or ``None`` if no published table tells."""
        found = _native.model_error(self._objective(objective).removeprefix("-"))
        return None if found is None else ModelError(*found)

    def snippet(self, choice: Choice | None = None) -> str:
        """Return a script for the shell that sets a point (default: the best one) on a running kernel.

        ``sh SCRIPT`` applies it, and ``sh SCRIPT undo`` sets back what the kernel had before. That is kept in
        ``/run/numalab``, or for users in ``$XDG_RUNTIME_DIR/numalab``.
        """
        choice = choice or self.best
        about = [
            f"Settings for {self.workload} on {self.machine}, from {self.kernel}; tried in the simulator."
        ]
        for name in self.objectives:
            about += self._predicted(name, choice)
        about.append(
            "Predictions of a model: docs/explanation/trust.md says how far to trust them. Measure before and after."
        )
        files, remarks = dict[str, tuple[str, str]](), list[str]()
        for name, value in choice.settings.items():
            where, plain = self._place(name), shell_value(value)
            if where is None or plain is None:
                remarks.append(f"{name} = {value} has no file in a running kernel; it needs another build.")
            else:
                files[name] = (where, plain)
        return script(about, files, remarks)

    def _predicted(self, name: str, choice: Choice) -> list[str]:
        """Return the lines of a script that say what is predicted of an objective, and how sure that is."""
        per_cent, error = self.gain(name, choice)
        word = "less" if per_cent >= 0 else "more"
        figure = f"{name.removeprefix('-')} {abs(per_cent):.1f} % {word}"
        lines = [f"Predicted: {figure} (standard error {error:.1f} over seeds)."]
        model = self.model_error(name)
        if model is None:
            return [*lines, "  The model's error is not known: no published table has such a figure."]
        lines.append(
            f"  The model's error: half of its predictions of {model.figure} figures are off by less than a factor "
            f"of {model.half:.2f}."
        )
        if model.hides(per_cent):
            lines.append("  The predicted change is smaller than that: it may be none.")
        return lines

    def _place(self, name: str) -> str | None:
        """Return the file of a tunable in a running kernel."""
        _, kernel_name = self.tunables.get(name, ("", "model"))
        # A remark behind a name, as "(normalised)", says that the file has another value than the model.
        if not is_plain(name) or not is_plain(kernel_name.removeprefix("debugfs ")):
            return None
        if kernel_name.startswith("debugfs "):
            return f"{DEBUGFS}/{kernel_name.removeprefix('debugfs ')}"
        if kernel_name.startswith(("kernel.", "vm.")):
            return "/proc/sys/" + kernel_name.replace(".", "/")
        return None

    def plot(self, x: str | None = None, y: str | None = None, *, ax: Axes | None = None) -> Figure:
        """Draw the trials by two objectives, with the Pareto front and the kernel's own settings.

        ``ax`` is as in ``Comparison.plot``.
        """
        from numalab.plots import axes, key, named

        x, y = self._objective(x), self._objective(y or self.objectives[min(1, len(self.objectives) - 1)])
        figure, ax = axes(ax)
        tried, front = self.trials, self.pareto
        ax.scatter([c.values[x] for c in tried], [c.values[y] for c in tried], s=14, alpha=0.5, label="tried")
        ax.plot([c.values[x] for c in front], [c.values[y] for c in front], marker="o", label="Pareto front")
        ax.scatter([self.baseline.values[x]], [self.baseline.values[y]], marker="X", s=80, label=self.kernel)
        named(ax, x, y, f"{self.workload} on {self.machine}")
        key(ax)
        return figure

    def _repr_html_(self) -> str:
        """Return the Pareto front, for notebooks."""
        body = [
            [*c.values.values(), ", ".join(f"{k}={v}" for k, v in c.settings.items())]
            for c in [self.baseline, *self.pareto]
        ]
        caption = f"{self.workload} on {self.machine}: the settings of {self.kernel}, then the Pareto front"
        return table_html([*self.objectives, "settings"], body, caption)


def _choice(
    settings: Mapping[str, Any], values: Sequence[float], errors: Sequence[float] | None, names: Sequence[str]
) -> Choice:
    errors = errors or [0.0] * len(names)
    return Choice(
        dict(settings), dict(zip(names, values, strict=True)), dict(zip(names, errors, strict=True))
    )


def _check(knobs: Mapping[str, Knob], names: Sequence[str], budget: int, seeds: Sequence[int]) -> None:
    """Raise ``SpecError`` for a search that cannot be made."""

    def refuse(place: str, what: str, expected: str) -> SpecError:
        return SpecError(f"{place}: {what}; expected {expected}", file=place, what=what, expected=expected)

    for place, values in (("knobs", knobs), ("objectives", names), ("seeds", seeds)):
        if not values:
            raise refuse(place, "none is given", "at least one")
    if budget < 1:
        raise refuse("budget", f"{budget} points", "at least 1")
    for name, knob in knobs.items():
        if isinstance(knob, list):
            if not knob:
                raise refuse(f"knob {name}", "no values", "at least one")
            continue
        whole = isinstance(knob, tuple) and [type(v) for v in knob] == [int, int]
        if not whole or not 0 < knob[0] <= knob[1]:
            raise refuse(
                f"knob {name}", f"{knob!r} is no range", "(least, largest) of whole numbers from 1, or a list"
            )


def tune(
    workload: Thing,
    machine: Thing,
    knobs: Mapping[str, Knob] | None = None,
    objectives: Sequence[str] = OBJECTIVES,
    budget: int = 60,
    *,
    kernel: Thing = "6.12",
    params: Mapping[str, object] | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    storage: str | None = None,
    out: str | os.PathLike[str] | None = None,
    patience: int | None = None,
    prune: bool = True,
    sampler_seed: int = 1,
    jobs: int | None = None,
    progress: bool | Show = True,
    catalog: Catalog | None = None,
) -> Tuning:
    """Search the settings of ``kernel`` under which ``workload`` on ``machine`` has the least ``objectives``.

    ``knobs`` maps tunables and roles to their values: ``(least, largest)`` of whole numbers, searched on a
    logarithmic scale, or a list of choices (default: ``numalab.tuning.KNOBS``, the files of a running kernel).
    ``objectives`` are figures of a run that are to be small: ``elapsed_s``, ``system_s``, ``blocked_s``, or a
    counter such as ``task_stall_max_ns``, the worst stall. By default they are elapsed time, system time and the worst
    stall. A minus before the name of a score makes it large. ``budget`` is the number of points in all, each
    of which is run once per seed. ``patience`` ends the search after so many points that improved nothing. With
    ``prune``, a point may be given up after its first seed. That is so if an earlier point is as good in every
    objective, and better by a factor of 1.2 in one.

    The study is kept in ``storage``, any storage of Optuna (default: SQLite in ``out``, which is ``out/tune`` by
    default). The same call goes on with it until it has ``budget`` points. The kernel's own settings are point
    0. The search of a given ``sampler_seed`` is the same on every machine.

    Raises ``SpecError`` if a name or a value is wrong.
    """
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    catalog = catalog or Catalog()
    knobs, names = dict(KNOBS if knobs is None else knobs), tuple(objectives)
    _check(knobs, names, budget, seeds)
    evaluate = _evaluator(catalog, machine, kernel, workload, params, seeds, names, jobs)
    own, tunables, label = cast("tuple[Any, Any, Any]", evaluate({}))
    for name, knob in knobs.items():
        # A slip in a knob is found before the first trial.
        evaluate.check({name: knob[0]})
    start = {n: _within(knobs[n], tunables.get(n, ("", ""))[0]) for n in knobs}
    if storage is None:
        folder = Path("out/tune" if out is None else out)
        folder.mkdir(parents=True, exist_ok=True)
        storage = f"sqlite:///{folder / 'study.db'}"
    study = optuna.create_study(
        storage=storage,
        study_name=f"{label[0]} {label[2]} {label[1]} {','.join(names)}",
        directions=["minimize"] * len(names),
        sampler=_sampler(optuna, sampler_seed),
        load_if_exists=True,
    )
    if not study.trials and all(v is not None for v in start.values()):
        study.enqueue_trial(start)
    baseline = _choice({}, own[0], own[1], names)
    best, since = _front(study), 0
    with shown(progress, "points") as show:
        while (done := sum(t.state.is_finished() for t in study.trials)) < budget:
            show(done, budget, {})
            # The sampler's state is not stored. Its seed follows from the number of the point, so that a search that
            # was interrupted goes the way that it would have gone.
            study.sampler = _sampler(optuna, sampler_seed + done)
            trial = study.ask()
            values, errors, why = _try(evaluate, trial, knobs, best if prune else [])
            if why:
                trial.set_user_attr("why", why)
            if values is not None:
                trial.set_user_attr("errors", errors)
                study.tell(trial, values)
            elif why == GIVEN_UP:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            front = _front(study)
            since = 0 if front != best else since + 1
            best = front
            if patience is not None and since >= patience:
                break
    return Tuning(study, names, label[0], label[2], label[1], baseline, tunables)


def _optuna() -> Any:
    """Import Optuna, without the remark of its progress bars in notebooks, which are not shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")
        return need("optuna", "tune")


def _sampler(optuna: Any, seed: int) -> Any:
    return optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=10)


def _front(study: Any) -> list[Any]:
    return sorted({tuple(t.values) for t in study.best_trials})


def _within(knob: Knob, value: str) -> Any:
    """Return the kernel's own value of a knob if the search can have it, else ``None``."""
    if isinstance(knob, list):
        return next((k for k in knob if str(k) == value), None)
    return int(value) if value.lstrip("-").isdigit() and knob[0] <= int(value) <= knob[1] else None


def _try(
    evaluate: _Evaluate, trial: Any, knobs: Mapping[str, Knob], front: list[tuple[float, ...]]
) -> tuple[list[float] | None, list[float], str]:
    """Return means and errors of the objectives, or ``None`` and why there are none."""
    settings = {}
    for name, knob in knobs.items():
        if isinstance(knob, list):
            settings[name] = trial.suggest_categorical(name, knob)
        else:
            settings[name] = trial.suggest_int(name, knob[0], knob[1], log=knob[0] > 0)
    try:
        found = evaluate(settings, front)
    except LabError as e:
        return None, [], e.message
    return (None, [], GIVEN_UP) if found is None else (*found[0], "")


def clearly_worse(values: Sequence[float], other: Sequence[float]) -> bool:
    """Whether ``other`` is as good in every objective, and better by ``CLEARLY_WORSE`` in one."""
    pairs = list(zip(values, other, strict=True))
    # Values below 0 are those of objectives that are to be large.
    by_far = any(v > CLEARLY_WORSE * o if v > 0 else v * CLEARLY_WORSE > o for v, o in pairs)
    return by_far and all(v >= o for v, o in pairs)


class _Evaluate:
    """Runs the plans of a point, and returns means and standard errors of the objectives."""

    def __init__(
        self, plans: Callable[[Mapping[str, Any]], list[Any]], names: tuple[str, ...], jobs: int | None
    ):
        self.plans, self.names, self.jobs = plans, names, jobs

    def check(self, settings: Mapping[str, Any]) -> None:
        """Raise ``SpecError`` if settings are wrong."""
        self.plans(settings)

    def __call__(
        self, settings: Mapping[str, Any], front: Sequence[Sequence[float]] = ()
    ) -> tuple[Any, dict[str, tuple[str, str]], tuple[str, str, str]] | None:
        """Return means and errors, the effective tunables, and the names of machine, kernel and workload.

        ``None`` if the first seed is clearly worse than a point of ``front``; the other seeds are then not run.
        """
        plans = self.plans(settings)
        outcomes = self._outcomes(plans[:1] if front else plans)
        if front:
            first = [self._figure(outcomes[0], name) for name in self.names]
            if any(clearly_worse(first, other) for other in front):
                return None
            outcomes += self._outcomes(plans[1:])
        columns = [[self._figure(o, name) for o in outcomes] for name in self.names]
        means = [statistics.fmean(c) for c in columns]
        errors = [statistics.stdev(c) / len(c) ** 0.5 if len(c) > 1 else 0.0 for c in columns]
        tunables = {name: (value, kernel) for name, value, _, kernel in outcomes[0].tunables}
        return (means, errors), tunables, (plans[0].machine, plans[0].kernel, plans[0].workload)

    def _outcomes(self, plans: Sequence[_native.Plan]) -> list[_native.Outcome]:
        """Run plans; raise ``LabError`` if one does not complete."""
        outcomes = run_plans(plans, jobs=self.jobs)
        bad = next((o for o in outcomes if o.status != "completed"), None)
        if bad is not None:
            raise LabError(1, f"a run did not complete: {bad.reason or bad.status}")
        return outcomes

    @staticmethod
    def _figure(outcome: Any, name: str) -> float:
        sign, plain = (-1.0, name[1:]) if name.startswith("-") else (1.0, name)
        figures = {**outcome.counters, **outcome.scalars}
        if plain not in figures:
            known = ", ".join(outcome.scalars)
            text = f"objective: no figure `{plain}`; expected one of {known}, or a counter"
            raise SpecError(text, file="objective", what=f"no figure `{plain}`", expected=f"one of {known}")
        return sign * float(figures[plain])


def _evaluator(
    catalog: Catalog,
    machine: Thing,
    kernel: Thing,
    workload: Thing,
    params: Mapping[str, object] | None,
    seeds: Sequence[int],
    names: tuple[str, ...],
    jobs: int | None,
) -> _Evaluate:
    def plans(settings: Mapping[str, Any]) -> list[Any]:
        return [
            plan
            for seed in seeds
            for plan in catalog.request(
                machine, kernel, workload, params=params, settings=settings, seed=seed, files=False
            ).plans
        ]

    return _Evaluate(plans, names, jobs)
