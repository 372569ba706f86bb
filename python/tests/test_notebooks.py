"""Notebooks of the manual are stored as they were run, in plain sentences; `scripts/python-tests.sh` runs them."""

import ast
import importlib.util
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_docs import MOST_WORDS, sentences
from test_links import LINK

import numalab as nl

FOLDER = Path(__file__).parents[2] / "docs/notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(book: Path, kind: str) -> list[dict[str, Any]]:
    return [c for c in json.loads(book.read_text())["cells"] if c["cell_type"] == kind]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_there_are_notebooks() -> None:
    assert len(BOOKS) == 4


@pytest.mark.parametrize("book", BOOKS, ids=lambda p: p.stem)
def test_outputs_are_those_of_one_run(book: Path) -> None:
    code = cells(book, "code")
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1))
    outputs = [o for c in code for o in c["outputs"]]
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]
    for cell in code:
        shows = "print(" in source(cell) or isinstance(ast.parse(source(cell)).body[-1], ast.Expr)
        assert bool(cell["outputs"]) == shows, source(cell)
    assert book.stat().st_size < 500_000


@pytest.mark.parametrize("book", BOOKS, ids=lambda p: p.stem)
def test_short_forms_change_what_the_cell_sets(book: Path) -> None:
    # The notebook of the sweep reads its dataset, and needs no short form.
    found = [c for c in cells(book, "code") if "nbmake" in c["metadata"]]
    assert len(found) == (book.stem != "where-balancing-pays")
    for cell in found:
        names: dict[str, Any] = {}
        exec(source(cell), names)
        for name, value in cell["metadata"]["nbmake"]["mock"].items():
            assert name in names and names[name] != value, name


@pytest.mark.parametrize("book", BOOKS, ids=lambda p: p.stem)
def test_text_is_plain_and_its_links_have_targets(book: Path) -> None:
    texts = [source(c) for c in cells(book, "markdown")]
    assert texts[0].startswith("# ")
    assert [s for text in texts for s in sentences(text) if len(s.split()) > MOST_WORDS] == []
    links = [link.partition("#")[0] for text in texts for link in LINK.findall(text)]
    assert [link for link in links if "://" not in link and not (FOLDER / link).is_file()] == []


def sweep_script() -> Any:
    spec = importlib.util.spec_from_file_location("where_balancing_pays", FOLDER / "where-balancing-pays.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_dataset_is_that_of_its_script(tmp_path: Path) -> None:
    script = sweep_script()
    rows = pl.read_parquet(FOLDER / "where-balancing-pays.parquet")
    plans = sum(map(len, script.grids()))
    assert rows.height == plans >= 5000
    assert f"{plans:,} plans on {len(script.machines())} machines" in script.__doc__
    text = source(cells(FOLDER / "where-balancing-pays.ipynb", "markdown")[0])
    assert f"{len(script.machines())} machines" in text and f"{plans:,} plans" in text
    assert (FOLDER / "where-balancing-pays.parquet").stat().st_size < 300_000
    # A machine again gives such rows, of the same plans.
    done = [nl.sweep(g, out=tmp_path / g.name, workers=1, progress=False) for g in script.grids(1)]
    again = script.reduced(done)
    assert again.schema == rows.schema
    axes = ["workload", "nodes", "cores", "remote", "gbps", "loops", "kernel"]
    both = again.join(rows, on=axes, how="inner", nulls_equal=True)
    assert both.height == again.height == plans // len(script.machines())
