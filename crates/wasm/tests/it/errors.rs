//! What is wrong is said in the words of the command, with its places.

use super::asked;
use numalab_wasm::session::Session;

/// What is said of a request.
fn refused(json: &str) -> String {
    Session::start(&asked(json), false).map(|_| ()).unwrap_err()
}

#[test]
fn wrong_names_and_values_have_their_place_and_the_nearest_name() {
    let says = refused(r#"{"machine":"4x1x2x1","sides":[{"kernel":"6.12"}],"workload":"numa2"}"#);
    assert!(says.starts_with("--workload: unknown workload `numa2`; expected a workload of the catalog"), "{says}");
    assert!(says.ends_with("did you mean `numa02`?"), "{says}");
    let says = refused(r#"{"machine":"4x1x2","sides":[{"kernel":"6.12"}],"workload":"numa02"}"#);
    assert!(says.starts_with("--machine: "), "{says}");
    let says = refused(
        r#"{"machine":"4x1x2x1","sides":[{"kernel":"6.12"}],"workload":"numa02","set":[["numa.scan_size_mb","x"]]}"#,
    );
    assert!(says.contains("numa.scan_size_mb"), "{says}");
    let says = refused(
        r#"{"machine":"4x1x2x1","sides":[{"kernel":"6.12"}],"workload":"numa02","param":[["memory","1 elephant"]]}"#,
    );
    assert!(says.starts_with("--param memory=1 elephant"), "{says}");
    let says =
        refused(r#"{"machine":"4x1x2x1","sides":[{"kernel":"6.12"}],"workload":"numa02","param":[["memory",""]]}"#);
    assert_eq!(says, "--param memory=: no value for `memory`; expected name=value");
}

/// A text as a JSON string.
fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn an_edited_file_has_line_and_column() {
    let text = r#"name = "w"
title = "t"
about = "a"
source = "s"
[[process]]
name = "p"
fases = 1
"#;
    let says = refused(&format!(
        r#"{{"machine":"2x1x2x1","sides":[{{"kernel":"6.12"}}],"workload":"w","workload_text":{}}}"#,
        string(text)
    ));
    assert!(says.starts_with("edited:"), "{says}");
}

#[test]
fn a_pasted_numactl_is_a_machine_and_a_wrong_one_is_refused() {
    let text = "available: 2 nodes (0-1)
node 0 cpus: 0 1
node 0 size: 4000 MB
node 1 cpus: 2 3
node 1 size: 4000 MB
node distances:
node 0 1
0: 10 21
1: 21 10
";
    let request = |text: &str| {
        let text = string(text);
        format!(r#"{{"machine":"","machine_text":{text},"sides":[{{"kernel":"6.12"}}],"workload":"first-touch"}}"#)
    };
    let one = request(text);
    let plan = asked(&one).plan().unwrap();
    assert_eq!((plan.machine.name.as_str(), plan.machine.node_count(), plan.machine.cpu_count()), ("pasted", 2, 4));
    assert_eq!(plan.machine.distance[0][1], 21);
    let says = refused(&request("a shopping list: milk, 2 eggs\n"));
    assert!(says.contains("pasted") && says.contains("expected"), "{says}");
}

#[test]
fn a_run_that_a_page_has_no_memory_for_is_refused() {
    let says = refused(
        r#"{"machine":"64x1x2x1","sides":[{"kernel":"6.12"}],"set":[["system.thp","never"]],
            "workload":"numa02","param":[["memory","4000GiB"]]}"#,
    );
    assert!(says.contains("GiB of memory and a page has 3"), "{says}");
}
