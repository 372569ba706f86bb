"""Lines of Rust and Python end at column 120, also where formatters let them be: comments, strings, macros."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 120
# Lines that are longer, by folder. A number may go down, never up; a folder that is not named has none.
LEFT = {
    "crates/base": 1,
    "crates/cli": 73,
    "crates/host": 14,
    "crates/kernel": 8,
    "crates/lab": 2,
    "crates/model": 67,
    "crates/report": 28,
    "crates/sim": 17,
}
GENERATED = {"target", "node_modules"}


def long_lines() -> Counter[str]:
    """How many lines of each folder are too long."""
    folders = ("bench", "crates", "docs", "python", "scripts", "tests")
    files = [f for name in folders for kind in ("rs", "py") for f in (ROOT / name).rglob(f"*.{kind}")]
    files = [f for f in files if not GENERATED & set(f.relative_to(ROOT).parts)]
    assert len(files) > 700
    return Counter(
        "/".join(f.relative_to(ROOT).parts[:2])
        for f in files
        for line in f.read_text().splitlines()
        if len(line) > LONGEST
    )


def test_lines_are_short() -> None:
    more = {folder: n for folder, n in long_lines().items() if n > LEFT.get(folder, 0)}
    assert more == {}, f"lines of more than {LONGEST} characters: shorten them, or others in the same folder"
