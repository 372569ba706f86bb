//! Cost grows with the work: inputs whose parts once multiplied. With the product they take minutes or gigabytes, so a
//! relapse shows in how long the tests take; what can be counted is counted in the crates' own tests.
#![allow(clippy::unwrap_used)]

use crate::common::Lab;
use std::fmt::Write as _;

/// A table of CPUs is refused by its length, before anything is built of it.
#[test]
fn a_table_of_too_many_cpus_is_refused_by_its_length() {
    let lab = Lab::new();
    let mut table = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n".to_string();
    for i in 0..20_000 {
        writeln!(table, "{i} 0 0 {i} 0:0:0:0 yes").unwrap();
    }
    lab.write("e.txt", &table);
    lab.refused("machine import e.txt", &["e.txt", "a table of 20000 CPUs", "at most 8192"]);
}

/// Names are found, not searched for, and threads' shared steps are written once into a plan's fingerprint.
#[test]
fn names_and_shared_steps_cost_what_they_are() {
    let lab = Lab::new();
    let head = "name = \"q\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n";
    let lets: Vec<String> = (0..8000).map(|i| format!("v{i} = \"thread\"")).collect();
    let lets = format!(
        "{head}[[process]]\nname = \"p\"\n[[process.phase]]\ncompute = \"1ns\"\nlet = {{ {} }}\n",
        lets.join(", ")
    );
    lab.write("q.toml", &lets);
    lab.ok("show ./q.toml");
    let steps = "[[process]]\nname = \"p\"\nthreads = 4096\n[[process.region]]\nname = \"r\"\nover = \"0..9999\"\n\
                 size = \"4KiB\"\n                 [[process.phase]]\nfor = \"i\"\nin = \"0..9999\"\naccess = \"r[i]\"\n";
    lab.write("q.toml", &format!("{head}{steps}"));
    lab.ok("run --machine 2x1x1x1 --kernel off --workload ./q.toml --dry-run");
}

/// What a record would refuse is refused where it is written.
#[test]
fn a_unit_that_no_record_can_hold_is_refused_when_it_is_read() {
    let lab = Lab::with_sweep();
    let text = std::fs::read_to_string(lab.path("sweep.toml")).unwrap();
    let score = "\n[[score]]\nname = \"sc\"\nunit = \"u\\nv\"\nbetter = \"higher\"\n";
    let at = text.find("\n[[process]]").unwrap();
    lab.write("u.toml", &format!("{}{score}{}", &text[..at], &text[at..]));
    let run = "run --machine 2x1x1x1 --kernel off --workload u.toml";
    lab.refused(run, &["u.toml:", "the unit has", "U+000A"]);
    assert!(!lab.path("out").exists());
}

/// Of a record, `compare` keeps some kilobytes, of the 200 that it has: with all of them it would want twice this room.
#[test]
fn comparing_many_records_takes_little_memory() {
    let lab = Lab::with_sweep();
    lab.ok("run --machine 2x1x1x1 --kernel off,6.3 --workload sweep.toml --param loops=1 --iterations 200 --out d -q");
    let compared = lab.shell("ulimit -v 90000; numalab compare d -q");
    assert_eq!(compared.code, 0, "{compared:?}");
    let page = lab.shell("numalab compare d --json | grep -c elapsed");
    assert_ne!(page.out.trim(), "0", "{page:?}");
}

/// A planned run is two kilobytes, of the 80 that its plan has: with all of them it would want five times this room.
#[test]
fn planning_many_runs_takes_little_memory() {
    let lab = Lab::with_sweep();
    let run = "run --machine 2x1x1x1 --kernel off --workload sweep.toml --iterations 8000 --dry-run";
    let planned = lab.shell(&format!("ulimit -v 120000; numalab {run}"));
    assert!(planned.code == 0 && planned.out.contains("8000 runs"), "{planned:?}");
}

/// One access that takes less than any time there is: the step that repeats it for a millisecond ends all the same.
#[test]
fn a_step_of_next_to_no_time_ends() {
    let lab = Lab::new();
    let step = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"64KiB\"\n\
                [[process.phase]]\naccess = \"r\"\npattern = \"random\"\naccesses = 1\ntime = \"1ms\"\n";
    let head = "name = \"a\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\nlimit = \"1s\"\n";
    lab.write("a.toml", &format!("{head}{step}"));
    for end in ["--dry-run", "--out d"] {
        let ended =
            lab.shell(&format!("timeout 60 numalab -q run --machine 2x1x1x1 --kernel off --workload a.toml {end}"));
        assert_eq!(ended.code, 0, "{ended:?}");
    }
}
