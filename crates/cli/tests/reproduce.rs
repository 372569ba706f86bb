//! What `numalab reproduce` ends with, on a table that takes an instant.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Lab, SWEEP};

/// A table whose one prediction simulates a ratio of 1 where `second` to 3 was published, and the score it expects.
fn table(second: f64, expect: &str) -> String {
    format!(
        "name = \"own\"\ntitle = \"t\"\nsource = \"s\"\nbaseline = \"a\"\n{expect}\n\
         [[columns]]\nname = \"a\"\nkernel = \"off\"\n[[columns]]\nname = \"b\"\nkernel = \"6.12\"\n\
         [[blocks]]\ngroup = \"g\"\nmachine = \"2x1x2x1\"\nworkload = \"sweep\"\niterations = 2\n\
         rows = [{{ id = \"hit\", metric = \"numa_hit\", unit = \"pages\", better = \"lower\", values = [3.0, {second:?}] }}]\n"
    )
}

#[test]
fn a_score_below_the_expected_one_ends_with_1() {
    let lab = Lab::new();
    lab.write("catalog/workloads/sweep.toml", SWEEP);
    let all = "expect = { direction_right = 1, within_1_25 = 1, within_2 = 1 }";
    let reproduce = "reproduce own.toml --catalog catalog";
    lab.write("own.toml", &table(3.0, all));
    assert!(!lab.ok(reproduce).out.contains("worse"), "as good as expected");
    // A miss alone is part of the result.
    lab.write("own.toml", &table(9.0, ""));
    assert!(lab.ok(reproduce).out.contains("direction right 0"));
    lab.write("own.toml", &table(9.0, all));
    let worse = "worse than the file expects: direction right 0 of 1, within 1.25 0 of 1, within 2 0 of 1";
    let ended = lab.run(reproduce);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.out.contains(worse), "{}", ended.out);
    let json = lab.run(&format!("{reproduce} --json"));
    assert_eq!(json.code, 1, "{json:?}");
    assert!(json.err.contains(worse) && serde_json::from_str::<serde_json::Value>(&json.out).is_ok(), "{json:?}");
    // Fewer runs than the file asks for scatter more, and say nothing.
    lab.ok(&format!("{reproduce} --iterations 1"));
}
