//! Tests of `numalab reproduce` on a small table.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Lab, SWEEP};

/// A table with one predicted cell. The simulated ratio is 1, the published one is `second` / 3. `expect` is the line
/// with the expected score.
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
    // A miss is part of the result if no score is expected.
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
    // With fewer runs than the file asks for, the score is not judged.
    lab.ok(&format!("{reproduce} --iterations 1"));
}

/// A table of three groups, and a fourth that sums the first and the third.
fn groups(expect: &str) -> String {
    let block = |group: &str, rest: &str| {
        format!(
            "[[blocks]]\ngroup = \"{group}\"\nmachine = \"2x1x2x1\"\n{rest}\n\
             rows = [{{ id = \"hit\", metric = \"numa_hit\", unit = \"pages\", better = \"lower\", values = [3.0, 3.0] }}]\n"
        )
    };
    let runs = "workload = \"sweep\"";
    table(3.0, expect).split("[[blocks]]").next().unwrap().to_string()
        + &block("first", runs)
        + &block("second, longer", runs)
        + &block("third", runs)
        + &block("sums", "sum_of = [\"first\", \"third\"]")
}

#[test]
fn a_group_is_run_alone_and_a_sum_with_what_it_sums() {
    let lab = Lab::new();
    lab.write("catalog/workloads/sweep.toml", SWEEP);
    // The expected score applies to the whole table only.
    lab.write("own.toml", &groups("expect = { direction_right = 4, within_1_25 = 4, within_2 = 4 }"));
    let reproduce = "reproduce own.toml --catalog catalog --iterations 1";
    let shown = |args: &[&str]| {
        let mut all: Vec<&str> = reproduce.split(' ').collect();
        all.extend(args);
        let ended = lab.args(&all);
        assert_eq!(ended.code, 0, "{args:?}: {ended:?}");
        let lines: Vec<&str> = ended.out.lines().collect();
        let named: Vec<&str> =
            ["first", "second, longer", "third", "sums"].into_iter().filter(|g| lines.contains(g)).collect();
        let score = lines.iter().find_map(|l| l.strip_prefix("Predicted ")).unwrap();
        format!("{} {}", named.join(" + "), score.split(':').next().unwrap())
    };
    assert_eq!(shown(&["--group", "second, longer"]), "second, longer 1");
    assert!(lab.path("out/reproduce-own/second__longer").is_dir());
    assert!(!lab.path("out/reproduce-own/first").exists(), "what is not asked for is not run");
    assert_eq!(shown(&["--group", "sums"]), "first + third + sums 3");
    assert_eq!(shown(&["--group", "third", "--group", "second, longer"]), "second, longer + third 2");
    assert_eq!(shown(&[]), "first + second, longer + third + sums 4", "the directory is that of the whole table");

    let lab = Lab::new();
    lab.write("catalog/workloads/sweep.toml", SWEEP);
    lab.write("own.toml", &groups(""));
    let want = "--group: no group `frist`; expected a group of table own: `first`, `second, longer`, `third`, `sums`; \
                did you mean `first`?";
    lab.refused(&format!("{reproduce} --group frist"), &[want]);
    lab.refused("reproduce --all --group first", &["--all", "--group"]);
}

#[test]
fn the_answer_comes_first_and_columns_stand_below_each_other_in_a_narrow_terminal() {
    let lab = Lab::new();
    lab.write("catalog/workloads/sweep.toml", SWEEP);
    let long = "a-column-with-a-long-name";
    lab.write("own.toml", &table(3.0, "").replace("name = \"b\"", &format!("name = \"{long}\"")));
    let reproduce = "reproduce own.toml --catalog catalog --iterations 1";
    for columns in [50, 200] {
        let ended = lab.in_columns(reproduce, columns);
        let first: String = ended.out.lines().take_while(|l| !l.is_empty()).collect::<Vec<_>>().join(" ");
        let answer = "own: 1 of 1 directions as published; 1 sizes within a factor of 1.25 and 1 within 2";
        assert_eq!(first, answer, "{ended:?}");
        let long_lines = ended.out.lines().filter(|l| l.chars().count() > columns && l.contains("  "));
        assert_eq!(long_lines.count(), 0, "{}", ended.out);
        assert_eq!(ended.out.matches("published  simulated").count(), 2, "{}", ended.out);
        let headings = ended.out.lines().filter(|l| l.contains("published  simulated")).count();
        assert_eq!(headings, if columns == 50 { 2 } else { 1 }, "{}", ended.out);
        assert!(ended.out.contains("Each column has 1 run (seed 1)"), "{}", ended.out);
    }
}

#[test]
fn off_a_terminal_a_line_says_how_far_it_is_now_and_then() {
    let lab = Lab::new();
    lab.write("catalog/workloads/sweep.toml", SWEEP);
    lab.write("own.toml", &table(3.0, "").replace("iterations = 2", "iterations = 2\nparams = { loops = 300000 }"));
    let ended = lab.shell("NUMALAB_PROGRESS=0.05 numalab reproduce own.toml --catalog catalog --jobs 1");
    assert_eq!(ended.code, 0, "{ended:?}");
    let lines: Vec<&str> = ended.err.lines().collect();
    assert!(!lines.is_empty() && lines.iter().all(|l| l.contains("reproduce-own: ") && l.contains(" of 4 runs, ")));
    let quiet = lab.shell("NUMALAB_PROGRESS=0 numalab reproduce own.toml --catalog catalog --out again");
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""), "{quiet:?}");
    let wrong = lab.shell("NUMALAB_PROGRESS=often numalab reproduce own.toml --catalog catalog");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.err.contains("NUMALAB_PROGRESS=\"often\": expected seconds"), "{wrong:?}");
}
