//! A machine, a look at a run and its memory as JSON.

use numalab_nouns::machine::{Machine, Node};
use numalab_nouns::record::events::Event;
use numalab_nouns::workload::Workload;
use numalab_sim::{Doing, Layout, Look, ThreadLook};
use serde_json::{json, Value};

/// What a page draws of a machine: nodes with their CPUs and memory, distances, and who shares a core.
pub fn machine(m: &Machine) -> Value {
    let node = |n: &Node| json!({ "id": n.id, "socket": n.socket, "memory_bytes": n.memory_bytes, "cpus": n.cpus });
    json!({
        "name": m.name,
        "title": m.title,
        "sockets": m.sockets,
        "nodes": m.nodes.iter().map(node).collect::<Vec<_>>(),
        "cpus": m.cpus.iter().map(|c| json!({ "node": c.node, "core": c.core, "llc": c.llc })).collect::<Vec<_>>(),
        "distance": m.distance,
        "latency_ns": m.latency_ns,
        "warnings": m.warnings,
    })
}

/// Names of processes, their regions and threads.
pub fn workload(w: &Workload) -> Value {
    let region = |r: &numalab_nouns::workload::Region| json!({ "name": r.name, "size_bytes": r.size_bytes });
    let processes: Vec<Value> = w
        .processes
        .iter()
        .map(|p| {
            let regions: Vec<Value> = p.regions.iter().map(region).collect();
            json!({ "name": p.name, "threads": p.threads.len(), "regions": regions })
        })
        .collect();
    let scores: Vec<Value> = w.scores.iter().map(|s| json!({ "name": s.name, "unit": s.unit })).collect();
    json!({ "name": w.name, "title": w.title, "processes": processes, "scores": scores })
}

/// Which memory the cells of a look stand for: process, region, first page and page behind the last of each.
pub fn layout(l: &Layout) -> Value {
    let cells: Vec<_> = l.cells.iter().map(|c| (c.process, c.region, c.first, c.end)).collect();
    json!({ "cells": cells, "page_bytes": l.page_bytes, "nodes": l.nodes, "processes": l.processes })
}

/// A letter for what a thread does.
fn letter(doing: Doing) -> &'static str {
    match doing {
        Doing::Runs => "r",
        Doing::Queued => "q",
        Doing::Sleeps => "s",
        Doing::Ended => "e",
    }
}

/// Process, thread, CPU, what it does, preferred node (-1 for none), scan period in ms, task.
fn thread(t: &ThreadLook) -> Value {
    let preferred = t.preferred.map_or(-1, |n| n as i64);
    json!([t.process, t.thread, t.cpu, letter(t.doing), preferred, t.scan_period_ms, t.task])
}

/// Time, kind, code, task, two fields, ns, and the cell (-1 for none). What the fields `x` and `y` are is said at
/// [`numalab_nouns::record::events::Kind`].
fn event((e, place): (&Event, &Option<usize>)) -> Value {
    json!([e.time_ns, e.kind as u16, e.code, e.task, e.x, e.y, e.ns, place.map_or(-1, |c| c as i64)])
}

/// A look at a run.
pub fn look(l: &Look) -> Value {
    json!({
        "now_ns": l.now_ns,
        "threads": l.threads.iter().map(thread).collect::<Vec<_>>(),
        "pages": l.pages,
        "marked": l.marked,
        "scan": l.scan_cells.iter().map(|c| c.map_or(-1, |c| c as i64)).collect::<Vec<_>>(),
        "counts": l.counts,
        "cpu_ns": l.cpu_ns,
        "events": l.events.iter().zip(&l.places).map(event).collect::<Vec<_>>(),
        "dropped": l.dropped,
    })
}
