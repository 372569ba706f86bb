"""What numalab is built from: licences, versions, notices, and the pins of the tests' own packages."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import notices  # type: ignore[import-not-found] # noqa: E402


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """What cargo says."""
    out: dict[str, Any] = notices.metadata()
    return out


def test_licences_and_versions_are_as_deny_toml_has_them(data: dict[str, Any]) -> None:
    assert notices.findings(data) == []


def test_a_licence_is_allowed_by_its_expression() -> None:
    allowed = {"MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"}
    for licence in [
        "MIT",
        "GPL-2.0 OR MIT",
        "MIT/GPL-2.0",
        "(MIT OR GPL-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ]:
        assert notices.is_allowed(licence, allowed), licence
    for licence in ["GPL-2.0", "MIT AND GPL-2.0", "Apache-2.0", "none", "(GPL-2.0 OR Zlib) AND MIT"]:
        assert not notices.is_allowed(licence, allowed), licence


def test_a_licence_that_is_not_allowed_is_found(data: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(data))
    next(p for p in changed["packages"] if p["name"] == "clap")["license"] = "GPL-3.0-only"
    assert any(f.startswith("clap ") and "GPL-3.0-only" in f for f in notices.findings(changed))


def test_notices_have_the_texts_and_the_parts_list_the_sums(data: dict[str, Any]) -> None:
    those = notices.parts(data, "numalab-cli")
    names = {p["name"] for p in those}
    assert {"clap", "libbz2-rs-sys"} <= names and not {"syn", "proptest", "numalab-sim"} & names
    text = notices.notices(those)
    assert "bzip2" in text and text.count("Permission is hereby granted") > 10
    parts = notices.sbom(those, "numalab-cli")["components"]
    assert len(parts) == len(those) and all(p["hashes"][0]["content"] for p in parts)


def test_packages_of_the_tests_are_pinned_with_hashes() -> None:
    pinned = (ROOT / "python/requirements-tests.txt").read_text()
    entries = [line for line in pinned.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(entries) > 50 and all("==" in e and e.endswith("\\") for e in entries)
    assert pinned.count("--hash=sha256:") >= len(entries) and "://" not in pinned
    asked = (ROOT / "python/requirements-tests.in").read_text().splitlines()
    names = {e.split("==")[0] for e in entries}
    assert {a for a in asked if a and not a.startswith("#")} <= names


def test_replaced_packages_stay_out() -> None:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    assert not {"number_prefix", "paste"} & {p["name"] for p in lock}


def test_the_script_says_how_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/notices.py", "x"], stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 2 and "usage:" in done.stderr
