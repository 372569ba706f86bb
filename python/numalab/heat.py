"""The heat map of a record of accesses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numalab.errors import need
from numalab.plots import INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numalab.table import Table

# What an address is rounded down to, and how many steps of time there are.
CHUNK_BYTES = 2 << 20
STEPS = 120
COUNTS = ("lines", "written", "beyond_private", "beyond_llc", "foreign")


def heat_map(table: Table, pid: int | None, threads: int, of: str, onto: Axes | None = None) -> Figure:
    """Draw a map (``AccessRecord.heat_map``)."""
    if of not in COUNTS:
        raise ValueError(f"of is {of!r}; expected one of {', '.join(COUNTS)}")
    frame: Any = table.to_pandas()
    by_pid: Any = frame.groupby("pid")["lines"].sum()
    if by_pid.empty:
        raise ValueError("the record has no accesses; expected a program that visits memory")
    if pid is None:
        pid = int(by_pid.idxmax())
    if pid not in by_pid.index:
        raise ValueError(f"no process {pid}; expected one of {', '.join(map(str, by_pid.index))}")
    frame = frame[frame["pid"] == pid]
    of_thread = frame.groupby("thread")["lines"].sum().sort_values(ascending=False)
    shown = sorted(int(t) for t in of_thread.index[: max(1, threads)])
    rows, names = _rows(frame)
    data = _data(frame[frame["thread"].isin(shown)], shown, rows, of)
    height = max(3.0, 0.5 + len(shown) * max(0.5, 0.05 * len(rows)))
    figure, ax = axes(onto, 8, min(height, 14))
    colours = need("matplotlib.colors", "plots")
    top = max(float(data.max()), 2.0)
    picture = ax.imshow(
        data,
        aspect="auto",
        interpolation="nearest",
        cmap="viridis",
        norm=colours.LogNorm(1, top),
        extent=(frame["begin"].min() / 1e6, frame["end"].max() / 1e6, len(shown) * len(rows), 0),
    )
    ax.grid(visible=False)
    for number in range(1, len(shown)):
        ax.axhline(number * len(rows), color=INK, linewidth=1)
    _label(ax, shown, len(rows), names)
    ax.set_xlabel("model time, million instructions", color=INK)
    ax.set_title(f"{frame['process'].iloc[0]}: {of} by thread, memory and time", color=INK, loc="left")
    bar = figure.colorbar(picture, ax=ax, label=f"{of} in 2 MiB")
    bar.ax.tick_params(colors=INK)
    bar.ax.yaxis.label.set_color(INK)
    return figure


def _rows(frame: Any) -> tuple[dict[tuple[str, int], int], list[tuple[float, str]]]:
    """Return the row of each 2 MiB of a mapping, in the order of addresses, and where each mapping is called what."""
    seen = frame.assign(chunk=frame["address"] // CHUNK_BYTES)
    # Mappings with little to see would only make the others smaller.
    of = seen.groupby(["mapping", "place"])["lines"].sum()
    kept = of[of >= 0.005 * of.sum()].index
    seen = seen[seen.set_index(["mapping", "place"]).index.isin(kept)]
    places = sorted(
        {(int(c), str(m), str(p)) for c, m, p in zip(seen.chunk, seen.mapping, seen.place, strict=True)}
    )
    rows = {(mapping, chunk): n for n, (chunk, mapping, _) in enumerate(places)}
    names: dict[str, list[int]] = {}
    for n, (_, mapping, place) in enumerate(places):
        names.setdefault(f"{mapping} ({place})" if place else mapping, []).append(n)
    return rows, [(sum(at) / len(at) + 0.5, name) for name, at in names.items()]


def _data(frame: Any, shown: list[int], rows: dict[tuple[str, int], int], of: str) -> Any:
    """Return the counts: a row for each thread and 2 MiB, a column for each step of time."""
    numpy = need("numpy", "plots")
    data = numpy.zeros((len(shown) * len(rows), STEPS))
    first, last = int(frame["begin"].min()), int(frame["end"].max())
    width = max(1, last - first)
    columns = ("thread", "mapping", "address", "begin", "end", of)
    for thread, mapping, address, begin, end, count in zip(*(frame[c] for c in columns), strict=True):
        row = rows.get((mapping, int(address) // CHUNK_BYTES))
        if row is None:
            continue
        low = min(STEPS - 1, (int(begin) - first) * STEPS // width)
        high = min(STEPS - 1, (int(end) - first) * STEPS // width)
        data[shown.index(int(thread)) * len(rows) + row, low : high + 1] += int(count) / (high - low + 1)
    return data


def _label(ax: Any, shown: list[int], rows: int, names: list[tuple[float, str]]) -> None:
    """Name the mappings of the first thread at the left, and the threads at the right."""
    ax.set_yticks(
        [at for at, _ in names], [name if len(name) <= 40 else name[:39] + "…" for _, name in names]
    )
    for number, thread in enumerate(shown):
        ax.text(
            0.99,
            number * rows + 0.3,
            f"thread {thread}",
            color=INK,
            ha="right",
            va="top",
            transform=ax.get_yaxis_transform(),
            fontsize="small",
        )
