"""`docs/reference/python-api.md` is written from the docstrings; `NUMALAB_DOCS=write` writes it."""

import dataclasses
import inspect
import os
import textwrap
from pathlib import Path
from typing import Any

import numalab as nl

PAGE = Path(__file__).parents[2] / "docs/reference/python-api.md"
HEAD = """# Python API

<!-- Written from the docstrings by `make reference`; do not edit. -->

`import numalab as nl`. What needs a library says so when it is called; the extra `all` of
[the package](../how-to/install.md#with-pip) brings all of them. Start with
[your first run in Python](../tutorials/python.md).

Types of all names come with the package (`py.typed`).
"""
GROUPS = {
    "Run and compare": ["run", "Run", "Comparison", "rows", "Table", "Catalog"],
    "Specs": [
        "Machine",
        "Layout",
        "Node",
        "Link",
        "Kernel",
        "Workload",
        "Process",
        "Region",
        "Step",
        "Param",
    ],
    "More of specs": ["Policy", "Score", "Barrier", "Channel", "Require", "Experiment"],
    "Sweeps": ["Grid", "sweep", "open_sweep", "Sweep"],
    "Tuning": ["tune", "Tuning"],
    "Accesses of a program": ["record", "open_record", "AccessRecord"],
    "Policies": [
        "VmaFilter",
        "PageFilter",
        "Imbalance",
        "Placement",
        "ScanPeriod",
        "PageMigration",
        "TaskMigration",
    ],
    "Published tables": ["reproduce", "Reproduction"],
    "The command": ["Lab"],
    "Errors": ["LabError", "SpecError", "UnknownName", "SweepInterrupted", "MissingExtra", "LabWarning"],
}


def prose(thing: Any) -> str:
    """A docstring as Markdown: code in single backticks."""
    text = inspect.cleandoc(thing.__doc__ or "").replace("``", "`")
    return text.replace("\n    ", "\n")


def signature(name: str, thing: Any) -> str:
    """A call as a reader types it, wrapped."""
    try:
        text = f"{name}{inspect.signature(thing)}"
    except ValueError:
        return name
    text = text.replace("'", "").replace("_native.", "").replace("numalab.", "").replace("<factory>", "…")
    text = text.replace("(self)", "()").replace("(self, ", "(").replace("(self", "(")
    return "\n".join(textwrap.wrap(text, 110, subsequent_indent="    ", break_long_words=False))


def members(thing: Any) -> list[tuple[str, Any]]:
    """The public methods and properties that a class itself defines."""
    own = [(n, v) for n, v in vars(thing).items() if not n.startswith("_") and n not in ("KIND", "NAMES")]
    return [(n, v) for n, v in own if inspect.isfunction(v) or isinstance(v, property)]


def entry(name: str) -> str:
    thing = getattr(nl, name, None) or getattr(nl.spec, name)
    parts = [f"### {name}", "", "```python", signature(name, thing), "```", "", prose(thing), ""]
    if (
        inspect.isclass(thing)
        and not dataclasses.is_dataclass(thing)
        or name in ("Run", "Sweep", "Grid", "Tuning", "AccessRecord")
    ):
        for member, value in members(thing):
            if isinstance(value, property):
                parts += [" ".join(f"* `{member}`: {prose(value)}".split())]
            else:
                call = " ".join(signature(member, value).split())
                parts += [" ".join(f"* `{call}`: {prose(value)}".split())]
        parts += [""]
    return "\n".join(parts)


def page() -> str:
    out = [HEAD]
    for title, names in GROUPS.items():
        out += [f"## {title}", "", *(entry(name) for name in names)]
    return "\n".join(out).rstrip() + "\n"


def test_every_public_name_is_described() -> None:
    described = {name for names in GROUPS.values() for name in names}
    assert set(nl.__all__) - {"__version__"} <= described


def test_the_page_is_fresh() -> None:
    want = page()
    if "write" in os.environ.get("NUMALAB_DOCS", ""):
        PAGE.write_text(want)
    assert PAGE.read_text() == want, "stale: `make reference` writes it"
