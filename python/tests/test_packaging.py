"""Files with which others build and install numalab: they are well-formed, and they agree with each other."""

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
