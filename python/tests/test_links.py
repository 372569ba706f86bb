"""Documents and comments name files of this repository: what they name must exist."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Pages that are cited by name and section (ARCHITECTURE.md, Sources; test_citations.py).
MODEL = {page.name for page in ROOT.glob("docs/reference/model/*.md")}

LINK = re.compile(r"\]\(([^)\s]+)\)")
DOCUMENT = re.compile(r"(?<![\w./~$-])(?:[\w-]+/)*[\w-]+(?:\.\d+)*\.md\b")
# A path that begins with a top folder. Of patterns (`{a,b}`, `*`), the plain beginning is checked.
FOLDERS = "catalog|crates|docs|python|scripts|tests|web"
PATH = re.compile(rf"(?<![\w./~$-])(?:{FOLDERS})(?:/[\w+-]+(?:\.[\w+-]+)*)+")


def documents() -> list[Path]:
    """The documents for readers."""
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("catalog/**/*.md")]


def prose(file: Path) -> str:
    """The text of a file that is checked: the comments of Rust, everything of other files."""
    text = file.read_text()
    if file.suffix != ".rs":
        return text
    return "\n".join(re.findall(r"//[^\n]*", text))


def sources() -> list[Path]:
    """All files that are checked."""
    rust = (f for f in ROOT.glob("crates/**/*.rs") if "target" not in f.parts)
    return [*documents(), *ROOT.glob("catalog/**/*.toml"), *rust]


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def missing(file: Path) -> Iterator[str]:
    """The files that a file names and that do not exist."""
    text = prose(file)
    for name in DOCUMENT.findall(text):
        near = [ROOT, file.parent, *(ROOT / "docs").glob("**/")]
        if not any((folder / name).is_file() for folder in near):
            yield name
    for name in PATH.findall(text):
        if not name.endswith(".md") and "NAME" not in name and not (ROOT / name).exists():
            yield name


def test_named_files_exist() -> None:
    files = sources()
    assert len(files) > 300
    assert [f"{f.relative_to(ROOT)}: {name}" for f in files for name in missing(f)] == []


def test_links_have_targets() -> None:
    broken = []
    for page in documents():
        for link in LINK.findall(page.read_text()):
            path, _, fragment = link.partition("#")
            target = (page.parent / path) if path else page
            if "://" in link or (target.exists() and (not fragment or fragment in anchors(target))):
                continue
            broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def test_cited_pages_are_described() -> None:
    described = (ROOT / "ARCHITECTURE.md").read_text().split("## Sources")[1]
    assert set(re.findall(r"^\| \[([\w.-]+\.md)\]", described, re.MULTILINE)) == MODEL
    assert "docs/log/designs-2012.md" in described


def test_pages_link_to_the_cited_pages() -> None:
    wrong = []
    for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]:
        text = re.sub(r"\[[^\]]*\]\([^)\s]+\)", "", page.read_text())
        names = MODEL & set(re.findall(r"(?<![\w/-])[\w.-]+\.md", text))
        wrong += [f"{page.relative_to(ROOT)}: {name}" for name in names]
    assert wrong == []
