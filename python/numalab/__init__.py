"""A laboratory for automatic NUMA balancing, in Python.

``run`` simulates machines × kernels × workloads in this process, ``sweep`` a grid of plans on Dask, and ``tune``
searches settings with Optuna. ``Lab`` starts the command, for real kernels and everything else. Units are those
of the command: seconds, pages, counts; a name ends in its unit where it has another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.24.0"

# Where each name is; a module is imported when its name is first used, so that `import numalab` is quick.
_HOME = {
    "AccessRecord": "accesses",
    "Barrier": "spec",
    "Catalog": "catalog",
    "Channel": "spec",
    "Comparison": "comparison",
    "Experiment": "spec",
    "Grid": "grid",
    "Imbalance": "policy",
    "Kernel": "spec",
    "Lab": "lab",
    "LabError": "errors",
    "LabWarning": "errors",
    "Layout": "spec",
    "Link": "spec",
    "Machine": "spec",
    "MissingExtra": "errors",
    "Node": "spec",
    "PageFilter": "policy",
    "PageMigration": "policy",
    "Param": "spec",
    "Placement": "policy",
    "Process": "spec",
    "Region": "spec",
    "Reproduction": "reproduction",
    "Require": "spec",
    "Run": "simulate",
    "ScanPeriod": "policy",
    "Score": "spec",
    "SpecError": "errors",
    "Step": "spec",
    "Sweep": "sweeps",
    "SweepInterrupted": "sweeps",
    "Table": "table",
    "TaskMigration": "policy",
    "Tuning": "tuning",
    "UnknownName": "errors",
    "VmaFilter": "policy",
    "Workload": "spec",
    "open_record": "accesses",
    "open_sweep": "sweeps",
    "record": "accesses",
    "reproduce": "reproduction",
    "rows": "comparison",
    "run": "simulate",
    "sweep": "sweeps",
    "tune": "tuning",
}

__all__ = [*sorted(_HOME), "__version__"]  # noqa: PLE0604

if TYPE_CHECKING:
    from numalab.accesses import AccessRecord as AccessRecord
    from numalab.accesses import open_record as open_record
    from numalab.accesses import record as record
    from numalab.catalog import Catalog as Catalog
    from numalab.comparison import Comparison as Comparison
    from numalab.comparison import rows as rows
    from numalab.errors import LabError as LabError
    from numalab.errors import LabWarning as LabWarning
    from numalab.errors import MissingExtra as MissingExtra
    from numalab.errors import SpecError as SpecError
    from numalab.errors import UnknownName as UnknownName
    from numalab.grid import Grid as Grid
    from numalab.lab import Lab as Lab
    from numalab.policy import Imbalance as Imbalance
    from numalab.policy import PageFilter as PageFilter
    from numalab.policy import PageMigration as PageMigration
    from numalab.policy import Placement as Placement
    from numalab.policy import ScanPeriod as ScanPeriod
    from numalab.policy import TaskMigration as TaskMigration
    from numalab.policy import VmaFilter as VmaFilter
    from numalab.reproduction import Reproduction as Reproduction
    from numalab.reproduction import reproduce as reproduce
    from numalab.simulate import Run as Run
    from numalab.simulate import run as run
    from numalab.spec import (
        Barrier as Barrier,
    )
    from numalab.spec import (
        Channel as Channel,
    )
    from numalab.spec import (
        Experiment as Experiment,
    )
    from numalab.spec import (
        Kernel as Kernel,
    )
    from numalab.spec import (
        Layout as Layout,
    )
    from numalab.spec import (
        Link as Link,
    )
    from numalab.spec import (
        Machine as Machine,
    )
    from numalab.spec import (
        Node as Node,
    )
    from numalab.spec import (
        Param as Param,
    )
    from numalab.spec import (
        Process as Process,
    )
    from numalab.spec import (
        Region as Region,
    )
    from numalab.spec import (
        Require as Require,
    )
    from numalab.spec import (
        Score as Score,
    )
    from numalab.spec import (
        Step as Step,
    )
    from numalab.spec import (
        Workload as Workload,
    )
    from numalab.sweeps import Sweep as Sweep
    from numalab.sweeps import SweepInterrupted as SweepInterrupted
    from numalab.sweeps import open_sweep as open_sweep
    from numalab.sweeps import sweep as sweep
    from numalab.table import Table as Table
    from numalab.tuning import Tuning as Tuning
    from numalab.tuning import tune as tune


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'numalab' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"numalab.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
