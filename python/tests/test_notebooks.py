"""Notebooks of the manual are stored as they were run, in plain sentences; `scripts/python-tests.sh` runs them."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from test_docs import MOST_WORDS, sentences
from test_links import LINK

FOLDER = Path(__file__).parents[2] / "docs/notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(book: Path, kind: str) -> list[dict[str, Any]]:
    return [c for c in json.loads(book.read_text())["cells"] if c["cell_type"] == kind]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_there_are_notebooks() -> None:
    assert len(BOOKS) == 3


@pytest.mark.parametrize("book", BOOKS, ids=lambda p: p.stem)
def test_outputs_are_those_of_one_run(book: Path) -> None:
    code = cells(book, "code")
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1))
    outputs = [o for c in code for o in c["outputs"]]
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]
    for cell in code:
        shows = "print(" in source(cell) or isinstance(ast.parse(source(cell)).body[-1], ast.Expr)
        assert bool(cell["outputs"]) == shows, source(cell)
    assert book.stat().st_size < 300_000


@pytest.mark.parametrize("book", BOOKS, ids=lambda p: p.stem)
def test_short_forms_change_what_the_cell_sets(book: Path) -> None:
    found = [c for c in cells(book, "code") if "nbmake" in c["metadata"]]
    assert len(found) == 1
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
