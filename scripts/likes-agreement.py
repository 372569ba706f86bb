#!/usr/bin/env python3
"""Compares the advice of `advise --like` with published measurements, and writes the table of docs/reference/likes.md.

Usage: scripts/likes-agreement.py NUMALAB [--write] [ROW ...]

Each row of scripts/likes-published.toml is asked as it stands there. The sign is right if the predicted gain of the
way has the published sign in every size and time that decides, and one of them is clear. It is open if no size is
clear. Nothing is fitted to the table: a row that misses stays.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/likes.md"
BEGIN, END = "<!-- agreement -->", "<!-- end of agreement -->"


def ask(numalab: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The deciding figures of the row's way, one for each size and time."""
    with tempfile.TemporaryDirectory() as out:
        command = [numalab, "advise", "--machine", row["machine"], "--kernel", row["kernel"], "--like", row["like"]]
        command += ["--memory", row["memory"], "--threads", str(row["threads"]), "--ways", row["way"]]
        command += ["--out", f"{out}/runs", "--json", "--quiet", "--quick"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    cells = [c["kernels"][0] for c in json.loads(done.stdout)["simulated"]["simulated"]]
    return [c for c in cells if c["decides"]]


def judged(row: dict[str, Any], cells: list[dict[str, Any]]) -> tuple[str, str]:
    """The predicted gains, and whether the sign is right, wrong or open."""
    gains = [c["gain_percent"] for c in cells if c["gain_percent"] is not None]
    wanted = "better" if row["sign"] > 0 else "worse"
    calls = [c["call"] for c in cells]
    said = " to ".join(f"{g:+.1f} %" for g in sorted({min(gains), max(gains)}))
    if wanted in calls and all(call in (wanted, "cannot_tell") for call in calls):
        return said, "right"
    clear = any(call in ("better", "worse") for call in calls)
    return said, "wrong" if clear else "open"


def table(rows: list[tuple[dict[str, Any], str, str]]) -> str:
    """The rows as Markdown, with the score above."""
    right = sum(verdict == "right" for _, _, verdict in rows)
    lines = [f"The sign is right in {right} of {len(rows)}.", ""]
    lines += ["| program | asked | published | predicted | sign | |", "|---|---|---|---|---|---|"]
    for row, said, verdict in rows:
        asked = f"{row['way']} on `{row['machine']}`, {row['kernel']}, {row['memory']}, {row['threads']} threads"
        published = f"[{row['published']}]({row['source']})"
        lines.append(f"| `{row['like']}` | {asked} | {published} | {said} | {verdict} | {row.get('note', '')} |")
    return "\n".join(lines)


def main() -> None:
    """Asks every row, and prints or writes the table."""
    numalab, *rest = sys.argv[1:]
    wanted = {int(word) for word in rest if word.isdigit()}
    every = tomllib.loads((ROOT / "scripts/likes-published.toml").read_text())["row"]
    rows = []
    for number, row in enumerate(every, 1):
        if wanted and number not in wanted:
            continue
        said, verdict = judged(row, ask(numalab, row))
        print(f"{number} {row['like']} {row['way']}: {said}, {verdict}", file=sys.stderr, flush=True)
        rows.append((row, said, verdict))
    text = table(rows)
    if "--write" not in rest or wanted:
        print(text)
        return
    page = PAGE.read_text()
    head, _, tail = page.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail.partition(END)[2]}")


if __name__ == "__main__":
    main()
