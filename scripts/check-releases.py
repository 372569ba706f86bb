#!/usr/bin/env python3
"""Compares every commit of catalog/releases.toml with the release that first holds it, in a git tree of Linux.

    scripts/check-releases.py --tree ~/linux
    scripts/check-releases.py --tree ~/linux --all

The tree is a clone of Linux with its tags (`v6.4-rc1`, `v6.4`). For every commit the first tag that contains it is
found. A line is printed where the row of the table is another release; `--all` prints the others too. A row that stands
for a whole release agrees with any of its candidates, unless a candidate from the first one on has a row of its own.

Changes of `only_here` are left out: they tell what a stable tree took over later.

Exit codes: 0 every commit agrees, 1 some do not, or the tree does not have them, 2 usage, 3 no git tree.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parent.parent / "catalog" / "releases.toml"
RELEASE = re.compile(r"v(\d+)\.(\d+)(?:-rc(\d+))?$")
# The release itself comes after all of its candidates.
FINAL = 1_000_000


class Commit(NamedTuple):
    """A commit that a row names."""

    hash: str
    row: str


class Finding(NamedTuple):
    """What the tree says of a commit."""

    commit: Commit
    # `agrees`, `differs` or `unknown`.
    verdict: str
    # The first tag with the commit, or why there is none.
    found: str


def version(name: str) -> tuple[int, int, int]:
    """A release's place in time; `6.4-rc1` and `v6.4-rc1` come before `6.4`. ValueError for other names."""
    # `7.3-rc` stands for all candidates of a release that is not out yet.
    match = RELEASE.match("v" + name.removeprefix("v") + (str(FINAL - 1) if name.endswith("-rc") else ""))
    if match is None:
        raise ValueError(f"{name}: no release; expected `6.4` or `6.4-rc1`")
    major, minor, candidate = match.groups()
    return int(major), int(minor), FINAL if candidate is None else int(candidate)


def commits_of(table: Path) -> tuple[list[Commit], list[str]]:
    """The commits that rows name, and the names of all rows."""
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["release"]
    found = [
        Commit(one, row["name"])
        for row in rows
        for change in row.get("change", [])
        for one in re.findall(r"\b[0-9a-f]{8,40}\b", change.get("commit", ""))
    ]
    return found, [row["name"] for row in rows]


def first_tag(tree: Path, commit: str) -> str | None:
    """The first tag of a release that contains a commit; None if no tag does, or the tree lacks the commit."""
    command = ["git", "-C", str(tree), "tag", "--contains", commit]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    tags = [tag for tag in run.stdout.split() if RELEASE.match(tag)]
    return min(tags, key=version, default=None) if run.returncode == 0 else None


def row_of(tag: str, rows: list[str]) -> str | None:
    """The row whose kernel is the first to have what a tag has; None before the first and after the last row."""
    later = [row for row in rows if version(row) >= version(tag)]
    if version(tag) < version(rows[0]) or not later:
        return None
    return min(later, key=version)


def findings(tree: Path, table: Path) -> list[Finding]:
    """What the tree says of every commit of the table, in the order of rows."""
    commits, rows = commits_of(table)
    out = []
    for commit in commits:
        tag = first_tag(tree, commit.hash)
        if tag is None:
            out.append(Finding(commit, "unknown", "no tag of this tree contains it"))
            continue
        verdict = "agrees" if row_of(tag, rows) == commit.row else "differs"
        out.append(Finding(commit, verdict, tag))
    return out


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tree", type=Path, required=True, help="a clone of Linux with its tags")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table of releases")
    parser.add_argument("--all", action="store_true", help="print commits that agree too")
    args = parser.parse_args(arguments)
    probe = ["git", "-C", str(args.tree), "rev-parse", "--git-dir"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        print(f"{args.tree}: no git tree; expected a clone of Linux with its tags", file=sys.stderr)
        return 3
    try:
        found = findings(args.tree, args.table)
    except (OSError, tomllib.TOMLDecodeError, KeyError, ValueError) as error:
        print(f"{args.table}: {error}; expected a table of releases", file=sys.stderr)
        return 2
    for finding in found:
        if args.all or finding.verdict != "agrees":
            print(f"{finding.commit.hash}  row {finding.commit.row}  {finding.verdict}: {finding.found}")
    counts = {verdict: sum(f.verdict == verdict for f in found) for verdict in ("agrees", "differs", "unknown")}
    print(f"{len(found)} commits: {counts['agrees']} agree, {counts['differs']} differ, {counts['unknown']} unknown")
    return 0 if counts["agrees"] == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
