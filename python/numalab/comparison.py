"""A comparison of kernels, as the command computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numalab.errors import need, unknown
from numalab.table import table_html

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numalab.simulate import Run


class Comparison(dict[str, Any]):
    """A comparison as the command's JSON (``docs/reference/json.md``, compare), and how it ended.

    ``code`` is 0 if every run completed, else the command's exit code: 1 or 4 to 12, for example 5 if a run
    reached its limit of time. ``message`` is what the command printed on standard error: which run did not
    complete, which kernels did different work, or which runs were removed from the comparison. ``code`` may
    be 0 with such a message. Without remarks it is empty. Each workload has its own remarks as ``notes``.
    Figures are those of completed runs. Incomplete runs are left out, so ``n`` is smaller; without completed
    runs ``n`` is 0 and the figures are ``None``.

    ``runs`` are the runs behind it if they were made in this process (``numalab.run``), else it is empty.
    """

    def __init__(
        self,
        value: Mapping[str, Any],
        code: int = 0,
        message: str = "",
        runs: Sequence[Run] = (),
    ) -> None:
        """Keep the exit code, the message and the runs beside the value."""
        super().__init__(value)
        self.code = code
        self.message = message
        self.runs = list(runs)

    @property
    def answer(self) -> str:
        """The answer in a sentence, as the command prints it; empty if there is nothing to decide."""
        return str((self.get("decision") or {}).get("answer", ""))

    def frame(self) -> pd.DataFrame:
        """Return one row per workload, metric and kernel; the columns are those of ``numalab.rows``."""
        frame: pd.DataFrame = need("pandas", "frames").DataFrame(rows(self))
        return frame

    def metric(self, name: str = "elapsed") -> list[dict[str, Any]]:
        """Return the rows of one metric. Raises ``UnknownName``, a ``KeyError``."""
        every = rows(self)
        found = [row for row in every if row["metric"] == name]
        if not found:
            raise unknown("metric", name, dict.fromkeys(row["metric"] for row in every))
        return found

    def plot(self, metric: str = "elapsed", *, ax: Axes | None = None) -> Figure:
        """Draw one metric as bars: a group per workload, a bar per kernel, whiskers from least to largest.

        It is drawn on ``ax``, or on pyplot's current axes if they are empty, or else on a new figure of pyplot.
        ``plt.savefig`` then saves it, and ``plt.show`` shows it.
        """
        from numalab.plots import bars

        return bars(self, metric, ax)

    def _repr_html_(self) -> str:
        """Return the answer and the times, for notebooks."""
        head = ["workload", "metric", "unit", *self["kernels"]]
        body = []
        for workload in self["workloads"]:
            for metric in workload["metrics"]:
                if metric["name"] in ("elapsed", "system") or metric["unit"] not in ("", "s", "pages"):
                    means = [metric["kernels"].get(k, {}).get("mean") for k in self["kernels"]]
                    body.append([workload["name"], metric["name"], metric["unit"], *means])
        return table_html(head, body[:40], self.answer)


def rows(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Flatten a comparison: one row per workload, metric and kernel, ready for ``pandas.DataFrame``.

    The columns are those of ``compare --style csv``: workload (without its machine), machine, metric, unit,
    better, kernel, n, mean, hmean, min, max, stddev, ratio, completed, timeout, failed. The last three count
    the kernel's runs by status; the figures are those of completed runs.
    """
    out: list[dict[str, Any]] = []
    for workload in comparison["workloads"]:
        for metric in workload["metrics"]:
            for kernel, figures in metric["kernels"].items():
                row = {"workload": workload["program"], "machine": workload["machine"]}
                row.update(metric=metric["name"], unit=metric["unit"], better=metric["better"], kernel=kernel)
                out.append({**row, **figures, **workload["runs"][kernel]})
    return out
