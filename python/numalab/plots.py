"""Plots with matplotlib, readable on light and dark pages. They are figures of pyplot, as those of pandas are."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

from numalab.errors import need, unknown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numalab.comparison import Comparison
    from numalab.simulate import Run

# Okabe and Ito's colours, which colour-blind readers can tell apart. A dark page hides their black, and a light page
# their yellow, so two of Paul Tol's stand for these.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933", "#AA4499")
# Text and axes: a grey with enough contrast on white and on black.
INK = "#808080"


# Points per inch of pictures in notebooks: twice what they are shown at.
DPI = 200


@cache
def _picture() -> type[Figure]:
    """Return the class of figures: one that a notebook shows once, although pyplot has it too."""
    base = need("matplotlib.figure", "plots").Figure

    class Picture(base):  # type: ignore[misc, valid-type]
        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            data = BytesIO()
            self.savefig(data, format="png", dpi=DPI)
            width, height = self.get_size_inches() * 100
            return data.getvalue(), {"width": round(width), "height": round(height)}

        def _ipython_display_(self) -> None:
            data, size = self._repr_png_()
            # A notebook shows the figures of pyplot at the end of a cell, and this one is shown now.
            need("matplotlib.pyplot", "plots").close(self)
            need("IPython.display", "plots").display(
                {"image/png": data, "text/plain": repr(self)}, metadata={"image/png": size}, raw=True
            )

    return Picture


def _free(pyplot: Any) -> Axes | None:
    """Return the current axes of pyplot if they wait for a plot, those of an empty figure included."""
    if not pyplot.get_fignums():
        return None
    figure = pyplot.gcf()
    if figure.axes and figure.gca().has_data():
        return None
    ax: Axes = figure.gca()
    return ax


def axes(ax: Axes | None = None, width: float = 7, height: float = 4) -> tuple[Figure, Axes]:
    """Return axes in a grey that light and dark pages both show, and their figure.

    They are ``ax``, or the current axes of pyplot if these are empty, or those of a new figure of pyplot with a
    transparent ground. So ``plt.savefig`` and ``plt.show`` after a plot mean that plot, as with pandas.
    """
    pyplot = need("matplotlib.pyplot", "plots")
    ax = ax or _free(pyplot)
    if ax is None:
        figure = pyplot.figure(FigureClass=_picture(), figsize=(width, height), layout="constrained")
        figure.patch.set_alpha(0)
        new: Axes = figure.add_subplot()
        ax = new
    ax.patch.set_alpha(0)
    ax.tick_params(colors=INK, which="both")
    for spine in ax.spines.values():
        spine.set_color(INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_prop_cycle(color=COLOURS)
    ax.grid(alpha=0.25, color=INK)
    ax.set_axisbelow(True)
    whole: Any = ax.get_figure(root=True)
    return whole, ax


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


def bars(comparison: Comparison, metric: str, onto: Axes | None = None) -> Figure:
    """Draw one metric of a comparison: a group per workload, a bar per kernel. Raises ``UnknownName``."""
    found = comparison.metric(metric)
    workloads = list(dict.fromkeys(row["workload"] for row in found))
    kernels = list(dict.fromkeys(row["kernel"] for row in found))
    figure, ax = axes(onto)
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


def _pages(run: Run) -> tuple[Any, dict[str, Any]]:
    """Return the times of samples, s, and the pages on each node at these times."""
    # Of several processes, the first of these counts what they share once.
    name = next(n for n in ("workload_pages", "process_pages") if n in run.series_names)
    table = run.series(name).to_arrow()
    nodes: dict[str, Any] = {}
    for column in table.column_names[1:]:
        node, values = column.rsplit("/", 1)[-1], table.column(column).to_numpy()
        nodes[node] = nodes[node] + values if node in nodes else values
    return table.column("time_ns").to_numpy() / 1e9, nodes


def memory(run: Run, onto: Axes | None = None) -> Figure:
    """Draw where the pages are over time: an area per node, GiB."""
    time_s, nodes = _pages(run)
    figure, ax = axes(onto)
    gib = [v * 4096 / 2**30 for v in nodes.values()]
    ax.stackplot(time_s, gib, labels=list(nodes), colors=COLOURS)
    named(ax, "time (s)", "memory (GiB)", f"{run.workload} on {run.machine}, {run.kernel}")
    # Beside the areas, which leave no room. The uppermost area comes first.
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), reverse=True, framealpha=0, labelcolor=INK)
    return figure


def moves(run: Run, onto: Axes | None = None) -> Figure:
    """Draw page moves as a heatmap: on which node each stretch of memory is over time.

    A row is a stretch, in the order of addresses; a column is a sample. Memory that is not there has no colour.
    """
    numpy, colours = need("numpy", "plots"), need("matplotlib.colors", "plots")
    table = run.series("page_node").to_arrow()
    time_s = table.column("time_ns").to_numpy() / 1e9
    place = numpy.array([table.column(name).to_numpy() for name in table.column_names[1:]])
    nodes = int(place.max()) + 1 if place.size else 1
    figure, ax = axes(onto)
    palette = colours.ListedColormap([COLOURS[n % len(COLOURS)] for n in range(nodes)])
    image = ax.imshow(
        numpy.ma.masked_less(place, 0),
        aspect="auto",
        interpolation="nearest",
        cmap=palette,
        vmin=-0.5,
        vmax=nodes - 0.5,
        extent=(float(time_s[0]), float(time_s[-1]), len(place), 0),
    )
    ax.grid(False)
    # The first stretch of each region is named.
    regions = [name.rsplit("+", 1)[0] for name in table.column_names[1:]]
    first = [i for i, name in enumerate(regions) if i == 0 or regions[i - 1] != name]
    if len(first) <= 12:
        ax.set_yticks(first, [regions[i] for i in first])
    bar = figure.colorbar(image, ax=ax, ticks=range(nodes), label="node")
    bar.ax.yaxis.label.set_color(INK)
    bar.ax.tick_params(colors=INK)
    bar.outline.set_edgecolor(INK)
    named(
        ax, "time (s)", "memory" if len(first) > 12 else "", f"{run.workload} on {run.machine}, {run.kernel}"
    )
    return figure


def lines(frame: pd.DataFrame, x: str, y: str, hue: str | None = None, onto: Axes | None = None) -> Figure:
    """Draw a figure of a sweep against an axis: the mean, and a band from least to largest."""
    for name in (x, y, *([hue] if hue else [])):
        if name not in frame.columns:
            raise unknown("column", name, map(str, frame.columns))
    done: Any = frame[frame["status"] == "completed"]
    figure, ax = axes(onto)
    groups = [("", done)] if hue is None else list(done.groupby(hue, observed=True, sort=False))
    for label, group in groups:
        by = group.groupby(x, observed=True)[y].agg(["mean", "min", "max"])
        at = by.index if by.index.dtype.kind in "iuf" else by.index.astype(str)
        (line,) = ax.plot(at, by["mean"], marker="o", markersize=4, label=str(label))
        ax.fill_between(at, by["min"], by["max"], alpha=0.2, color=line.get_color(), linewidth=0)
    named(ax, x, y)
    if hue is not None:
        key(ax, hue)
    return figure
