"""Tests of a trace with Perfetto's own schema, not with the one that numalab writes it with."""

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import numalab as nl

COMMAND = os.environ.get("NUMALAB", str(Path(__file__).parents[2] / "target/release/numalab"))
RUN = "run --machine 2x1x4x1 --workload numa01_THREAD_ALLOC --kernel 6.3 --param memory=64MiB"


def numalab(line: str, cwd: Path) -> str:
    done = subprocess.run([COMMAND, *line.split()], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout


def test_perfetto_reads_every_field_of_a_trace(tmp_path: Path) -> None:
    summary = json.loads(numalab(f"{RUN} --param loops=12000 --trace --json --out d", tmp_path))
    record = tmp_path / "d" / summary["runs"][0]["record"]
    numalab(f"trace {record} --out t.pftrace", tmp_path)
    trace = Trace()
    trace.ParseFromString((tmp_path / "t.pftrace").read_bytes())
    assert unknown(trace) == 0, "every field that is written is one that the schema has"

    sums = annotated(trace)
    counters = json.loads((record / "scalars.json").read_text())["counters"]
    assert sums["faults faults"] == counters["numa_hint_faults"] > 1000
    assert sums["faults pages migrated"] == counters["numa_pages_migrated"]
    assert sums["scan pages marked"] == counters["numa_pte_updates"]
    threads = {t.tid: t.name for p in trace.packet for t in p.process_tree.threads}
    assert sorted(threads.values())[:2] == ["main.0/t0", "main.0/t1"]
    switches = [e.sched_switch for p in trace.packet for e in p.ftrace_events.event]
    assert len(switches) > 20
    assert all(s.next_pid == 0 or threads[s.next_pid] == s.next_comm for s in switches)


def annotated(trace: Trace) -> dict[str, int]:
    """Sums of the annotations of slices, by category and name."""
    sums: dict[str, int] = defaultdict(int)
    for packet in trace.packet:
        event = packet.track_event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            for a in event.debug_annotations:
                sums[f"{event.categories[0]} {a.name}"] += a.uint_value
    return sums


def unknown(message: Message) -> int:
    """Number of fields of a message, and of messages inside it, that the schema does not have."""
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            count += sum(unknown(v) for v in value) if field.is_repeated else unknown(value)
    return count


def test_a_trace_from_python_has_what_the_run_counted(tmp_path: Path) -> None:
    run = nl.run("4x1x2x1", "6.12", "numa02", params={"loops": 100}, progress=False).runs[0]
    trace = Trace()
    trace.ParseFromString(run.trace(tmp_path / "run.pftrace").read_bytes())
    assert unknown(trace) == 0
    sums = annotated(trace)
    assert sums["faults pages migrated"] == run.counters["numa_pages_migrated"] > 1000
    assert sums["scan pages marked"] == run.counters["numa_pte_updates"] > 1000
