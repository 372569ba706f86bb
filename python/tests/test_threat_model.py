"""The page of who is trusted with what names tests, and each of them exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/threat-model.md"


def test_each_line_of_the_threat_model_is_held_by_a_test() -> None:
    """A row names at least one function of a test, or says by a dash that nothing could fail."""
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] != "| what holds"]
    sources = [*(ROOT / "crates").rglob("*.rs"), *(ROOT / "python/tests").glob("*.py")]
    known = {name for f in sources for name in re.findall(r"\b(?:fn|def) (\w+)", f.read_text())}
    assert len(rows) > 15
    for row in rows:
        names = re.findall(r"`(\w+)`", row[-1])
        assert names or row[-1].strip(" |") == "–", row[0]
        assert set(names) <= known, set(names) - known
