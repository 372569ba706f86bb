"""The Python that pages of the manual show runs as it stands there, from an empty folder."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/tutorials/python.md", "docs/how-to/policies-in-python.md", "docs/how-to/sweep.md")


@pytest.mark.parametrize("page", PAGES)
def test_pasted_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict[str, object] = {"__name__": "__main__"}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for block in blocks:
            exec(compile(block, page, "exec"), names)
    if "print(" in "".join(blocks):
        assert said.getvalue().strip()
