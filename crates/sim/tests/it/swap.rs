//! Swapping of memory that processes have in common since a fork, and the page tables of forked processes.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::tunable::Group;
use numalab_kernel::mm::thp::ThpEnabled;
use numalab_kernel::mm::MmConfig;
use numalab_model::record::Outcome;

/// A parent that writes `data` and forks `children`, each of which writes `own` MiB of its own and then reads `data`.
fn family(data: u32, own: u32, children: u32) -> String {
    format!(
        r#"
[[channel]]
name = "done"
[[process]]
name = "parent"
[[process.region]]
name = "data"
size = "{data}MiB"
advice = "nohuge"
[[process.prologue]]
access = "data"
write = 1
[[process.phase]]
steps = [{{ count = {children}, wait = "done" }}, {{ access = "data" }}]
[[process]]
name = "child"
count = {children}
parent = "parent"
fork = "after"
[[process.region]]
name = "own"
size = "{own}MiB"
[[process.phase]]
steps = [{{ access = "own", write = 1 }}, {{ access = "data" }}, {{ signal = "done" }}]
"#
    )
}

/// On two nodes of 256 MiB, with a swap device of 2 GiB.
fn go(text: &str, huge: &str) -> Outcome {
    let mut m = machine("2x1x4x1");
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 256 << 20);
    let mut mm = MmConfig::default();
    mm.swap.set("size_mb", "2048").unwrap();
    mm.thp.enabled = ThpEnabled::parse(huge).unwrap();
    mm.vm.set("min_free_kbytes", "1024").unwrap();
    let text = if huge == "always" { text.replace("advice = \"nohuge\"\n", "") } else { text.into() };
    run(&m, &inline(&text, &m, 1, &[]), &SimConfig { mm, ..kernel("off") }, 1)
}

const MIB: u64 = 256;

#[test]
fn memory_in_common_goes_to_one_slot_and_comes_back_for_all() {
    let o = go(&family(300, 300, 1), "never");
    let (out, back) = (counter(&o, "pswpout"), counter(&o, "pswpin"));
    // 600 MiB want 512: the pages in common have to go too, each once.
    assert!((90 * MIB..700 * MIB).contains(&out), "{out}");
    // Parent and child read all of it; who comes second finds most of it in memory.
    assert!(back > 0 && back <= 2 * out, "{back} back of {out}");
}

#[test]
fn huge_pages_in_common_are_swapped_out_whole() {
    let o = go(&family(300, 300, 1), "always");
    assert!(counter(&o, "thp_swpout") >= 40, "{}", counter(&o, "thp_swpout"));
    assert_eq!(counter(&o, "thp_swpout_fallback"), 0);
}

/// The same with 300 MiB more of the parent, so that the first of `data` are on the swap device when it forks.
fn late(children: u32) -> Outcome {
    let more =
        "[[process.region]]\nname = \"more\"\nsize = \"300MiB\"\n[[process.prologue]]\naccess = \"data\"\nwrite = 1\n\
                [[process.prologue]]\naccess = \"more\"\nwrite = 1\n";
    let text = family(300, 1, children).replacen("[[process.prologue]]\naccess = \"data\"\nwrite = 1\n", more, 1);
    go(&text, "never")
}

#[test]
fn a_fork_shares_what_is_on_the_swap_device() {
    let (alone, one, three) = (late(0), late(1), late(3));
    let swaps = |o: &Outcome| (counter(o, "pswpout") / MIB, counter(o, "pswpin") / MIB);
    // 88 MiB or more are out at the fork, and come back once for the parent alone.
    assert!(swaps(&alone).0 >= 88 && swaps(&alone).1 >= 88, "{:?}", swaps(&alone));
    // What three children read is what one reads: who comes later finds it in memory, or reads it once more at most.
    assert!(swaps(&three).1 < 2 * swaps(&one).1, "{:?} {:?}", swaps(&one), swaps(&three));
}

#[test]
fn a_fork_copies_page_tables() {
    let tables = |children: u32| {
        let text = family(64, 2, children);
        counter(&go(&text, "never"), "numa_hit")
    };
    // 64 MiB in 4 KiB pages: 32 or 33 tables each; 512 pages of their own and a table or two; ten pages of stack and
    // data with two tables.
    let each = tables(3) - tables(2) - 12;
    assert!((512 + 32 + 1..=512 + 33 + 2).contains(&each), "{each}");
}
