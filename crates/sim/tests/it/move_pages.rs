//! The step `move_pages`: who pays, what arrives, what is refused.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

const MACHINE: &str = "2x1x4x1";
/// Pages of 16 MiB.
const PAGES: u64 = 4096;

/// A thread on node 0 fills 16 MiB there. `region` are more keys of the region, `phases` come after.
fn text(region: &str, phases: &str) -> String {
    format!(
        r#"
[[process]]
name = "p"
initial = "works"
affinity = {{ nodes = 0 }}
[[process.region]]
name = "r"
size = "16MiB"
{region}
[[process.phase]]
access = "r"
write = 1
{phases}
[[process.phase]]
sleep = "2s"
"#
    )
}

fn go(machine_name: &str, kernel: &SimConfig, text: &str) -> Outcome {
    let m = machine(machine_name);
    run(&m, &inline(text, &m, 1, &[]), kernel, 1)
}

fn pages_on(o: &Outcome, node: usize) -> f64 {
    let name = format!("p.0/node{node}");
    let s = o.series.iter().find(|s| s.name == "process_pages").unwrap();
    let column = s.columns.iter().position(|c| *c == name).unwrap_or_else(|| panic!("{:?}", s.columns));
    *s.values[column].last().unwrap()
}

fn off() -> SimConfig {
    kernel_set("6.12", &[("system.numa_balancing", "0"), ("system.thp", "never")])
}

const MOVE: &str = "[[process.phase]]\nmove_pages = \"r\"\nto = 1\n";

#[test]
fn pages_arrive_and_the_caller_pays() {
    let without = go(MACHINE, &off(), &text("", ""));
    let with = go(MACHINE, &off(), &text("", MOVE));
    assert!(pages_on(&without, 1) < 100.0 && pages_on(&with, 1) >= PAGES as f64);
    assert_eq!((counter(&with, "pgmigrate_success"), counter(&with, "pgmigrate_fail")), (PAGES, 0));
    assert_eq!(counter(&without, "pgmigrate_success"), 0);
    let more = |name| scalar(&with, name) - scalar(&without, name);
    // Each page takes a microsecond or several, all of it in the kernel, and the thread waits for it.
    let least = PAGES as f64 * 1e-6;
    assert!(more("system_s") > least && more("system_s") < 20.0 * least, "{}", more("system_s"));
    assert!((more("elapsed_s") - more("system_s")).abs() < 0.2 * more("system_s"), "{}", more("elapsed_s"));
    assert!(more("user_s").abs() < least, "{}", more("user_s"));
}

#[test]
fn a_second_move_finds_nothing_to_do_and_a_part_moves_alone() {
    let twice = go(MACHINE, &off(), &text("", &MOVE.repeat(2)));
    assert_eq!(counter(&twice, "pgmigrate_success"), PAGES);
    let part = go(MACHINE, &off(), &text("", &format!("{MOVE}offset = \"1MiB\"\nlen = \"5000B\"\n")));
    assert_eq!(counter(&part, "pgmigrate_success"), 2, "pages that have a byte in the range");
    let turns = go(MACHINE, &off(), &text("", &MOVE.replace("to = 1", "to = [1, 0]")));
    let moved = counter(&turns, "pgmigrate_success");
    assert!(moved.abs_diff(PAGES / 2) <= 512, "blocks of 2 MiB take turns: {moved}");
}

#[test]
fn huge_pages_move_whole() {
    let huge = kernel_set("6.12", &[("system.numa_balancing", "0"), ("system.thp", "always")]);
    let o = go(MACHINE, &huge, &text("", MOVE));
    let (huge, base) = (counter(&o, "thp_migration_success"), counter(&o, "pgmigrate_success"));
    assert!(huge >= 7 && base >= PAGES, "{huge} {base}");
    assert!(pages_on(&o, 1) >= PAGES as f64);
}

#[test]
fn pinned_pages_fail_and_shared_pages_are_left_alone() {
    let pinned = go(MACHINE, &off(), &text("pinned = true", MOVE));
    assert_eq!((counter(&pinned, "pgmigrate_success"), counter(&pinned, "pgmigrate_fail")), (0, PAGES));
    let shared = go(MACHINE, &off(), &text("kind = \"shared\"", MOVE));
    assert_eq!((counter(&shared, "pgmigrate_success"), counter(&shared, "pgmigrate_fail")), (0, 0));
}

/// The last node of the machine has memory and no CPUs.
#[test]
fn a_move_to_slow_memory_is_demotion_by_hand() {
    let o = go("cxl-2s", &off(), &text("", &MOVE.replace("to = 1", "to = \"nodes - 1\"")));
    let last = machine("cxl-2s").nodes.len() - 1;
    assert!(pages_on(&o, last) >= PAGES as f64, "{}", pages_on(&o, last));
    assert_eq!(counter(&o, "pgdemote_kswapd"), 0);
}
