//! Maps over time: rows belong to the mapping that they name.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// A forked process has the regions of its parent first. The rows of its own regions show its own memory.
#[test]
fn rows_of_a_forked_process_show_its_own_memory() {
    let text = "[[process]]\nname = \"parent\"\naffinity = { nodes = 0 }\n\
        [[process.region]]\nname = \"pool\"\nkind = \"shared\"\nsize = \"4MiB\"\n\
        [[process.prologue]]\naccess = \"pool\"\nwrite = 1\n\
        [[process.phase]]\nsteps = [{ compute = \"100ms\" }]\n\
        [[process]]\nname = \"child\"\nparent = \"parent\"\naffinity = { nodes = 1 }\n\
        [[process.region]]\nname = \"own\"\nsize = \"4MiB\"\n\
        [[process.phase]]\naccess = \"own\"\nwrite = 1\n\
        [[process.phase]]\nsteps = [{ compute = \"3s\" }]\n";
    let m = machine("2x1x1x1");
    let o = run(&m, &inline(text, &m, 1, &[]), &kernel("off"), 1);
    let map = o.series.iter().find(|s| s.name == "page_node").unwrap();
    let of = |name: &str| {
        let row = map.columns.iter().position(|c| c.starts_with(name)).unwrap();
        map.values[row].iter().rev().find(|v| **v >= 0.0).copied()
    };
    assert_eq!((of("parent.0/pool"), of("child.0/own")), (Some(0.0), Some(1.0)));
}
