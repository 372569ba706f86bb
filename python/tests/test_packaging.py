"""Files with which others build and install numalab: they are well-formed, and they agree with each other."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import tree_sitter
import tree_sitter_nix

from numalab import __version__

ROOT = Path(__file__).parents[2]
PACKAGE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
VERSION = PACKAGE["package"]["version"]


def test_there_is_one_version() -> None:
    assert __version__ == VERSION
    own = {name: d["version"] for name, d in PACKAGE["dependencies"].items() if name.startswith("numalab-")}
    assert len(own) == 13
    assert set(own.values()) == {f"={VERSION}"}
    assert f"\n## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_crate_says_what_it_is() -> None:
    crates = [tomllib.loads(p.read_text())["package"] for p in ROOT.glob("crates/*/Cargo.toml")]
    assert len(crates) == len(PACKAGE["members"])
    for crate in crates:
        assert 20 < len(crate["description"]) < 110, crate["name"]
        for key in ("repository", "readme", "keywords", "categories", "license"):
            assert crate[key] == {"workspace": True}, (crate["name"], key)


def test_the_flake_can_be_parsed() -> None:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_nix.language()))
    assert parser.parse(b"{ a = ; }").root_node.has_error
    assert not parser.parse((ROOT / "flake.nix").read_bytes()).root_node.has_error


def test_the_containerfile_has_no_faults() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    checked = subprocess.run([linter, ROOT / "Containerfile"], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")
    stages = re.findall(r"^FROM \S+ AS (\w+)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert stages == ["build", "lab", "numalab"]


def test_nothing_is_read_through_links_that_are_cut() -> None:
    links = [ROOT / f"crates/{p}" for p in ("model/catalog", "report/columns.toml", "lab/guest")]
    assert [link for link in links if not (link.is_symlink() and os.path.exists(link))] == []


# What would fetch something that is called numalab from an index, where the name may be anybody's.
TAKEN = (
    r"\b(?:pip3?|pipx|uv)\b[^\n`]{0,40}?\b(?:install|run|download)\b[^\n`]*?(?<![\w./*-])numalab(?![\w/*-])",
    r"(?<![\w.*/-])numalab\[[a-z]",
    r"\bcargo (?:b?install|add)\b[^\n`]*?(?<![\w./-])numalab",
    r"\b(?:podman|docker)\b[^\n`]*?(?<![\w./-])numalab(?:-lab)?(?![\w:-])",
    r"\b(?:npm|npx|brew|apt|apt-get|dnf)\b[^\n`]*? numalab\b",
)


def taken(text: str) -> list[str]:
    """The places of a text that name numalab on an index."""
    return [found[0] for pattern in TAKEN for found in re.finditer(pattern, text)]


def test_nothing_names_numalab_on_an_index() -> None:
    for bad in (
        "pip install numalab",
        "pip install 'numalab[all]'",
        "uv pip install --upgrade numalab",
        "cargo install numalab",
        "cargo install --locked numalab-cli",
        "podman run --rm numalab run first-steps",
        "docker build -t numalab .",
    ):
        assert taken(bad), bad
    for good in (
        "pip install numalab-*.whl",
        'pip install "$(echo numalab-*.whl)[all]"',
        "pip install './python[all]'",
        "cargo install --path crates/cli",
        'podman run --rm -v "$PWD:/work" -v numalab-cache:/cache localhost/numalab-lab doctor',
    ):
        assert not taken(good), good
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    named = {}
    for name in listed.stdout.splitlines():
        if name.endswith(
            (".md", ".rs", ".py", ".pyi", ".sh", ".toml", ".ipynb", ".mjs", ".js", ".html", "file")
        ):
            if name in ("CHANGELOG.md", "python/tests/test_packaging.py") or name.startswith("docs/log/"):
                continue
            if found := taken((ROOT / name).read_text()):
                named[name] = found
    assert named == {}


def test_the_extra_all_is_all_extras() -> None:
    extras = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]["optional-dependencies"]
    every = {needed for name, group in extras.items() if name != "all" for needed in group}
    assert set(extras["all"]) == every


def test_a_release_has_a_manifest_and_checksums(tmp_path: Path) -> None:
    files = {"numalab-1.2.3-x86_64-linux.tar.gz": b"archive", "numalab-1.2.3-cp311-abi3-any.whl": b"wheel"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "notes.txt").write_text("no part of it")
    script = [sys.executable, str(ROOT / "scripts/dist-manifest.py")]
    subprocess.run([*script, str(tmp_path), "1.2.3", "abc"], check=True)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (manifest["name"], manifest["version"], manifest["commit"]) == ("numalab", "1.2.3", "abc")
    assert {f["name"]: (f["kind"], f["size_bytes"], f["sha256"]) for f in manifest["files"]} == {
        name: ("archive" if name.endswith(".gz") else "wheel", len(data), hashlib.sha256(data).hexdigest())
        for name, data in files.items()
    }
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    good = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert good.stdout.count(": OK") == 3, "both files and the manifest"
    (tmp_path / "numalab-1.2.3-cp311-abi3-any.whl").write_bytes(b"other")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    ended = subprocess.run([*script, str(empty), "1", "a"], capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "no file of a release" in ended.stderr
    assert list(empty.iterdir()) == []
