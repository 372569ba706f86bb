"""The manual keeps its form: short sentences, a short README, every page in the navigation."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MANUAL = ("tutorials", "how-to", "reference", "explanation")
# Written from tables of the code.
GENERATED = {"counters.md", "fidelity.md"}
MOST_WORDS = 26


def paragraphs(text: str) -> Iterator[str]:
    """The prose of a page: paragraphs and items of lists, without code, tables and headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^[#|!].*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(\*|-|\d+\.) ", "\n", text, flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n", text):
        yield " ".join(part.split())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page. Code counts as one word, and a link as its text."""
    for part in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "x", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part))
        yield from re.split(r"(?<=[.:;!?])[\"*)]*\s+", plain)


def test_sentences_of_the_manual_are_short() -> None:
    pages = [p for f in MANUAL for p in (ROOT / "docs" / f).glob("*.md") if p.name not in GENERATED]
    assert len(pages) > 20
    pages += [ROOT / "README.md", ROOT / "docs" / "index.md"]
    long = [
        f"{page.relative_to(ROOT)}: {sentence}"
        for page in pages
        for sentence in sentences(page.read_text())
        if len(sentence.split()) > MOST_WORDS
    ]
    assert long == []


def test_readme_is_a_screen_and_a_half() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 900


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    named = re.findall(r"[\w/-]+\.md", navigation)
    docs = ROOT / "docs"
    assert sorted(named) == sorted(p.relative_to(docs).as_posix() for p in docs.glob("**/*.md"))
