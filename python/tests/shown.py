"""Runs what a page of the manual shows, and holds the output on the page against what the commands print.

A page is carried out from top to bottom, in one empty folder, by bash, with `numalab` in the search path:

* A code block without a language (or `console`) with lines that begin with `$ ` is a session. After each
  command stands what it prints: standard output, then lines of standard error that begin with `numalab: `.
* In shown output the line `…` stands for any number of lines, and `…` in a line for any text.
  All else is exact.
* A code block without a language (or `sh`) that begins with `numalab ` is commands whose output is not shown.
* A code block after "Save this as `NAME`" is written to that file.

A comment directly above a code block changes what is done with it:

* `<!-- not run: REASON -->`: nothing is done with it.
* `<!-- slow: REASON -->`: it is run only if NUMALAB_DOCS has the word `slow`.
* `<!-- exit: CODE -->`: the last command of the block must end with this code. All others must end with 0.
* `<!-- before: COMMAND -->`: this is run first. It may stand above another of these comments.

`NUMALAB_DOCS=write` writes the output anew where it differs. Lines that are left out stay left out: each
shown line becomes the line that is most like it. `NUMALAB_DOCS=write,slow` does so for all blocks.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = os.environ.get("NUMALAB", str(ROOT / "target/release/numalab"))
MODES = set(os.environ.get("NUMALAB_DOCS", "").split(","))
# Tables are as wide as a terminal of this many columns.
COLUMNS = 100
# A folder for the search path, with the command under its own name.
PROGRAMS = tempfile.TemporaryDirectory(prefix="numalab-shown-")
LEFT_OUT = "…"

FENCE = re.compile(
    r"(?P<above>(?:^<!-- [^\n]* -->\n)*)^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
SAVE = re.compile(r"[Ss]ave (?:this|it) as `([^`]+)`[^`]*\Z")


@dataclass
class Step:
    """A command of a page with the output that the page shows, or `None` if it shows none."""

    line: int
    command: str
    shown: list[str] | None = None
    code: int = 0


@dataclass
class Block:
    """A code block of a page: where its text stands, and what it asks for."""

    start: int
    end: int
    before: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    saves: tuple[str, str] | None = None


def sessions(body: str, line: int) -> list[Step]:
    """The commands of a session. A command that ends with a backslash goes on in the next line."""
    steps: list[Step] = []
    goes_on = False
    for number, text in enumerate(body.splitlines(), line):
        if goes_on:
            steps[-1].command += "\n" + text
        elif text.startswith("$ "):
            steps.append(Step(number, text[2:], []))
        else:
            assert steps, f"line {number}: output before the first command"
            shown = steps[-1].shown
            assert shown is not None
            shown.append(text.rstrip())
        goes_on = (goes_on or text.startswith("$ ")) and text.endswith("\\")
    return steps


def blocks(text: str, slow: bool) -> Iterator[Block]:
    """The code blocks of a page that do something, in order."""
    for found in FENCE.finditer(text):
        notes = dict(re.findall(r"<!-- ([\w ]+): (.*) -->", found["above"]))
        unknown = set(notes) - {"not run", "slow", "exit", "before"}
        assert not unknown, f"unknown comment above a code block: {sorted(unknown)}"
        if "not run" in notes or ("slow" in notes and not slow):
            continue
        block = Block(found.start("body"), found.end("body"))
        block.before = re.findall(r"<!-- before: (.*) -->", found["above"])
        body, language = found["body"], found["language"]
        line = text.count("\n", 0, block.start) + 1
        saves = SAVE.search(text[: found.start()].rsplit("```", 1)[-1])
        if saves:
            block.saves = (saves[1], body)
        elif language in ("", "console") and re.search(r"^\$ ", body, re.MULTILINE):
            block.steps = sessions(body, line)
        elif language in ("", "sh", "console") and body.startswith("numalab "):
            block.steps = [Step(line, body)]
        else:
            continue
        if "exit" in notes:
            block.steps[-1].code = int(notes["exit"])
        yield block


def run(command: str, folder: Path) -> tuple[list[str], int, str]:
    """Runs a command as bash does. Returns what a page shows, the exit code, and all of standard error."""
    link = Path(PROGRAMS.name) / "numalab"
    if not link.is_symlink():
        link.symlink_to(Path(COMMAND).resolve())
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMALAB_")}
    environment["PATH"] = f"{PROGRAMS.name}:{environment['PATH']}"
    environment |= {"COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
    words = ["bash", "-c", f"set -e\n{command}"]
    ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    said = [line for line in ended.stderr.splitlines() if line.startswith("numalab: ")]
    lines = [line.rstrip() for line in ended.stdout.splitlines() + said]
    return lines, ended.returncode, ended.stderr


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether shown output stands for printed output."""
    parts = []
    for line in shown:
        if line == LEFT_OUT:
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*".join(re.escape(p) for p in line.split(LEFT_OUT)) + "\n")
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in printed)) is not None


def likeness(shown: str, printed: str) -> float:
    """How alike two lines are if their figures are not looked at, from 0 to 1."""
    bare = [re.sub(r"[\d.]+", "0", line.split(LEFT_OUT)[0]) for line in (shown, printed)]
    cut = bare[1] if LEFT_OUT not in shown else bare[1][: len(bare[0])]
    return 1.0 if bare[0] == cut else SequenceMatcher(None, bare[0], cut, autojunk=False).ratio()


def shown_anew(shown: list[str], printed: list[str]) -> list[str]:
    """The output to show instead. What was left out stays left out: each shown line becomes the printed line
    that is most like it, in order."""
    if LEFT_OUT not in shown:
        return printed
    wanted = [line for line in shown if line != LEFT_OUT]
    # best[i][j]: likeness, summed, of the first i wanted lines to lines among the first j printed ones.
    best = [[0.0] * (len(printed) + 1) for _ in range(len(wanted) + 1)]
    alike = [[likeness(w, p) for p in printed] for w in wanted]
    for i, row in enumerate(alike, 1):
        for j, value in enumerate(row, 1):
            pair = best[i - 1][j - 1] + value if value > 0.5 else 0.0
            best[i][j] = max(best[i - 1][j], best[i][j - 1], pair)
    chosen: list[int] = []
    i, j = len(wanted), len(printed)
    while i > 0 and j > 0:
        if best[i][j] == best[i][j - 1]:
            j -= 1
        elif best[i][j] == best[i - 1][j]:
            i -= 1
        else:
            i, j = i - 1, j - 1
            chosen.insert(0, j)
    out: list[str] = []
    after = 0
    for at in chosen:
        if at > after:
            out.append(LEFT_OUT)
        out.append(next((s for s in wanted if LEFT_OUT in s and matches([s], [printed[at]])), printed[at]))
        after = at + 1
    return out if after == len(printed) else [*out, LEFT_OUT]


def carry_out(block: Block, name: str, folder: Path) -> None:
    """Does what a block asks for. Fails if a command ends with another code, or its output differs."""
    for command in block.before:
        _, code, errors = run(command, folder)
        assert code == 0, f"{name}: `{command}` ended with {code}: {errors}"
    if block.saves:
        (folder / block.saves[0]).write_text(block.saves[1])
    for step in block.steps:
        printed, code, errors = run(step.command, folder)
        place = f"{name}:{step.line}: `{step.command}`"
        assert code == step.code, f"{place} ended with {code}, expected {step.code}:\n{errors}"
        if step.shown is None or matches(step.shown, printed):
            continue
        assert "write" in MODES, (
            f"{place} prints other lines than the page shows (NUMALAB_DOCS=write writes them):\n"
            + "\n".join(printed)
            + "\nshown:\n"
            + "\n".join(step.shown)
        )
        step.shown = shown_anew(step.shown, printed)


def check(page: Path, folder: Path) -> int:
    """Carries out a page in an empty folder, writes it if asked to, and returns how many commands it ran."""
    text = page.read_text()
    parts, at, count = [], 0, 0
    for block in blocks(text, "slow" in MODES):
        carry_out(block, page.relative_to(ROOT).as_posix(), folder)
        count += len(block.steps)
        if any(step.shown is not None for step in block.steps):
            lines = [line for s in block.steps for line in (f"$ {s.command}", *(s.shown or []))]
            parts += [text[at : block.start], "".join(f"{line}\n" for line in lines)]
            at = block.end
    anew = "".join([*parts, text[at:]])
    if anew != text and "write" in MODES:
        page.write_text(anew)
    return count
