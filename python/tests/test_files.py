"""Files of the user: pipes and large files are refused, and links are replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numalab.errors import SpecError
from numalab.files import create, read_text, replace
from numalab.grid import read_grid
from numalab.store import PlanCache


def test_only_a_regular_file_of_its_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1234")
    assert read_text(tmp_path / "file", 4) == "1234"
    with pytest.raises(OSError, match="more than 0 MiB"):
        read_text(tmp_path / "file", 3)
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(SpecError, match="pipe.toml: not a regular file; expected a TOML file of a sweep"):
        read_grid(tmp_path / "pipe.toml")
    with pytest.raises(OSError, match="not a regular file"):
        read_text("/dev/zero")


def test_a_link_is_replaced_and_never_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("precious")
    link.symlink_to(victim)
    with pytest.raises(FileExistsError):
        create(link, b"new")
    replace(link, b"new")
    assert (victim.read_text(), link.read_text(), link.is_symlink()) == ("precious", "new", False)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["link", "victim"]


def test_a_plan_is_not_kept_through_a_link(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    cache, victim = PlanCache(tmp_path / "cache"), tmp_path / "victim"
    victim.write_text("precious")
    plan = "ab" * 32
    cache.put(plan, b"{}")
    place = tmp_path / "cache" / plan[:2] / f"{plan}.json"
    place.unlink()
    place.symlink_to(victim)
    cache.put(plan, b'{"a":1}')
    assert (victim.read_text(), cache.get(plan)) == ("precious", b'{"a":1}')
