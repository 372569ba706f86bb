//! Instructions of the simulator per page event and per tick do not grow unnoticed.
//!
//! Callgrind counts the instructions of small fixed plans, which does not depend on what else the machine does. The
//! counts stand in `bench/instructions.toml`, which `make instructions` writes. A count that is 5 % larger than there
//! fails; the file says what a change costs, so a change that is worth it changes the file. Another compiler makes
//! other code: then, and without valgrind or optimisation, nothing is compared, and the test says so.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Largest growth of a count.
const GROWTH: f64 = 0.05;

/// Plan of a child.
const PLAN: &str = "NUMALAB_INSTRUCTIONS_PLAN";

/// What the instructions of a plan are divided by.
#[derive(Clone, Copy, PartialEq)]
enum Per {
    Tick,
    PageEvent,
}

struct Plan {
    name: &'static str,
    machine: &'static str,
    kernel: &'static str,
    workload: &'static str,
    params: &'static [(&'static str, &'static str)],
    per: Per,
}

/// Each is dominated by another path.
const PLANS: [Plan; 5] = [
    Plan {
        name: "everybody-computes",
        machine: "2x2x8x1",
        kernel: "6.12",
        workload: "coremark",
        params: &[("contexts", "33"), ("iterations", "200000")],
        per: Per::Tick,
    },
    Plan {
        name: "first-touch",
        machine: "2x1x4x1",
        kernel: "6.12",
        workload: "numa02",
        params: &[("memory", "512MiB"), ("loops", "1")],
        per: Per::PageEvent,
    },
    Plan {
        name: "thread-local",
        machine: "2x2x4x1",
        kernel: "6.3",
        workload: "numa01_THREAD_ALLOC",
        params: &[("memory", "64MiB"), ("loops", "1500")],
        per: Per::PageEvent,
    },
    Plan {
        name: "sweep-everything",
        machine: "2x2x4x1",
        kernel: "6.1",
        workload: "numa01",
        params: &[("memory", "128MiB"), ("loops", "60")],
        per: Per::PageEvent,
    },
    Plan {
        name: "random-shared",
        machine: "2x2x4x1",
        kernel: "6.12",
        workload: "random-shared",
        params: &[("memory", "256MiB"), ("duration", "3s")],
        per: Per::PageEvent,
    },
];

/// What callgrind counts, whatever is inlined into it.
#[inline(never)]
fn counted_run(
    m: &numalab_model::machine::Machine,
    w: &numalab_model::workload::Workload,
    k: &SimConfig,
) -> numalab_sim::Footprint {
    numalab_sim::measure(m, w, k, 1, false).unwrap().1
}

/// What a child does: runs a plan and prints how often what it counts by has happened.
fn child(name: &str) {
    let plan = PLANS.iter().find(|p| p.name == name).unwrap();
    let m = machine(plan.machine);
    let did = counted_run(&m, &workload(plan.workload, &m, 1, plan.params), &kernel(plan.kernel));
    println!("\ndid {}", if plan.per == Per::Tick { did.ticks } else { did.page_events });
}

/// Instructions for each tick or page event of a plan; an error if valgrind does not run.
fn count(plan: &Plan) -> Result<f64, String> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("callgrind");
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*counted_run*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().unwrap())
        .args(["instructions::instructions_do_not_grow", "--exact", "--nocapture"])
        .env(PLAN, plan.name)
        .output();
    let ran = ran.map_err(|e| format!("valgrind: {e}"))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let did = text.lines().find_map(|l| l.strip_prefix("did ")).and_then(|n| n.parse::<f64>().ok());
    let counts = std::fs::read_to_string(&out).unwrap_or_default();
    let total = counts.lines().find_map(|l| l.strip_prefix("totals: ")).and_then(|n| n.trim().parse::<f64>().ok());
    match (did, total) {
        (Some(did), Some(total)) if did > 0.0 && total > 0.0 => {
            println!("{}: {total} instructions, {did} {}", plan.name, unit(plan));
            Ok(total / did)
        }
        _ => Err(format!("valgrind does not run {}: {}", plan.name, String::from_utf8_lossy(&ran.stderr))),
    }
}

fn unit(plan: &Plan) -> &'static str {
    if plan.per == Per::Tick {
        "ticks"
    } else {
        "page events"
    }
}

/// The compiler, which the counts depend on.
fn compiler() -> String {
    let rustc = Command::new("rustc").arg("--version").output();
    rustc.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string()).unwrap_or_default()
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/instructions.toml")
}

/// The value of a key of the file: its tables are plans.
fn recorded(text: &str, table: &str, key: &str) -> Option<String> {
    let mut inside = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            inside = name.to_string();
        } else if let Some((k, v)) = line.split_once(" = ").filter(|_| inside == table) {
            if k == key {
                return Some(v.trim_matches('"').to_string());
            }
        }
    }
    None
}

fn write(compiler: &str, counts: &[f64]) {
    let mut text = String::from(
        "# Instructions of the simulator, counted by callgrind. Written by `make instructions`; a test fails when a count grows by\n\
         # more than 5 %. Another compiler makes other code, so then nothing is compared. `make test` counts unless the\n\
         # code is still of this version.\n",
    );
    let _ = writeln!(text, "compiler = \"{compiler}\"");
    let _ = writeln!(text, "version = \"{}\"", numalab_sim::VERSION);
    for (plan, count) in PLANS.iter().zip(counts) {
        let per = if plan.per == Per::Tick { "per_tick" } else { "per_page_event" };
        let _ = write!(text, "\n[{}]\n{per} = {count:.1}\n", plan.name);
    }
    std::fs::write(file(), text).unwrap();
}

#[test]
fn instructions_do_not_grow() {
    if let Ok(name) = std::env::var(PLAN) {
        return child(&name);
    }
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let writes = std::env::var("NUMALAB_INSTRUCTIONS").is_ok_and(|v| v == "write");
    if cfg!(debug_assertions) {
        assert!(!writes, "counts are those of optimised code: run `make instructions`");
        return eprintln!("instructions are not counted: this is no optimised build");
    }
    let compiler = compiler();
    let before = recorded(&text, "", "compiler").unwrap_or_default();
    if !writes && before != compiler {
        return eprintln!("instructions are not compared: they were counted with {before:?}, this is {compiler:?}");
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(!writes, "valgrind is not installed");
        return eprintln!("instructions are not counted: valgrind is not installed");
    }
    let counts: Vec<f64> = PLANS.iter().map(|p| count(p).unwrap()).collect();
    if writes {
        return write(&compiler, &counts);
    }
    let mut grown = Vec::new();
    for (plan, now) in PLANS.iter().zip(&counts) {
        let key = if plan.per == Per::Tick { "per_tick" } else { "per_page_event" };
        let then: f64 = recorded(&text, plan.name, key).unwrap_or_else(|| panic!("no {}", plan.name)).parse().unwrap();
        let change = (now / then - 1.0) * 100.0;
        println!("{}: {now:.1} instructions per unit, {then:.1} recorded ({change:+.1} %)", plan.name);
        if *now > then * (1.0 + GROWTH) {
            grown.push(format!("{}: {now:.1} instead of {then:.1} ({change:+.1} %)", plan.name));
        }
    }
    assert!(
        grown.is_empty(),
        "the simulator needs more instructions; if that is worth it, `make instructions` records it:\n{}",
        grown.join("\n")
    );
}
