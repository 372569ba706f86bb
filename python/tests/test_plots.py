"""Plots show the figures of runs, and can be read on light and dark pages."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import numalab as nl
from numalab.plots import COLOURS, INK

# The grounds of the documentation site, which are those of most notebooks.
GROUNDS = ("#ffffff", "#1e2129")


@pytest.fixture(scope="module")
def comparison() -> nl.Comparison:
    return nl.run("4x1x2x1", ["off", "6.12"], "numa02", params={"loops": 100}, iterations=2, progress=False)


def luminance(colour: Any) -> float:
    """Relative luminance by WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: Any, ground: Any) -> float:
    """Ratio of contrast by WCAG 2."""
    dark, light = sorted([luminance(colour), luminance(ground)])
    return (light + 0.05) / (dark + 0.05)


def check(figure: Any) -> Any:
    """Hold a figure against both grounds, draw it, and return its first axes."""
    assert figure.patch.get_alpha() == 0, "the page's ground shows"
    texts = [t for t in figure.findobj(Text) if t.get_text()]
    assert len(texts) >= 4
    assert min(contrast(t.get_color(), ground) for t in texts for ground in GROUNDS) >= 3
    data, size = figure._repr_png_()
    assert data.startswith(b"\x89PNG") and struct.unpack(">II", data[16:24]) == (
        2 * size["width"],
        2 * size["height"],
    )
    return figure.axes[0]


def test_colours_stand_out_on_light_and_dark() -> None:
    assert min(contrast(INK, ground) for ground in GROUNDS) >= 3
    assert min(contrast(colour, ground) for colour in COLOURS for ground in GROUNDS) >= 2
    assert len(set(COLOURS)) == len(COLOURS) >= 8


def drawn(file: Path) -> int:
    """How many colours of plots a picture has: 0 if it is blank."""
    pixels = plt.imread(file)
    shown = [numpy.abs(pixels[..., :3] - to_rgb(colour)).max(axis=-1) < 0.02 for colour in COLOURS]
    return sum(int((there & (pixels[..., 3] > 0.9)).sum() > 100) for there in shown)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No test draws on the figure of another one."""
    plt.close("all")
    yield
    plt.close("all")


def test_pyplot_saves_what_was_plotted_last(comparison: nl.Comparison, tmp_path: Path) -> None:
    file = tmp_path / "plot.png"
    plt.figure()
    plt.savefig(file)
    assert drawn(file) == 0, "an empty figure is blank"
    plt.close("all")
    run = comparison.runs[-1]
    for plot in (comparison.plot, run.plot_memory, run.plot_moves):
        before = len(plt.get_fignums())
        figure = plot()
        assert figure is plt.gcf() and len(plt.get_fignums()) == before + 1, "a figure of its own"
        plt.savefig(file)
        assert drawn(file) >= 2


def test_plots_go_where_they_are_asked_to(comparison: nl.Comparison, tmp_path: Path) -> None:
    # An empty figure of a size that the user chose, then its panels in turn.
    chosen = plt.figure(figsize=(3, 2))
    assert comparison.plot() is chosen and len(plt.get_fignums()) == 1
    both = plt.figure(figsize=(9, 3), layout="constrained")
    for panel, plot in ((1, comparison.plot), (2, comparison.runs[-1].plot_memory)):
        plt.subplot(1, 2, panel)
        assert plot() is both
    assert [bool(ax.has_data()) for ax in both.axes] == [True, True]
    # Axes that are named are drawn on, although another figure is the current one.
    given, ax = plt.subplots()
    plt.figure()
    assert comparison.plot(ax=ax) is given and len(ax.patches) == 2
    both.savefig(tmp_path / "both.png")
    assert drawn(tmp_path / "both.png") >= 3


def test_a_notebook_shows_a_plot_once(comparison: nl.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython.display

    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(IPython.display, "display", lambda data, **_: shown.append(data))
    figure: Any = comparison.plot()
    figure._ipython_display_()
    assert shown[0]["image/png"].startswith(b"\x89PNG")
    assert plt.get_fignums() == [], "nothing is left for the end of the cell"


def test_bars_of_a_comparison(comparison: nl.Comparison) -> None:
    ax = check(comparison.plot("elapsed"))
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == [row["mean"] for row in comparison.metric("elapsed")]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["off", "6.12"]
    with pytest.raises(KeyError, match="no metric `elapsd`; expected one of elapsed"):
        comparison.plot("elapsd")


def test_memory_over_time(comparison: nl.Comparison) -> None:
    run = comparison.runs[-1]
    figure = run.plot_memory()
    ax = check(figure)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"node{n}" for n in (3, 2, 1, 0)]
    # The upper edge of the uppermost area is all memory.
    top = max(y for _, y in ax.collections[-1].get_paths()[0].vertices)
    pages = run.series("process_pages").to_polars().drop("time_ns").sum_horizontal().max()
    assert top == pytest.approx(float(str(pages)) * 4096 / 2**30) and top > 1


def test_memory_that_processes_share_is_drawn_once() -> None:
    params = {"duration": "50ms", "elements": "1000000"}
    run = nl.run("2x1x2x1", "6.12", "cow-shared", params=params, progress=False).runs[0]
    assert {"workload_pages", "process_pages"} <= set(run.series_names)
    ax = check(run.plot_memory())
    top = max(y for _, y in ax.collections[-1].get_paths()[0].vertices)
    pages = run.series("workload_pages").to_polars().drop("time_ns").sum_horizontal().max()
    assert top == pytest.approx(float(str(pages)) * 4096 / 2**30)


def test_a_heatmap_of_page_moves(comparison: nl.Comparison) -> None:
    run = comparison.runs[-1]
    ax = check(run.plot_moves())
    shown = ax.images[0].get_array()
    series = run.series("page_node").to_polars().drop("time_ns")
    assert shown.shape == (series.width, series.height)
    assert len(set(shown[:, -1].compressed())) > 1, "in the end several nodes have memory"
    first, last = shown[:, 0], shown[:, -1]
    assert first.mask.any() and not last.mask.any(), "memory that is not there has no colour"
    assert len(set(first.compressed())) == 1, "one thread fills the buffer"


def test_lines_of_a_sweep(tmp_path: Path) -> None:
    grid = nl.Grid("2x1x2x1", ["off", "6.12"], "numa02", params={"loops": [2, 3]}, seeds=2)
    sweep = nl.sweep(grid, out=tmp_path, workers=1, progress=False)
    ax = check(sweep.plot("param.loops", "elapsed_s", hue="kernel"))
    frame = sweep.frame()
    for line, kernel in zip(ax.lines, ["off", "6.12"], strict=True):
        means = frame[frame["kernel"] == kernel].groupby("param.loops")["elapsed_s"].mean()
        assert list(line.get_xdata()) == [2, 3] and list(line.get_ydata()) == list(means)
    with pytest.raises(KeyError, match="no column `loops`; expected one of point"):
        sweep.plot("loops")
