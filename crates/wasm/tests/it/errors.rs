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

#[test]
fn an_edited_file_has_line_and_column() {
    let text = "name = \\\"w\\\"\\ntitle = \\\"t\\\"\\nabout = \\\"a\\\"\\nsource = \\\"s\\\"\\n[[process]]\\nname = \\\"p\\\"\\nfases = 1\\n";
    let says = refused(&format!(
        r#"{{"machine":"2x1x2x1","sides":[{{"kernel":"6.12"}}],"workload":"w","workload_text":"{text}"}}"#
    ));
    assert!(says.starts_with("edited:"), "{says}");
}

#[test]
fn a_pasted_numactl_is_a_machine_and_a_wrong_one_is_refused() {
    let text = "available: 2 nodes (0-1)\\nnode 0 cpus: 0 1\\nnode 0 size: 4000 MB\\nnode 1 cpus: 2 3\\nnode 1 size: 4000 MB\\n\
                node distances:\\nnode 0 1\\n0: 10 21\\n1: 21 10\\n";
    let one =
        format!(r#"{{"machine":"","machine_text":"{text}","sides":[{{"kernel":"6.12"}}],"workload":"first-touch"}}"#);
    let plan = asked(&one).plan().unwrap();
    assert_eq!((plan.machine.name.as_str(), plan.machine.node_count(), plan.machine.cpu_count()), ("pasted", 2, 4));
    assert_eq!(plan.machine.distance[0][1], 21);
    let says = refused(&one.replace("available: 2 nodes", "a shopping list").replace("node ", "milk "));
    assert!(says.contains("pasted") && says.contains("expected"), "{says}");
}

#[test]
fn a_run_that_a_page_has_no_memory_for_is_refused() {
    let says = refused(
        r#"{"machine":"8x1x16x2","sides":[{"kernel":"6.12"}],"set":[["system.thp","never"]],"workload":"numa02","param":[["memory","500GiB"]]}"#,
    );
    assert!(says.contains("GiB of memory and a page has 3"), "{says}");
}
