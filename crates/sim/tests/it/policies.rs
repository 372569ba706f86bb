//! Memory policies, advice and the administrator's settings of huge pages, each in a small run.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::tunable::Group;
use numalab_kernel::mm::thp::{ThpDefrag, ThpEnabled};
use numalab_kernel::mm::MmConfig;
use numalab_model::record::Outcome;

const MIB: u64 = 256;
/// Pages of its stack that a thread touches.
const STACK: u64 = 2;
/// Pages on node 0 beside the region: stack and data of the program, and the page of the second thread's stack that its
/// creator touches.
const PROGRAM: u64 = 2 + 8 + 1;

/// 64 MiB that a thread of node 0 writes and a thread of node 1 then sweeps for `time`.
fn text(policy: &str, region: &str, time: &str) -> String {
    let policy = if policy.is_empty() { String::new() } else { format!("[[policy]]\nname = \"mine\"\n{policy}") };
    format!(
        r#"
{policy}
[[process]]
name = "p"
threads = 2
affinity = {{ nodes = "thread" }}
[[process.region]]
name = "r"
size = "64MiB"
{region}
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
when = "thread == 0"
sleep = "1ms"
[[process.phase]]
when = "thread == 1"
time = "{time}"
access = "r"
"#
    )
}

fn go(machine_name: &str, kernel_name: &str, text: &str, settings: &[&str]) -> Outcome {
    let m = machine(machine_name);
    let mut mm = MmConfig::default();
    for s in settings {
        let (key, value) = s.split_once('=').unwrap();
        match key {
            "enabled" => mm.thp.enabled = ThpEnabled::parse(value).unwrap(),
            "defrag" => mm.thp.defrag = ThpDefrag::parse(value).unwrap(),
            _ => mm.thp.set(key, value).unwrap(),
        }
    }
    run(&m, &inline(text, &m, 1, &[]), &SimConfig { mm, ..kernel(kernel_name) }, 1)
}

/// Most pages of the first process on each node at once.
fn on_nodes(o: &Outcome) -> Vec<u64> {
    let s = o.series.iter().find(|s| s.name == "process_pages").unwrap();
    s.values.iter().map(|v| v.iter().copied().fold(0.0, f64::max) as u64).collect()
}

#[test]
fn interleaving_goes_by_address_in_the_steps_of_the_page_size() {
    let mine = "policy = \"mine\"";
    for (policy, share) in [
        ("mode = \"interleave\"\nnodes = [0, 1]", [32, 32]),
        ("mode = \"weighted_interleave\"\nnodes = [0, 1]\nweights = [3, 1]", [48, 16]),
    ] {
        let small = go("2x1x4x1", "off", &text(policy, mine, "1ms"), &[]);
        let huge = go("2x1x4x1", "off", &text(policy, &format!("{mine}\nadvice = \"huge\""), "1ms"), &[]);
        // The second thread has the other page of its stack on node 1.
        let want = vec![share[0] * MIB + PROGRAM, share[1] * MIB + STACK - 1];
        assert_eq!((on_nodes(&small), on_nodes(&huge)), (want.clone(), want), "{policy}");
        assert_eq!(counter(&small, "numa_interleave"), 64 * MIB, "{policy}");
        assert_eq!((counter(&huge, "numa_interleave"), counter(&huge, "thp_fault_alloc")), (32, 32), "{policy}");
    }
}

#[test]
fn preferred_many_and_bind_say_where() {
    for mode in ["bind", "preferred_many", "preferred"] {
        let policy = format!("mode = \"{mode}\"\nnodes = 2");
        let o = go("4x1x2x1", "off", &text(&policy, "policy = \"mine\"", "1ms"), &[]);
        assert_eq!(on_nodes(&o)[2], 64 * MIB, "{mode}: {:?}", on_nodes(&o));
    }
}

/// `MPOL_F_NUMA_BALANCING`: only with it are pages of a bound range scanned, and they move inside the mask alone.
#[test]
fn a_bound_range_is_balanced_with_the_flag_and_inside_its_mask() {
    let bound = |nodes: &str, flag: &str| {
        let policy = format!("mode = \"bind\"\nnodes = [{nodes}]\n{flag}");
        let o = go("4x1x2x1", "6.1", &text(&policy, "policy = \"mine\"", "12s"), &[]);
        (counter(&o, "numa_pte_updates"), counter(&o, "numa_pages_migrated"))
    };
    let (updates, moved) = bound("0, 1", "");
    assert!(updates < 64 && moved <= PROGRAM, "{updates} {moved}: only the program's own pages are scanned");
    let (updates, moved) = bound("0, 1", "numa_balancing = true");
    assert!(updates > 60 * MIB && moved >= 60 * MIB, "{updates} {moved}");
    assert!(bound("0, 2", "numa_balancing = true").1 <= PROGRAM, "the reader's node is not in the mask");
}

#[test]
fn enabled_and_advice_decide_who_gets_huge_pages() {
    let huge = |enabled: &str, advice: &str| {
        let region = if advice.is_empty() { String::new() } else { format!("advice = \"{advice}\"") };
        let o = go("2x1x4x1", "off", &text("", &region, "1ms"), &[&format!("enabled={enabled}")]);
        counter(&o, "thp_fault_alloc")
    };
    let row = |enabled: &str| ["", "huge", "nohuge"].map(|advice| huge(enabled, advice));
    assert_eq!(row("always"), [32, 32, 0]);
    assert_eq!(row("madvise"), [0, 32, 0]);
    assert_eq!(row("never"), [0, 0, 0]);
}

/// The settings of `defrag` on a node that has free memory and no free huge block: who compacts, and who wakes
/// kcompactd.
#[test]
fn defrag_says_who_compacts() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/workloads/fragmented-node.toml");
    let all = std::fs::read_to_string(file).unwrap();
    let advised = "size = \"memory\"\nadvice = \"huge\"";
    assert!(all.contains(advised));
    let plain = all.replace(advised, "size = \"memory\"");
    let mut m = machine("tr-1950x");
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 1 << 30);
    let events = |text: &str, defrag: &str| {
        let mut mm = MmConfig::default();
        mm.thp.enabled = ThpEnabled::Always;
        mm.thp.defrag = ThpDefrag::parse(defrag).unwrap();
        mm.compact.set("proactiveness", "0").unwrap();
        let w = resolve(text, &m, 1, &[("memory", "128MiB"), ("duration", "10ms")]);
        let o = run(&m, &w, &SimConfig { mm, ..kernel("off") }, 1);
        (counter(&o, "compact_stall") > 0, counter(&o, "compact_daemon_wake") > 0)
    };
    let (compacts, wakes, neither) = ((true, false), (false, true), (false, false));
    for (defrag, on_plain, on_advised) in [
        ("always", compacts, compacts),
        ("defer", wakes, wakes),
        ("defer+madvise", wakes, compacts),
        ("madvise", neither, compacts),
        ("never", neither, neither),
    ] {
        assert_eq!((events(&plain, defrag), events(&all, defrag)), (on_plain, on_advised), "{defrag}");
    }
}
