"""The README's commands run and print what it shows. The runner of shown commands is tested first."""

from pathlib import Path

import pytest
import shown

PAGE = """
Save this as `a.toml`, a file:

```toml
name = "a"
```

```
$ cat a.toml
name = "a"
$ printf 'one 1\\ntwo 2\\nthree 3\\n' \\
    && echo 'numalab: said' >&2
one …
…
three 3
numalab: said
```

<!-- not run: there is no such file -->
```
numalab nothing
```

<!-- exit: 3 -->
```
$ echo 7; exit 3
7
```
"""


def page(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shown, "ROOT", tmp_path)
    (tmp_path / "run").mkdir(exist_ok=True)
    (tmp_path / "page.md").write_text(text)
    return tmp_path / "page.md"


def test_a_page_is_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "MODES", set())
    assert shown.check(page(tmp_path, PAGE, monkeypatch), tmp_path / "run") == 3
    for old, new in [
        ("\n7\n", "\n8\n"),
        ("exit: 3", "exit: 2"),
        ("one …", "two …"),
        ("\n…\nth", "\nth"),
        ("$ cat", "$ ls no/"),
    ]:
        assert PAGE.count(old) == 1
        with pytest.raises(AssertionError):
            shown.check(page(tmp_path, PAGE.replace(old, new), monkeypatch), tmp_path / "run")


def test_output_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "MODES", {"write"})
    stale = PAGE.replace("\n7\n", "\n8\n9\n").replace("three 3\nnumalab: said", "three 4\nnumalab: sad")
    written = page(tmp_path, stale, monkeypatch)
    shown.check(written, tmp_path / "run")
    assert written.read_text() == PAGE


def test_what_is_left_out_stays_left_out() -> None:
    printed = ["title", "a 1", "b 2", "c 3", "In short", "x wins by 4 %", "", "end"]
    old = ["title", "…", "b 7", "…", "x wins by 5 %", "…"]
    assert shown.shown_anew(old, printed) == ["title", "…", "b 2", "…", "x wins by 4 %", "…"]
    assert shown.matches(shown.shown_anew(old, printed), printed)
    assert shown.shown_anew(["title"], printed) == printed


def test_the_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    assert shown.check(shown.ROOT / "README.md", tmp_path) > 0
