"""Policies in Python: decisions of the modelled kernel, made by an object.

Subclass one of the classes, define its method, and give an instance to ``numalab.run(…, policy=…)``. Everything
else stays as the kernel that the run names has it. A method is called once per decision, which costs about a
microsecond besides what it does itself. An exception in it ends the run and is raised by ``run``.
"""

from __future__ import annotations

import hashlib
import inspect
from typing import TYPE_CHECKING, Literal

from numalab import _native

if TYPE_CHECKING:
    from numalab._native import Page, PageMove, Pass, Scan, Sides, TaskMove, Vma

_QUESTIONS = (
    "access",
    "mark",
    "fork_stays",
    "tasks_to_move",
    "placement_imbalance",
    "preferred_node",
    "scan_period",
    "migrate_page",
    "move_task",
)


class Policy:
    """A policy; use one of its subclasses."""

    #: Whether ``Vma.scan_counter`` counts scan visits although the kernel's own filter does not need it.
    counts_visits: bool = False

    #: Its name in comparisons, where a kernel is called ``KERNEL+NAME``; the name of the class by default.
    name: str | None = None

    @property
    def label(self) -> str:
        """The name in comparisons."""
        return self.name or type(self).__name__

    def native(self) -> _native.Policy:
        """Return the policy as the extension takes it."""
        questions = [q for q in _QUESTIONS if callable(getattr(self, q, None))]
        if not questions:
            raise TypeError(f"{type(self).__name__} decides nothing; expected one of {', '.join(_QUESTIONS)}")
        return _native.Policy(self, questions, self.counts_visits)

    def conditions(self) -> list[tuple[str, str]]:
        """Return what tells plans with this policy from others: its name and a digest of its source."""
        try:
            source = inspect.getsource(type(self))
        except (OSError, TypeError):
            source = repr(type(self))
        state = "".join(f"{k}={v!r};" for k, v in sorted(vars(self).items()))
        digest = hashlib.sha256((source + state).encode()).hexdigest()[:16]
        return [("policy", f"{self.label}@{digest}")]


class VmaFilter(Policy):
    """Which mappings a thread may scan; in place of the role ``vma_filter``.

    Define ``access(vma, scan)``. It is asked once per mapping and scan, and returns whether the thread scans the
    mapping. ``"partial"`` allows it too, and counts it as the rest of an earlier scan. The steps of the walk around the
    filter (scan delay, windows of accesses) stay those of the kernel's own filter.
    """

    def access(self, vma: Vma, scan: Scan) -> bool | Literal["partial"]:
        """Return whether the thread ``scan.tid`` may scan ``vma``."""
        raise NotImplementedError


class PageFilter(Policy):
    """Which pages a scan marks; in place of the role ``page_filter``.

    Define ``mark(page)``. It is asked for every page that a scan meets, so it is by far the most frequent.
    """

    def mark(self, page: Page) -> bool:
        """Return whether ``page`` is marked, so that its next access takes a hint fault."""
        raise NotImplementedError


class Imbalance(Policy):
    """Imbalance between nodes that is tolerated; before the role ``imbalance``.

    Define any of ``fork_stays(sides)``, which returns whether a forked task stays; ``tasks_to_move(raw, sides)``,
    tasks to pull for a difference of ``raw``; and ``placement_imbalance(imbalance, sides)``, what counts against a
    move by NUMA balancing. ``None`` leaves the answer to the kernel. ``sides`` has ``nr``, ``weight`` and ``idle``
    (tasks, CPUs, idle CPUs) here, and ``other_nr``, ``other_weight`` and ``other_idle`` there.
    """

    if TYPE_CHECKING:

        def fork_stays(self, sides: Sides) -> bool | None:
            """Return whether a forked task stays on its node."""

        def tasks_to_move(self, raw: int, sides: Sides) -> int | None:
            """Return how many tasks to move for a difference of ``raw``."""

        def placement_imbalance(self, imbalance: int, sides: Sides) -> int | None:
            """Return the imbalance that counts against a move."""


class Placement(Policy):
    """Which node a task prefers; in place of the choice by most faults.

    Define ``preferred_node(task, faults, node, role)``. It is asked once per pass of a task. ``faults`` are its
    averages of memory faults by node, ``node`` is where it runs, and ``role`` is the kernel's choice or ``None``.
    """

    def preferred_node(self, task: int, faults: list[int], node: int, role: int | None) -> int | None:
        """Return the preferred node, or ``None`` for none."""
        raise NotImplementedError


class ScanPeriod(Policy):
    """How long the next scan period of a task is; in place of the kernel's rule (``update_task_scan_period``).

    Define ``scan_period(seen, role_ms)``. It is asked once per pass of a task. ``seen`` has its ``task`` and
    ``period_ms`` until now, the bounds ``min_ms`` and ``max_ms``, and pages of hint faults since the last pass:
    ``remote``, ``local``, ``failed`` (not migrated), ``shared``, ``private``. ``role_ms`` is the kernel's choice.
    Periods are ms of the task's run time, and are brought between the bounds. Kernels before 3.13 have no such
    passes.
    """

    def scan_period(self, seen: Pass, role_ms: int) -> int | None:
        """Return the next period, ms, or ``None`` for the kernel's choice."""
        raise NotImplementedError


class PageMigration(Policy):
    """Which pages move to the node of a hint fault; in place of ``should_numa_migrate_memory``.

    Define ``migrate_page(page, role)``. It is asked once per hint fault on a page, most of all by far. ``page`` has
    the faulting ``task``, the ``node`` of the page and ``to_node``; base ``pages``, ``huge``, ``mapcount`` and
    ``shared_mapping``; ``last_node``, where its last hint fault was (``None`` before the first one), and
    ``last_was_own``, whether that was one of this task; and ``faults``, averages of the task's memory faults by node.
    ``role`` is whether the kernel would move it. What a page waits for, and whether there is room, stays as it is.
    Pages that a policy keeps and the kernel would have moved are in no count of ``reasons``. Memory tiering is not
    asked.
    """

    def migrate_page(self, page: PageMove, role: bool) -> bool | None:
        """Return whether ``page`` moves, or ``None`` for the kernel's choice."""
        raise NotImplementedError


class TaskMigration(Policy):
    """Which tasks move to the CPU that a search near their preferred node has found (``task_numa_migrate``).

    Define ``move_task(found)``. It is asked once per search that finds a CPU. ``found`` has the ``task``, ``cpu`` and
    ``node`` where it is, ``to_cpu`` and ``to_node``; ``swap_with``, the task that would come in return, or ``None``;
    and ``gain``, what the search expects in thousandths of faults. The kernel always moves.
    """

    def move_task(self, found: TaskMove) -> bool | None:
        """Return whether the task moves; ``None`` is the kernel's choice, which is to move."""
        raise NotImplementedError
