"""Plots with matplotlib, readable on light and dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numalab.errors import need

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numalab.comparison import Comparison
    from numalab.simulate import Run

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the black that a dark page hides.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
# Text and axes: a grey with enough contrast on white and on black.
INK = "#808080"


def axes(width: float = 7, height: float = 4) -> tuple[Figure, Axes]:
    """Return a figure with a transparent ground, and its axes in a grey that light and dark pages both show."""
    figure_class = need("matplotlib.figure", "plots").Figure
    figure = figure_class(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    ax = figure.add_subplot()
    ax.patch.set_alpha(0)
    ax.tick_params(colors=INK, which="both")
    for spine in ax.spines.values():
        spine.set_color(INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_prop_cycle(color=COLOURS)
    ax.grid(alpha=0.25, color=INK)
    ax.set_axisbelow(True)
    return figure, ax


def named(ax: Axes, x: str, y: str, title: str = "") -> None:
    """Name both axes and the plot."""
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    if title:
        ax.set_title(title, color=INK, loc="left", fontsize="medium")


def key(ax: Axes, title: str | None = None) -> None:
    """Add the key of the colours."""
    legend = ax.legend(title=title, framealpha=0, labelcolor=INK)
    legend.get_title().set_color(INK)


def bars(comparison: Comparison, metric: str) -> Figure:
    """Draw one metric of a comparison: a group per workload, a bar per kernel. Raises ``KeyError``."""
    found = comparison.metric(metric)
    if not found:
        names = dict.fromkeys(m["name"] for w in comparison["workloads"] for m in w["metrics"])
        raise KeyError(f"no metric `{metric}`; expected one of {', '.join(list(names)[:12])}, …")
    workloads = list(dict.fromkeys(row["workload"] for row in found))
    kernels = list(dict.fromkeys(row["kernel"] for row in found))
    figure, ax = axes()
    width = 0.8 / len(kernels)
    for k, kernel in enumerate(kernels):
        mine = {row["workload"]: row for row in found if row["kernel"] == kernel and row["mean"] is not None}
        at = [i + (k - (len(kernels) - 1) / 2) * width for i, w in enumerate(workloads) if w in mine]
        shown = [mine[w] for w in workloads if w in mine]
        low = [r["mean"] - r["min"] for r in shown]
        high = [r["max"] - r["mean"] for r in shown]
        ax.bar(at, [r["mean"] for r in shown], width * 0.92, yerr=[low, high], ecolor=INK, label=kernel)
    ax.set_xticks(range(len(workloads)), workloads)
    named(ax, "", f"{metric} ({found[0]['unit']})" if found[0]["unit"] else metric)
    key(ax)
    return figure


def _nodes(run: Run, series: str) -> tuple[Any, dict[str, Any]]:
    """Return the times of a series of pages, s, and the pages per node, summed over processes."""
    table = run.series(series).to_arrow()
    nodes: dict[str, Any] = {}
    for name in table.column_names[1:]:
        node = name.rsplit("/", 1)[-1]
        values = table.column(name).to_numpy()
        nodes[node] = nodes[node] + values if node in nodes else values
    return table.column("time_ns").to_numpy() / 1e9, nodes


def memory(run: Run, series: str = "page_node") -> Figure:
    """Draw where the pages are over time: an area per node, GiB."""
    time_s, nodes = _nodes(run, series)
    figure, ax = axes()
    gib = [v * 4096 / 2**30 for v in nodes.values()]
    ax.stackplot(time_s, gib, labels=list(nodes), colors=COLOURS)
    named(ax, "time (s)", "memory (GiB)", f"{run.workload} on {run.machine}, {run.kernel}")
    key(ax)
    return figure


def heatmap(run: Run, series: str = "page_node") -> Figure:
    """Draw page moves: how many pages came to or left each node between two samples."""
    numpy = need("numpy", "plots")
    time_s, nodes = _nodes(run, series)
    moves = numpy.array([numpy.diff(v) for v in nodes.values()])
    figure, ax = axes(7, 0.8 + 0.5 * len(nodes))
    most = max(1.0, float(numpy.abs(moves).max())) if moves.size else 1.0
    extent = (float(time_s[0]), float(time_s[-1]), len(nodes) - 0.5, -0.5)
    image = ax.imshow(moves, aspect="auto", cmap="PuOr", vmin=-most, vmax=most, extent=extent)
    ax.set_yticks(range(len(nodes)), list(nodes))
    ax.grid(False)
    bar = figure.colorbar(image, ax=ax)
    bar.set_label("pages gained", color=INK)
    bar.ax.tick_params(colors=INK)
    named(ax, "time (s)", "", f"{run.workload} on {run.machine}, {run.kernel}")
    return figure


def lines(frame: pd.DataFrame, x: str, y: str, hue: str | None = None) -> Figure:
    """Draw a figure of a sweep against an axis: the mean, and a band from least to largest."""
    for name in (x, y, *([hue] if hue else [])):
        if name not in frame.columns:
            raise KeyError(
                f"no column `{name}`; expected one of {', '.join(map(str, frame.columns[:20]))}, …"
            )
    frame = frame[frame["status"] == "completed"]
    figure, ax = axes()
    groups = [("", frame)] if hue is None else list(frame.groupby(hue, observed=True, sort=False))
    for label, group in groups:
        by = group.groupby(x, observed=True)[y].agg(["mean", "min", "max"])
        at = by.index if by.index.dtype.kind in "iuf" else by.index.astype(str)
        (line,) = ax.plot(at, by["mean"], marker="o", markersize=4, label=str(label))
        ax.fill_between(at, by["min"], by["max"], alpha=0.2, color=line.get_color(), linewidth=0)
    named(ax, x, y)
    if hue is not None:
        key(ax, hue)
    return figure
