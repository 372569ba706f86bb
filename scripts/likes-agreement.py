#!/usr/bin/env python3
"""Compares the advice of `advise --like` with published measurements, and writes the table of docs/reference/likes.md.

Usage: scripts/likes-agreement.py NUMALAB [--write] [--list] [ROW ...]

Each row of scripts/likes-published.toml is asked as it stands there. The sign is right if the predicted gain of the
way has the published sign in every size and time that decides, and one of them is clear. It is open if no size is
clear. Where no difference was published, it is right if none is clear. Nothing is fitted to the table: a row that
misses stays. A row that did not ask for what was published is asked again, and counted apart. `--list` shows the rows
without asking.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/likes.md"
BEGIN, END = "<!-- agreement -->", "<!-- end of agreement -->"
SIZES_MIB = {"MiB": 1, "GiB": 1024}
# A difference between two ways below this, in percent, is none.
CLEAR_PERCENT = 3.0


class Answer(NamedTuple):
    """A row with the gains that were predicted and the verdict, and those of what was asked again."""

    row: dict[str, Any]
    said: str
    verdict: str
    again: tuple[str, str] | None


def in_full(row: dict[str, Any]) -> bool:
    """Whether the row is small enough to be simulated as asked: a rule that looks at no result."""
    number, unit = re.fullmatch(r"(\d+)(MiB|GiB)", row["memory"]).groups()  # type: ignore[union-attr]
    mib = int(number) * SIZES_MIB[unit]
    return mib < 1024 or (mib <= 16 * 1024 and row["threads"] <= 24)


def ask(numalab: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The deciding figures of the row's way, one for each size and time."""
    against = row.get("against")
    ways = ",".join([row["way"], *([against] if against else [])])
    with tempfile.TemporaryDirectory() as out:
        command = [
            numalab,
            "advise",
            "--machine",
            row["machine"],
            "--kernel",
            row["kernel"],
            "--like",
            row["like"],
        ]
        command += ["--memory", row["memory"], "--threads", str(row["threads"]), "--ways", ways]
        command += ["--out", f"{out}/runs", "--json", "--quiet", *([] if in_full(row) else ["--quick"])]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    rows = [c["kernels"] for c in json.loads(done.stdout)["simulated"]["simulated"]]
    cells = [versus(k[0], k[1]) if against else k[0] for k in rows]
    return [c for c in cells if c["decides"]]


def versus(way: dict[str, Any], against: dict[str, Any]) -> dict[str, Any]:
    """One way against another, from the gains of both over balancing on."""
    gain = ((1 + way["gain_percent"] / 100) / (1 + against["gain_percent"] / 100) - 1) * 100
    call = "better" if gain > CLEAR_PERCENT else "worse" if gain < -CLEAR_PERCENT else "cannot_tell"
    return {"gain_percent": gain, "call": call, "decides": way["decides"]}


def judged(row: dict[str, Any], cells: list[dict[str, Any]]) -> tuple[str, str]:
    """The predicted gains, and whether the sign is right, wrong or open."""
    gains = [c["gain_percent"] for c in cells if c["gain_percent"] is not None]
    calls = [c["call"] for c in cells]
    said = " to ".join(f"{g:+.1f} %" for g in sorted({min(gains), max(gains)}))
    clear = any(call in ("better", "worse") for call in calls)
    if row["sign"] == 0:
        return said, "wrong" if clear else "right"
    wanted = "better" if row["sign"] > 0 else "worse"
    if wanted in calls and all(call in (wanted, "cannot_tell") for call in calls):
        return said, "right"
    return said, "wrong" if clear else "open"


def asked(row: dict[str, Any]) -> str:
    """What is asked, in words."""
    way = row["way"] + (f" against {row['against']}" if "against" in row else "")
    size = "as asked" if in_full(row) else "quick"
    return f"{way} on `{row['machine']}`, {row['kernel']}, {row['memory']}, {row['threads']} threads, {size}"


def score(rows: list[Answer]) -> str:
    """How many signs are right, as asked first and with the rows that were asked again."""
    first = [row.verdict for row in rows]
    counts = {word: first.count(word) for word in ("right", "wrong", "open")}
    right, wrong, not_clear = counts["right"], counts["wrong"], counts["open"]
    said = f"The sign is right in {right} of {len(rows)}, wrong in {wrong}, open in {not_clear}."
    again = [row for row in rows if row.again]
    if not again:
        return said
    now = [row.again[1] if row.again else row.verdict for row in rows]
    return f"{said} With the {len(again)} rows that were asked again, in sample: right in {now.count('right')}."


def table(rows: list[Answer]) -> str:
    """The rows as Markdown, with the score above."""
    lines = [score(rows), "", "| program | asked | published | predicted | sign | |", "|---|---|---|---|---|---|"]
    for answer in rows:
        row, said, verdict = answer.row, answer.said, answer.verdict
        note = row.get("note", "")
        if answer.again:
            changed = ", ".join(f"`{word}`" for key, word in row["again"].items() if key != "why")
            note = f"asked again for {changed}: {answer.again[0]}, {answer.again[1]}; {row['again']['why']}"
        published = f"[{row['published']}]({row['source']})"
        lines.append(f"| `{row['like']}` | {asked(row)} | {published} | {said} | {verdict} | {note} |")
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
        if "--list" in rest:
            print(f"{number} {row['like']}: {asked(row)}")
            continue
        said, verdict = judged(row, ask(numalab, row))
        print(f"{number} {row['like']} {row['way']}: {said}, {verdict}", file=sys.stderr, flush=True)
        again = None
        if "again" in row:
            changed = row | row["again"]
            again = judged(changed, ask(numalab, changed))
            print(f"{number} again: {again[0]}, {again[1]}", file=sys.stderr, flush=True)
        rows.append(Answer(row, said, verdict, again))
    if "--list" in rest:
        return
    text = table(rows)
    if "--write" not in rest or wanted:
        print(text)
        return
    page = PAGE.read_text()
    head, _, tail = page.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail.partition(END)[2]}")


if __name__ == "__main__":
    main()
