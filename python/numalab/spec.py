"""Machines, kernels, workloads and experiments built in Python.

Every class has the keys of the TOML file of the same name (``docs/reference``), and ``toml()`` writes that
file. A key that is ``None`` or empty is left out. Python's keywords have an underscore behind them: ``for_``,
``in_``. Numbers may be expressions of the machine, as text: ``threads="cpus // 2"``. Nothing is checked here:
the command does it when the value is used, and its message names the place in the written TOML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from numalab.files import replace
from numalab.toml import dumps

# A number, or an expression of the machine as text.
Number = int | float | str


def _plain(value: Any) -> Any:
    """Return a value as TOML has it: dataclasses as tables."""
    if isinstance(value, _Table):
        return value._document()
    if isinstance(value, Mapping):
        return {name: _plain(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


class _Table:
    """A table of a file. Keys are the fields of the dataclass; ``NAMES`` has those of other spelling."""

    NAMES: ClassVar[Mapping[str, str]] = {}

    def _document(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for f in fields(self):  # type: ignore[arg-type]
            value = _plain(getattr(self, f.name))
            if value is None or (isinstance(value, (list, dict)) and not value):
                continue
            out[self.NAMES.get(f.name, f.name.rstrip("_"))] = value
        return out


class Spec(_Table):
    """A file of its own: it has a name and a folder of the catalog."""

    name: str
    KIND: ClassVar[str]

    def toml(self) -> str:
        """Return the file as text."""
        return dumps(self._document())

    def save(self, folder: str | Path = ".") -> Path:
        """Write ``folder/NAME.toml`` and return its path."""
        path = Path(folder) / f"{self.name}.toml"
        replace(path, self.toml().encode())
        return path

    def _repr_html_(self) -> str:
        """Return what the command shows of it, or why it is refused, for notebooks: of a machine, its picture."""
        import html
        import tempfile

        from numalab import _native

        with tempfile.TemporaryDirectory(prefix="numalab-") as folder:
            code, text, message = _native.call(["show", self.KIND, str(self.save(folder))])
        shown = text if code == 0 else f"{message}\n\n{self.toml()}"
        shown = shown.replace(f"{folder}/", "")
        return f"<pre>{html.escape(shown)}</pre>"


@dataclass(frozen=True)
class Layout(_Table):
    """A regular machine: the counts of its parts."""

    sockets: int
    cores_per_node: int
    nodes_per_socket: int = 1
    threads_per_core: int = 1
    llcs_per_node: int = 1


@dataclass(frozen=True)
class Node(_Table):
    """A node: ``memory`` such as ``"256 GiB"``; ``kind`` is dram, hbm, gpu, optane or cxl; rates in GB/s."""

    id: int
    socket: int | None = None
    cpus: str | None = None
    memory: str | None = None
    kind: str | None = None
    tier: int | None = None
    peak_gbps: float | None = None
    sustained_gbps: float | None = None


@dataclass(frozen=True)
class Link(_Table):
    """What joins sockets or nodes. Rates in GB/s per direction, ``hop_ns`` in ns."""

    kind: str
    peak_gbps: float
    sustained_gbps: float
    hop_ns: float
    scope: str | None = None
    pairs: Sequence[Sequence[int]] = ()
    transit_gbps: float | None = None
    transit_hop_ns: float | None = None


@dataclass(frozen=True)
class Machine(Spec):
    """A machine (``docs/reference/machine-files.md``). ``extends`` names one of the catalog to start from."""

    KIND: ClassVar[str] = "machines"
    NAMES: ClassVar[Mapping[str, str]] = {"nodes": "node", "links": "link", "class_": "class"}

    name: str
    title: str
    extends: str | None = None
    class_: str | None = None
    ipc: float | None = None
    node_reclaim_distance: int | None = None
    assumed: Sequence[str] = ()
    layout: Layout | None = None
    nodes: Sequence[Node] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)
    distance: Mapping[str, Any] = field(default_factory=dict)
    latency: Mapping[str, Any] = field(default_factory=dict)
    hop: Mapping[str, Any] = field(default_factory=dict)
    links: Sequence[Link] = ()
    routing: str | None = None
    clock: Mapping[str, float] = field(default_factory=dict)
    cache: Mapping[str, Any] = field(default_factory=dict)
    stream: Mapping[str, Any] = field(default_factory=dict)
    tlb: Mapping[str, Any] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel(Spec):
    """A kernel (``docs/reference/kernels.md``): what it changes on the one that it ``extends``."""

    KIND: ClassVar[str] = "kernels"

    name: str
    title: str
    extends: str | None = None
    alias_of: str | None = None
    about: str | None = None
    since: str | None = None
    image: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    tunables: Mapping[str, bool | int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Param(_Table):
    """A parameter of a workload: its value, a number or an expression, and what it is."""

    value: Number
    about: str


@dataclass(frozen=True)
class Policy(_Table):
    """A memory policy: ``mode`` is default, local, preferred, bind, interleave, and so on."""

    name: str
    mode: str
    nodes: Number | Sequence[int] | None = None
    weights: Sequence[int] = ()
    numa_balancing: bool | None = None


@dataclass(frozen=True)
class Score(_Table):
    """What is counted: ``better`` is higher or lower; ``per_second`` divides by seconds."""

    name: str
    unit: str
    better: str = "higher"
    per_second: bool | None = None


@dataclass(frozen=True)
class Barrier(_Table):
    """How threads wait for each other; ``spin`` waits busily."""

    name: str
    spin: bool | None = None
    over: Number | None = None


@dataclass(frozen=True)
class Channel(_Table):
    """Messages between threads; ``kind`` is pipe or futex."""

    name: str
    over: Number | None = None
    kind: str | None = None


@dataclass(frozen=True)
class Require(_Table):
    """A condition on the machine, and why the workload needs it."""

    that: str
    because: str


@dataclass(frozen=True)
class Region(_Table):
    """A mapping of a process: ``size`` in bytes, as a number with a unit such as ``"1GiB"``."""

    name: str
    size: Number
    kind: str | None = None
    over: Number | None = None
    misalign: Number | None = None
    advice: str | None = None
    policy: str | None = None
    huge_policy: str | None = None
    second_level_fault: Number | None = None
    when: str | None = None
    pinned: bool | None = None


@dataclass(frozen=True)
class Step(_Table):
    """A step of a thread: exactly one verb (``access`` to ``steps``), and modifiers."""

    name: str | None = None
    access: str | None = None
    compute: Number | None = None
    sleep: Number | None = None
    barrier: str | None = None
    signal: str | None = None
    wait: str | None = None
    discard: str | None = None
    direct_io: str | None = None
    move_pages: str | None = None
    score: str | None = None
    steps: Sequence[Step] = ()
    for_: str | None = None
    in_: Number | Sequence[int] | None = None
    let: Mapping[str, Number] = field(default_factory=dict)
    when: Number | None = None
    policy: str | None = None
    timed: str | None = None
    count: Number | None = None
    time: Number | None = None
    slice: str | None = None
    offset: Number | None = None
    len: Number | None = None
    pattern: str | None = None
    accesses: Number | None = None
    stride: Number | None = None
    block: Number | None = None
    theta: float | None = None
    alpha: float | None = None
    write: Number | None = None
    cost: Number | None = None
    counts: str | None = None
    unit_bytes: Number | None = None
    amount: Number | None = None
    exponential: bool | None = None
    io: str | None = None
    order: str | None = None
    bytes: Number | None = None
    ios: Number | None = None
    latency: Number | None = None
    to: Number | Sequence[int] | None = None


@dataclass(frozen=True)
class Process(_Table):
    """A process: its threads, its mappings, and what its threads do."""

    NAMES: ClassVar[Mapping[str, str]] = {"regions": "region", "phases": "phase", "groups": "group"}

    name: str
    count: Number | None = None
    parent: str | None = None
    parent_index: Number | None = None
    fork: str | None = None
    policy: str | None = None
    threads: Number | None = None
    initial: str | None = None
    affinity: Mapping[str, Any] = field(default_factory=dict)
    cpuset: Mapping[str, Any] = field(default_factory=dict)
    cpu_weight: Number | None = None
    regions: Sequence[Region] = ()
    prologue: Sequence[Step] = ()
    phases: Sequence[Step] = ()
    groups: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Workload(Spec):
    """A workload (``docs/reference/workloads.md``): processes, their memory, and what their threads do."""

    KIND: ClassVar[str] = "workloads"
    NAMES: ClassVar[Mapping[str, str]] = {
        "requires": "require",
        "policies": "policy",
        "barriers": "barrier",
        "channels": "channel",
        "scores": "score",
        "processes": "process",
    }

    name: str
    title: str
    about: str
    source: str
    limit: Number | None = None
    params: Mapping[str, Param | Number] = field(default_factory=dict)
    requires: Sequence[Require] = ()
    policies: Sequence[Policy] = ()
    barriers: Sequence[Barrier] = ()
    channels: Sequence[Channel] = ()
    scores: Sequence[Score] = ()
    processes: Sequence[Process] = ()


@dataclass(frozen=True)
class Experiment(Spec):
    """An experiment (``docs/reference/experiments.md``): machines × kernels × workloads × seeds."""

    KIND: ClassVar[str] = "experiments"
    NAMES: ClassVar[Mapping[str, str]] = {"settings": "set", "columns": "column"}

    name: str
    title: str
    machines: Sequence[str]
    workloads: Sequence[str]
    kernels: Sequence[str] = ()
    about: str | None = None
    baseline: str | None = None
    iterations: int | None = None
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    columns: Sequence[Mapping[str, Any]] = ()
