#!/usr/bin/env python3
"""The vector files of linux/vectors as a table in C, which the patches of linux/ carry for their KUnit tests.

    scripts/linux-vectors.py             print the table
    scripts/linux-vectors.py --check     exit code 1 if the patch that carries it has another one
    scripts/linux-vectors.py --write     write it into that patch

The Rust tests read the files themselves (crates/kernel/tests/it/linux_vectors.rs).
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = "mm/numalab/vectors.h"
# Longest line, where a tab is one character here and eight in the kernel.
WIDTH = 90


def rows_of(path: Path) -> tuple[list[str], list[list[str]]]:
    """Names of the columns and rows of a vector file."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    columns, *rows = [line.split("\t") for line in lines]
    for row in rows:
        if len(row) != len(columns):
            sys.exit(f"{path}: {len(row)} cells in {row}; expected {len(columns)}")
    return columns, rows


def is_number(cell: str) -> bool:
    """Whether a cell is a whole number."""
    return cell.lstrip("-").isdigit()


def table_of(path: Path) -> list[str]:
    """The type and the rows of one vector file."""
    columns, rows = rows_of(path)
    numbers = [all(is_number(row[i]) for row in rows) for i in range(len(columns))]
    out = ["", f"struct numalab_{path.stem}_vector {{"]
    out += [f"\tlong {c};" if n else f"\tconst char *{c};" for c, n in zip(columns, numbers, strict=True)]
    out += ["};", "", f"static const struct numalab_{path.stem}_vector numalab_{path.stem}_vectors[] = {{"]
    for row in rows:
        cells = [cell if n else f'"{cell}"' for cell, n in zip(row, numbers, strict=True)]
        line = "\t{ " + ", ".join(cells) + " },"
        # The last cell of a long row goes to a line of its own.
        if len(line) > WIDTH:
            line = "\t{ " + ", ".join(cells[:-1]) + ",\n\t  " + cells[-1] + " },"
        out += line.split("\n")
    return [*out, "};"]


def table() -> list[str]:
    """All lines of the table."""
    out = [
        "/* SPDX-License-Identifier: GPL-2.0 */",
        "/* Written by scripts/linux-vectors.py from linux/vectors of numalab. */",
        "#ifndef _NUMALAB_VECTORS_H",
        "#define _NUMALAB_VECTORS_H",
    ]
    for path in sorted((ROOT / "linux/vectors").glob("*.tsv")):
        out += table_of(path)
    return [*out, "", "#endif /* _NUMALAB_VECTORS_H */"]


def carried(patch: Path) -> tuple[list[str], int, int]:
    """Lines of a patch, and the first line and the end of the hunk that makes the table."""
    lines = patch.read_text().splitlines()
    at = lines.index(f"+++ b/{TABLE}") + 1
    end = at + 1
    while end < len(lines) and lines[end].startswith("+"):
        end += 1
    return lines, at, end


def main() -> None:
    """Prints, checks or writes the table."""
    new = table()
    if sys.argv[1:] == []:
        print("\n".join(new))
        return
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit(__doc__)
    patches = [p for p in sorted((ROOT / "linux/patches").glob("*.patch")) if f"+++ b/{TABLE}\n" in p.read_text()]
    if len(patches) != 1:
        sys.exit(f"{len(patches)} patches carry {TABLE}; expected one")
    lines, at, end = carried(patches[0])
    hunk = [f"@@ -0,0 +1,{len(new)} @@", *(f"+{line}" for line in new)]
    if lines[at:end] == hunk:
        return
    if sys.argv[1] == "--check":
        print(f"{patches[0]} has another table than linux/vectors; scripts/linux-vectors.py --write writes it")
        sys.exit(1)
    patches[0].write_text("\n".join([*lines[:at], *hunk, *lines[end:]]) + "\n")


if __name__ == "__main__":
    main()
