//! Messages about names and files that are nearly right: they locate the mistake and suggest what was meant.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{Lab, QUICK, SWEEP};

#[test]
fn the_message_about_a_broken_file_is_of_the_kind_that_it_looks_like() {
    let lab = Lab::new();
    let names = "name = \"a\"\ntitle = \"t\"\n";
    for (text, part) in [
        (SWEEP.replace("size = \"size\"", "sise = \"size\""), "a.toml:16:1: `process[0].region[0].size` is missing"),
        (format!("{names}extends = \"6.3\"\nroels = 1\n[roles]\n"), "a.toml:4:1: unknown key `roels`"),
        (format!("{names}machines = [\"2x1x1x1\"]\nkernels = []\n"), "a.toml:4:11: `kernels` is empty"),
        (format!("{names}[layout]\nsockets = 0\n"), "a.toml:1:1: `clock` is missing"),
        (format!("{names}source = \"s\"\nbaseline = \"x\"\n[[blocks]]\n"), "a.toml:5:1: "),
        (format!("{names}[layout\n"), "a.toml:3:8: "),
        (
            "name = 1\n".into(),
            "cannot tell what kind of file it is; expected the kind before the file (`numalab show w",
        ),
    ] {
        lab.write("a.toml", &text);
        let message = lab.refused("show a.toml", &[part]);
        assert!(!message.contains("there is no"), "{message}");
    }
    lab.write("plain", SWEEP);
    lab.refused("show plain", &["there is no `plain`; expected a path that ends in .toml or has a `/` (./plain)"]);
    lab.refused("show b.toml", &["there is no `b.toml`; expected a kind of entry"]);
}

#[test]
fn the_name_of_a_counter_or_a_time_is_recognized() {
    let lab = Lab::new();
    lab.refused("show numa_hit", &["`numa_hit` is a counter; expected `numalab counters numa_hit`"]);
    for time in ["elapsed", "user_s"] {
        let part = format!("`{time}` is a time that every run measures, no counter; expected a counter");
        lab.refused(&format!("counters {time}"), &[&part, "`numalab compare` has the times"]);
    }
    lab.ok("counters numa_hit");
}

#[test]
fn an_empty_list_of_rungs() {
    let lab = Lab::new();
    let ladder = ["explain", "ladder", "--machine", "2x1x2x1", "--policy", "ladder_custom", "--ladder"];
    for list in ["", " "] {
        let args = [&ladder[..], &[list]].concat();
        lab.refused_args(&args, &["numalab: --ladder: the list is empty; expected a list like \"D0 THP | D0 4k"]);
    }
    lab.refused_args(&[&ladder[..], &["x"]].concat(), &["numalab: --ladder x: `thp.ladder` is x; expected a list"]);
}

#[test]
fn a_column_that_no_option_could_select() {
    let lab = Lab::new();
    let column = "[[column]]\nname = \"a,b\"\nexpr = \"pgfault\"\nunit = \"x\"\nbetter = \"lower\"\ndoc = \"Own.\"\n";
    lab.write("c/columns.toml", column);
    lab.refused("--catalog c list", &["c/columns.toml:2:8: `a,b` has a comma in it; expected a name without one"]);
}

#[test]
fn a_catalog_kernel_that_is_hidden_by_a_users_own() {
    let lab = Lab::new();
    let own = "name = \"6.7\"\ntitle = \"mine\"\nextends = \"6.12\"\n";
    lab.write("c/kernels/6.7.toml", own);
    lab.write("own/6.7.toml", own);
    lab.write("sweep.toml", SWEEP);
    for (line, file) in
        [("kernel show 6.12 --catalog c", "c/kernels/6.7.toml"), ("kernel show own/6.7.toml", "own/6.7.toml")]
    {
        lab.refused(line, &[&format!("{file}:1:8: "), "its name hides the catalog kernel 6.7, which the chain needs"]);
    }
    lab.ok(&format!("{QUICK} --kernel 6.12 --out d"));
}
