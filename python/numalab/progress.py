"""A bar for runs in progress, on a terminal and in notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# A bar appears for what takes longer than this, s.
DELAY_S = 1.0

Show = Callable[[int, int, Mapping[str, float]], None]


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook, without importing IPython."""
    shell = sys.modules.get("IPython")
    get = getattr(shell, "get_ipython", None)
    return get is not None and type(get()).__name__ == "ZMQInteractiveShell"


def _nothing(done: int, total: int, live: Mapping[str, float]) -> None:
    """Show nothing."""


@contextmanager
def shown(progress: bool | Show, unit: str = "runs") -> Iterator[Show]:
    """Yield what to call with the progress so far.

    With ``True`` that is a bar of rich (the extra ``progress``) if standard error is a terminal or
    this is a notebook; without rich, and anywhere else, it is nothing.
    """
    if callable(progress):
        yield progress
        return
    if not progress or not (_in_notebook() or sys.stderr.isatty()):
        yield _nothing
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield _nothing
        return
    columns: list[Any] = [BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn()]
    bar = Progress(*columns, TextColumn("{task.fields[live]}"), console=Console(stderr=True), transient=True)
    task = bar.add_task("", live="")
    begin = time.monotonic()
    started = False

    def show(done: int, total: int, live: Mapping[str, float]) -> None:
        nonlocal started
        if not started and time.monotonic() - begin > DELAY_S:
            bar.start()
            started = True
        text = ", ".join(f"{name}: {s:.1f} s" for name, s in list(live.items())[:2])
        bar.update(task, completed=done, total=total, live=text)

    try:
        yield show
    finally:
        if started:
            bar.stop()
