"""scripts/check-releases.py against a small git tree with the tags of releases."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check-releases.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("check_releases", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_releases"] = module
    spec.loader.exec_module(module)
    return module


def git(tree: Path, *arguments: str) -> str:
    """Runs git as a person without settings of their own."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    run = ["git", "-C", str(tree), *who, *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Commits `a` to `d`, one before each of four tags, and one after the last."""
    path = tmp_path_factory.mktemp("linux")
    git(path, "init", "-q")
    hashes = {}
    for name, tag in [("a", "v6.3"), ("b", "v6.4-rc1"), ("c", "v6.4-rc3"), ("d", "v6.5-rc1"), ("late", "")]:
        git(path, "commit", "-q", "--allow-empty", "-m", name)
        hashes[name] = git(path, "rev-parse", "HEAD")[:12]
        if tag:
            git(path, "tag", tag)
    git(path, "tag", "next-20230501", hashes["a"])
    return path, hashes


def table(path: Path, rows: dict[str, str]) -> Path:
    """A table of releases whose rows name these commits."""
    text = ""
    for name, commit in rows.items():
        change = f'[[release.change]]\nscan = "v{name}"\ncommit = "{commit}"\ndoc = "d"\n' if commit else ""
        text += f'[[release]]\nname = "{name}"\n{change}'
    file = path / "releases.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_row_is_the_first_release_with_its_commits(
    script: ModuleType, tree: tuple[Path, dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, h = tree
    right = {"6.3": h["a"], "6.4-rc1": h["b"], "6.4-rc2": "", "6.4": h["c"], "6.5": h["d"]}
    assert script.main(["--tree", str(path), "--table", str(table(tmp_path, right))]) == 0
    assert capsys.readouterr().out == "4 commits: 4 agree, 0 differ, 0 unknown\n"
    candidates = {"6.3": h["a"], "6.4": h["c"], "6.5-rc": h["d"]}
    assert script.main(["--tree", str(path), "--table", str(table(tmp_path, candidates))]) == 0


def test_a_commit_in_another_release_is_named(
    script: ModuleType, tree: tuple[Path, dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, h = tree
    wrong = {"6.3": "", "6.4-rc2": h["b"], "6.4": h["a"], "6.5": f"{h['c']}, {h['d']}"}
    assert script.main(["--tree", str(path), "--table", str(table(tmp_path, wrong))]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{h['a']}  row 6.4  differs: v6.3",
        f"{h['c']}  row 6.5  differs: v6.4-rc3",
        "4 commits: 2 agree, 2 differ, 0 unknown",
    ]


def test_what_the_tree_does_not_have_is_unknown(
    script: ModuleType, tree: tuple[Path, dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, h = tree
    rows = {"6.3": "0123456789ab", "6.5": h["late"]}
    assert script.main(["--tree", str(path), "--table", str(table(tmp_path, rows)), "--all"]) == 1
    out = capsys.readouterr().out
    assert out.count("unknown: no tag of this tree contains it") == 2 and "not known" not in out


def test_usage(script: ModuleType, tree: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    assert script.main(["--tree", str(tmp_path)]) == 3
    bad = table(tmp_path, {"six": tree[1]["a"]})
    assert script.main(["--tree", str(tree[0]), "--table", str(bad)]) == 2


def test_the_table_of_the_catalog_is_read(script: ModuleType) -> None:
    commits, rows = script.commits_of(script.TABLE)
    assert len(commits) > 150 and {"6.4-rc1", "7.3-rc"} <= set(rows)
    assert sorted(rows, key=script.version) == rows
    assert script.Commit("4d4b6d66db63", "6.4-rc1") in commits
