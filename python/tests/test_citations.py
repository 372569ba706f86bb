"""Comments, tests and the catalog cite pages of docs/reference/model: what they name must be there."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "docs/reference/model"
PAGES = sorted(p.name for p in MODEL.glob("*.md"))

NAME = re.compile(rf"(?<![\w/-])({'|'.join(map(re.escape, PAGES))})")
NUMBER = r"(?:\d+(?:\.\d+)*|M\d\b)(?![\w%])"
LIST = rf"{NUMBER}(?:(?:,? and |, | to |–|-)§?{NUMBER})*"
# "machines.md sections 4 and 5", "kernel-scheduler.md §3.1, §3.5", "designs-2012.md 8.3".
SECTIONS = re.compile(rf"{NAME.pattern},? (?:§|sections? )?({LIST})")
LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
ALONE = re.compile(rf"(§|\b[Ss]ections? )({LIST})")
# "§14.2 step 5", "section 5 step 14", "§9.1 steps 6 to 8".
STEPS = re.compile(rf"(?:§|section )({NUMBER}),? steps? (\d+)(?: (?:to|and) (\d+))?")
# "vectors 14 and 15", "Vector E4", "(C1 to C7)".
VECTOR = r"[A-Z]?\d{1,2}(?![\w%.])"
VECTORS = re.compile(rf"(?:\b[Vv]ectors? |§[\d.]+ \()({VECTOR}(?:(?:,? and |, | to |–){VECTOR})*)")
# The tests of these name vectors in their functions, as `v12_…` or `vector_12_…`.
NAMED = re.compile(r"\bfn v(?:ector_)?0?(\d+)(?:_(?:to|and)_v(\d+))?_")


def files() -> list[Path]:
    """All files that may cite a page."""
    rust = [f for f in ROOT.glob("crates/**/*.rs") if "target" not in f.parts]
    rest = [*ROOT.glob("catalog/**/*.toml"), *ROOT.glob("crates/**/*.tsv"), *MODEL.glob("*.md")]
    return sorted([*rust, *rest, ROOT / "ARCHITECTURE.md"])


@cache
def prose(file: Path) -> str:
    """What a file says, as one line: the comments of Rust, all of other files."""
    text = file.read_text()
    if file.suffix == ".rs":
        text = "\n".join(re.findall(r"//[^\n]*|\"[^\"\n]*\.md[^\"\n]*\"", text))
    return re.sub(r"\s*\n\s*(?://[/!]?|#)?\s*", " ", text)


@cache
def sections(page: str) -> frozenset[str]:
    """The numbers of a page's headings."""
    headings = re.findall(rf"^#+ ({NUMBER})", (MODEL / page).read_text(), re.MULTILINE)
    assert len(headings) == len(set(headings)), f"{page} has a number twice"
    return frozenset(headings)


@cache
def steps(page: str, section: str) -> frozenset[str]:
    """The numbers of the list in a section of a page."""
    parts = re.split(r"^#+ ", (MODEL / page).read_text(), flags=re.MULTILINE)
    found = (part for part in parts if re.match(rf"{re.escape(section)}\.? ", part))
    return frozenset(n for part in found for n in re.findall(r"^(\d+)\. ", part, re.MULTILINE))


@cache
def vectors(page: str) -> frozenset[str]:
    """The numbers of a page's vectors: the first cells of tables whose first column is `#`."""
    tables = re.findall(r"^\| # \|.*\n((?:\|.*\n)+)", (MODEL / page).read_text(), re.MULTILINE)
    return frozenset(re.findall(rf"^\| ({VECTOR}) \|", "".join(tables), re.MULTILINE))


@cache
def cited(file: Path) -> list[str]:
    """The pages that a file and the modules above it cite. A page itself is its own."""
    if file.parent == MODEL:
        return [file.name]
    above = [
        f / name for f in file.parents if f.is_relative_to(ROOT) for name in ("mod.rs", "main.rs", "lib.rs")
    ]
    near = [file, *(module for module in above if module.is_file())]
    return sorted({page for f in near for page in NAME.findall(prose(f))})


def expanded(numbers: str) -> Iterator[str]:
    """The numbers of a list; "L1 to L13" and "14–17" stand for all between."""
    for part in re.split(r",? and |, ", numbers):
        first, *last = re.split(r" to |–", part)
        letter = first[0] if first[0].isalpha() else ""
        low, high = (int(text.removeprefix(letter)) for text in (first, (last or [first])[0]))
        yield from (f"{letter}{number}" for number in range(low, high + 1))


def test_pages_are_there() -> None:
    assert len(PAGES) == 7
    assert sum(bool(NAME.search(prose(f))) for f in files()) > 250


@pytest.mark.parametrize("page", PAGES)
def test_cited_sections_are_on_the_page(page: str) -> None:
    missing = []
    for file in files():
        for name, numbers in SECTIONS.findall(prose(file)):
            wanted = set(re.findall(NUMBER, numbers)) if name == page else set()
            missing += [f"{file.relative_to(ROOT)}: §{n}" for n in sorted(wanted - sections(page))]
    assert missing == []


def test_sections_without_a_page_are_of_one_that_is_cited_near() -> None:
    seen, missing = 0, []
    for file in files():
        for mark, numbers in ALONE.findall(LINK.sub("", prose(file))):
            # Without any page near, a word may speak of another document.
            for number in re.findall(NUMBER, numbers) if mark == "§" or cited(file) else []:
                seen += 1
                if not any(number in sections(page) for page in cited(file)):
                    missing.append(f"{file.relative_to(ROOT)}: §{number}, of {cited(file)}")
    assert seen > 450
    assert missing == []


def test_cited_steps_are_in_the_section() -> None:
    seen, missing = 0, []
    for file in files():
        for section, first, last in STEPS.findall(prose(file)):
            for step in {first, last or first}:
                seen += 1
                if not any(step in steps(page, section) for page in cited(file)):
                    missing.append(f"{file.relative_to(ROOT)}: §{section} step {step}")
    assert seen > 15
    assert missing == []


def test_cited_vectors_are_on_a_page_that_is_cited_near() -> None:
    seen, missing = 0, []
    for file in files():
        known = {v for page in cited(file) for v in vectors(page)}
        for numbers in VECTORS.findall(prose(file)):
            for vector in expanded(numbers):
                seen += 1
                if vector not in known:
                    missing.append(f"{file.relative_to(ROOT)}: vector {vector}, of {cited(file)}")
    assert seen > 150
    assert missing == []


def test_vectors_that_tests_are_named_after_are_on_a_page() -> None:
    seen, missing = 0, []
    for file in files():
        known = {re.sub(r"^V", "", v) for page in cited(file) for v in vectors(page)}
        for first, last in NAMED.findall(file.read_text()) if file.suffix == ".rs" else []:
            for number in range(int(first), int(last or first) + 1):
                seen += 1
                if str(number) not in known:
                    missing.append(f"{file.relative_to(ROOT)}: v{number}, of {cited(file)}")
    assert seen > 120
    assert missing == []


def test_the_page_has_the_rows_that_the_test_of_percents_reads() -> None:
    page = (MODEL / "mmtests-report.md").read_text()
    lines = (ROOT / "crates/stats/tests/vectors-4.2.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len(rows) == 78
    cells = [" | ".join([*row[:10], {"*": "yes"}.get(row[10], "-")]) for row in rows]
    assert [row for row in cells if f"| {row} |" not in page] == []
