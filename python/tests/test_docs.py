"""The manual keeps its form: short sentences, a short README, all pages in the navigation, known options."""

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MANUAL = ("tutorials", "how-to", "reference", "explanation")
# Written from tables of the code.
GENERATED = {"counters.md", "fidelity.md"}
COMMAND = os.environ.get("NUMALAB", str(ROOT / "target/release/numalab"))
# Verbs that have verbs of their own.
FAMILIES = {"machine", "kernel"}
# Names of formats that begin with the same word.
FORMATS = {"record", "experiment"}
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


def manual() -> list[Path]:
    """The pages that are written by hand and tell what holds now."""
    pages = [p for f in MANUAL for p in (ROOT / "docs" / f).glob("*.md") if p.name not in GENERATED]
    assert len(pages) > 20
    return [*pages, ROOT / "README.md", ROOT / "docs" / "index.md"]


def commands(text: str) -> Iterator[list[str]]:
    """The words of every numalab command in code, up to the next command of the shell or a comment."""
    code = re.findall(r"```.*?```|`[^`\n]+`", text.replace("\\\n", " "), re.DOTALL)
    for found in re.findall(r"(?<![\w/.-])(?<!from )numalab (?=[a-z])([^`\n]*)", "\n".join(code)):
        line = re.split(r" #|\\?[|>]| &&", re.sub(r"'[^']*'", "x", found))[0]
        yield line.split()


@cache
def options(*verbs: str) -> str:
    """The help of a verb, or nothing if there is no such verb."""
    ended = subprocess.run([COMMAND, *verbs, "--help"], capture_output=True, text=True, check=False)
    return ended.stdout if ended.returncode == 0 else ""


def test_commands_of_the_manual_exist() -> None:
    seen, wrong = 0, []
    for page in manual():
        for words in commands(page.read_text()):
            verbs = words[: 2 if words[0] in FAMILIES or words[:2] == ["explain", "ladder"] else 1]
            known = set(re.findall(r"--[a-z][\w-]*", options(*verbs)))
            given = {w.split("=")[0] for w in words if re.match(r"--[a-z]", w)}
            seen += 1
            if verbs[0] not in FORMATS | {"help"} and (not known or not given <= known):
                wrong.append(f"{page.relative_to(ROOT)}: {' '.join(words)}")
    assert seen > 100
    assert wrong == []


def test_sentences_of_the_manual_are_short() -> None:
    long = [
        f"{page.relative_to(ROOT)}: {sentence}"
        for page in manual()
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
