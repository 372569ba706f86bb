#!/usr/bin/env python3
"""Proves the first rows of the table in CONTRIBUTING.md on the real lists.

Each patch of tests/changes adds one thing. All are applied to a copy of the sources under target/changes. The copy is built
once, without optimisation and beside the packages that the release build has already, and its command has to know and run
what was added. A patch may only touch what its row of the table names: the files that it names, and one new file in each
folder that it names.

What has not changed since the last call is not built again. Needs `patch`, and says so where it is missing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "changes" / "src"
# What a build of the command reads.
SOURCES = ["Cargo.toml", "Cargo.lock", "README.md", "LICENSE-APACHE", "LICENSE-MIT", "catalog", "crates", "docs"]
# Each patch with the row of the table that it proves.
ROWS = {
    "vma-filter": "a VMA filter",
    "page-filter": "a page filter",
    "imbalance-rule": "an imbalance rule",
    "release": "a release of Linux",
    "pattern": "an access pattern",
    "column": "a report column",
}
WORKLOAD = """
name = "hot"
title = "Threads that come back to a quarter of their memory"
about = "Proves that a pattern that was added is parsed and simulated."
source = "proof"
limit = "60s"

[[score]]
name = "done"
unit = "accesses"
better = "higher"

[[process]]
name = "p"
threads = 2

[[process.region]]
name = "m"
size = "64MiB"

[[process.prologue]]
access = "m"
write = 1

[[process.phase]]
access = "m"
write = 1
pattern = "hot_spot"
hot = 0.25
share = 0.875
accesses = 1_000_000_000
counts = "done"
unit_bytes = "64B"
"""


def fail(why: str) -> None:
    sys.exit(f"scripts/prove-changes.py: {why}")


def check_row(name: str, table: str) -> None:
    """A patch touches what its row names, and nothing else."""
    row = next((line for line in table.splitlines() if line.startswith(f"| {ROWS[name]} |")), None)
    if row is None:
        fail(f"CONTRIBUTING.md has no row `{ROWS[name]}`")
    named = {p for p in re.findall(r"`([\w./-]+)`", row.split("|")[2]) if (ROOT / p).exists()}
    text = (ROOT / f"tests/changes/{name}.patch").read_text()
    touched = re.findall(r"^\+\+\+ b/(.*)$", text, re.MULTILINE)
    new = {path for path in touched if not (ROOT / path).exists()}
    wanted = {path for path in named if (ROOT / path).is_file()}
    if set(touched) - new != wanted:
        fail(f"{name}.patch changes {sorted(set(touched) - new)}, but the row `{ROWS[name]}` names {sorted(wanted)}")
    folders = sorted(path for path in named if (ROOT / path).is_dir())
    if sorted(f"{Path(path).parent}/" for path in new) != folders:
        fail(f"{name}.patch adds {sorted(new)}, but the row `{ROWS[name]}` names the folders {folders}")


def patched(into: Path) -> None:
    """The sources with all patches."""
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, into / name, symlinks=True, ignore=shutil.ignore_patterns("node_modules"))
        else:
            shutil.copy2(source, into / name)
    for name in ROWS:
        patch = ROOT / f"tests/changes/{name}.patch"
        command = ["patch", "-p1", "--forward", "--batch", "--no-backup-if-mismatch", "--quiet", "-i", str(patch)]
        done = subprocess.run(command, cwd=into, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"{patch.name} does not apply any more; write it anew:\n{done.stdout}{done.stderr}")
    # The command under another name, so that the build leaves target/release/numalab alone.
    examples = into / "crates/cli/examples"
    examples.mkdir(exist_ok=True)
    shutil.copy2(into / "crates/cli/src/main.rs", examples / "numalab-changed.rs")


def update(source: Path, to: Path) -> None:
    """Makes the folder `to` equal to `source`, and leaves files alone that are the same: cargo goes by their times."""
    to.mkdir(parents=True, exist_ok=True)
    for old in list(to.iterdir()):
        new = source / old.name
        if not new.exists() or old.is_symlink() != new.is_symlink() or old.is_dir() != new.is_dir():
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for new in source.iterdir():
        old = to / new.name
        if new.is_symlink():
            if not old.is_symlink():
                old.symlink_to(os.readlink(new))
        elif new.is_dir():
            update(new, old)
        elif not old.exists() or old.read_bytes() != new.read_bytes():
            shutil.copyfile(new, old)


def build() -> Path:
    """Builds the copy; its command."""
    cargo = os.environ.get("CARGO", "cargo")
    # Without optimisation, one package of the workspace after the other: all others stay as the release build has them.
    names = [folder.name for folder in (COPY / "crates").iterdir()]
    settings = [f"profile.release.package.numalab-{name}.{key}" for name in sorted(names)
                for key in ("opt-level=0", "codegen-units=16")]
    config = [part for setting in settings for part in ("--config", setting)]
    environment = os.environ | {
        "NUMALAB_EMBED": "none",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "CARGO_INCREMENTAL": "1",
    }
    command = [cargo, "build", "--release", "--quiet", "--locked", "-p", "numalab-cli", "--example", "numalab-changed"]
    if subprocess.run([*command, *config], cwd=COPY, env=environment, check=False).returncode != 0:
        fail(f"the changed sources in {COPY} do not build")
    return ROOT / "target/release/examples/numalab-changed"


def prove(numalab: Path, folder: Path) -> None:
    """The command knows what was added, and runs it."""

    def call(*arguments: str) -> str:
        done = subprocess.run([str(numalab), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"numalab {' '.join(arguments)} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def find(word: str, text: str, what: str) -> None:
        if not re.search(rf"\b{re.escape(word)}\b", text):
            fail(f"{what} does not know `{word}`:\n{text}")

    roles = call("show", "roles")
    for word in ("v612_pair", "shared_any", "imb_half"):
        find(word, roles, "numalab show roles")
    find("7.4", call("list", "kernels"), "numalab list kernels")
    kernel = call("show", "kernels", "7.4")
    if not re.search(r"sched\.ni_rate\s+false", kernel):
        fail(f"numalab show kernels 7.4 does not have what its row sets:\n{kernel}")
    (folder / "hot.toml").write_text(WORKLOAD)
    out = str(folder / "out")
    roles_set = [f"--set={r}" for r in ("vma_filter=v612_pair", "page_filter=shared_any", "imbalance=imb_half")]
    call("run", "--machine=2x1x2x1", "--kernel=7.4", f"--workload={folder}/hot.toml", f"--out={out}", *roles_set)
    shown = json.loads(call("compare", out, "--json", "--metric=done,numa_faults_per_mib"))
    metrics = {m["name"]: next(iter(m["kernels"].values()))["mean"] for m in shown["workloads"][0]["metrics"]}
    if metrics.get("done") != 2e9 or not metrics.get("numa_faults_per_mib"):
        fail(f"numalab compare does not have the figures of the run: {metrics}")
    manifest = "".join(p.read_text() for p in Path(out).rglob("*.json"))
    for word in ("v612_pair", "shared_any", "imb_half"):
        find(word, manifest, "the record of the run")


def main() -> None:
    if shutil.which("patch") is None:
        print("scripts/prove-changes.py: there is no `patch` here, so nothing is proved")
        return
    table = (ROOT / "CONTRIBUTING.md").read_text()
    for name in ROWS:
        check_row(name, table)
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        patched(Path(folder))
        update(Path(folder), COPY)
    numalab = build()
    with tempfile.TemporaryDirectory() as folder:
        prove(numalab, Path(folder))
    print(f"{len(ROWS)} changes of the table in CONTRIBUTING.md proved")


if __name__ == "__main__":
    main()
