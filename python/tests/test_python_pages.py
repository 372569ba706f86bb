"""The Python that pages of the manual show runs from an empty folder, and shows what it is meant to."""

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy
import pytest

import numalab as nl

ROOT = Path(__file__).parents[2]
# Pages whose Python cannot run here, and why.
ELSEWHERE = {
    "docs/how-to/record-accesses.md": "it records a program of the reader's",
    "docs/reference/python-api.md": "it shows signatures",
}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No page draws on the figure of another one."""
    plt.close("all")
    yield
    plt.close("all")


def blocks(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def carried_out(page: str) -> tuple[dict[str, Any], str]:
    """Run a page, and return its names and what it printed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for block in blocks(page):
            exec(compile(block, page, "exec"), names)
    return names, said.getvalue()


def clear(comparison: nl.Comparison, winner: str) -> None:
    """Assert that the answer of a comparison is a decision for `winner`, and not that it cannot tell."""
    assert re.match(rf"(Take|Keep) {re.escape(winner)}: ", comparison.answer), comparison.answer


def is_drawn(figure: Any) -> bool:
    """Whether a figure has many pixels with a colour, which text and axes are without."""
    figure.canvas.draw()
    pixels = numpy.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    return bool((pixels.max(axis=-1) - pixels.min(axis=-1) > 60).sum() > 500)


def readme(names: dict[str, Any], said: str) -> None:
    clear(names["cmp"], "6.12")
    assert said.strip() == names["cmp"].answer
    nodes = names["pages"].drop("time_ns")
    assert nodes.width == 4
    first, last = nodes.row(1), nodes.row(-1)
    assert max(first) > 0.9 * sum(first) and max(last) < 0.5 * sum(last), "memory spreads over the nodes"


def tutorial(names: dict[str, Any], said: str) -> None:
    clear(names["cmp"], "6.12")
    clear(names["both"], "eager")
    assert names["run"].counters["numa_pages_migrated"] > 100_000
    for name in ("elapsed.png", "memory.png"):
        figure = plt.figure(figsize=(7, 4))
        figure.figimage(plt.imread(name))
        assert is_drawn(figure), name
    assert_shown("docs/tutorials/python.md", said)


def policies(names: dict[str, Any], said: str) -> None:
    clear(names["both"], "6.4-rc2")
    kernel, policy = (run.counters["numa_pte_updates"] for run in names["both"].runs[::3])
    assert policy > 2 * kernel > 0
    moved = [run.reasons["placed.move"] + run.reasons["placed.swap"] for run in names["stay"].runs]
    assert moved[0] > 0 == moved[1]
    assert_shown("docs/how-to/policies-in-python.md", said)


def reproduction(names: dict[str, Any], said: str) -> None:
    table, cells = names["table"], names["cells"]
    assert (cells["verdict"] == "near").sum() == table.score["within_1_25"] == 2
    assert said.count("near") == 2 and "baseline" in said


def sweeps(names: dict[str, Any], said: str) -> None:
    frame = names["sweep"].frame()
    assert set(frame["status"]) == {"completed"}
    mean = frame.groupby(["machine", "set.scan.scan_size_mb"], observed=True)["elapsed_s"].mean()
    assert max(mean["2x1x4x1"]) < 1.1 * min(mean["2x1x4x1"]), "two nodes hardly care"
    assert mean["8x1x2x1"][1024] < 0.7 * mean["8x1x2x1"][64], "eight nodes want a large window"
    assert is_drawn(plt.gcf())


def tuning(names: dict[str, Any], said: str) -> None:
    found, fastest = names["found"], names["fastest"]
    gain, error = found.gain(choice=fastest)
    assert gain > 15 and gain > 10 * error, "a quarter faster"
    assert fastest.values["system_s"] > found.baseline.values["system_s"], "and it costs system time"
    assert fastest.settings["scan.scan_delay_ms"] < 500
    assert "#!/bin/sh" in said and is_drawn(plt.gcf())


def assert_shown(page: str, said: str) -> None:
    """Assert that a page shows what its Python prints, in the blocks after it."""
    text = (ROOT / page).read_text()
    shown = re.findall(r"^```python\n(?:(?!^```).)*?^```\n\n```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert shown
    assert "".join(shown) == said


MEANT: dict[str, Callable[[dict[str, Any], str], None]] = {
    "README.md": readme,
    "docs/how-to/policies-in-python.md": policies,
    "docs/how-to/reproduce-in-python.md": reproduction,
    "docs/how-to/sweep.md": sweeps,
    "docs/how-to/tune.md": tuning,
    "docs/tutorials/python.md": tutorial,
}


def test_every_page_with_python_is_carried_out() -> None:
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    found = {str(page.relative_to(ROOT)) for page in pages if "```python\n" in page.read_text()}
    assert found == MEANT.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("page", MEANT)
def test_python_shows_what_it_is_meant_to(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    MEANT[page](*carried_out(page))
