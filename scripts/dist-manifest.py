#!/usr/bin/env python3
"""Describes the files of a release: `scripts/dist-manifest.py FOLDER VERSION COMMIT`.

Writes `manifest.json` with the version, the commit, and the size and SHA-256 of each file; then `SHA256SUMS` of these
files and of the manifest, for `sha256sum --check`. What is in the folder otherwise, such as folders, is left out.
"""

import hashlib
import json
import sys
from pathlib import Path

# How a file is known, and what it is.
KINDS = {".tar.gz": "archive", ".whl": "wheel", ".crate": "crate"}


def kind(name: str) -> str | None:
    """What a file is, if it is a part of a release."""
    return next((what for end, what in KINDS.items() if name.endswith(end)), None)


def sha256(file: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with file.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def main(folder: Path, version: str, commit: str) -> None:
    """Write both files, or end with what is wrong."""
    files = sorted(f for f in folder.iterdir() if f.is_file() and kind(f.name))
    if not files:
        sys.exit(f"dist-manifest: {folder}: no file of a release; expected what `make dist` makes")
    entries = [
        {"name": f.name, "kind": kind(f.name), "size_bytes": f.stat().st_size, "sha256": sha256(f)} for f in files
    ]
    manifest = folder / "manifest.json"
    of_release = {"name": "numalab", "version": version, "commit": commit, "files": entries}
    manifest.write_text(json.dumps(of_release, indent=2) + "\n")
    sums = [*((e["sha256"], e["name"]) for e in entries), (sha256(manifest), manifest.name)]
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for digest, name in sums))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: dist-manifest.py FOLDER VERSION COMMIT")
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
