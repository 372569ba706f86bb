//! Cpusets: the outer limit of affinities and policies.

use crate::workload::machines::machine;
use numalab_model::workload::{parse, Op, Policy, Workload};

const HEAD: &str = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n";
const POLICY: &str = "[[policy]]\nname = \"q\"\nmode = \"interleave\"\nnodes = \"0..2\"\n";
const WORK: &str = "[[process.phase]]\ncompute = \"1us\"\n";

/// Four nodes of twelve CPUs; node 0 has CPUs 0 to 5 and 24 to 29.
fn resolve(body: &str) -> Result<Workload, String> {
    let spec = parse("w.toml", &format!("{HEAD}{body}")).map_err(|e| e.to_string())?;
    spec.resolve(&machine("e7-4807-4s"), 1, &[]).map_err(|e| e.to_string())
}

fn cpus(w: &Workload, process: usize, thread: usize) -> Option<Vec<u32>> {
    w.processes[process].threads[thread].affinity.as_ref().map(|a| a.to_vec())
}

fn mems(w: &Workload, process: usize) -> Option<Vec<u32>> {
    w.processes[process].mems.as_ref().map(|m| m.to_vec())
}

fn node(n: u32) -> Vec<u32> {
    (6 * n..6 * n + 6).chain(24 + 6 * n..30 + 6 * n).collect()
}

#[test]
fn threads_keep_to_the_cpuset_and_affinity_is_cut_down_to_it() {
    let w = resolve(&format!("[[process]]\nname = \"p\"\nthreads = 2\ncpuset = {{ nodes = 1 }}\n{WORK}")).unwrap();
    assert_eq!((cpus(&w, 0, 0), cpus(&w, 0, 1), mems(&w, 0)), (Some(node(1)), Some(node(1)), None));
    let both = "cpuset = { nodes = \"0..1\", mems = \"0..3\" }\naffinity = { cpus = [3, 7, 13] }";
    let w = resolve(&format!("[[process]]\nname = \"p\"\n{both}\n{WORK}")).unwrap();
    assert_eq!((cpus(&w, 0, 0), mems(&w, 0)), (Some(vec![3, 7]), None), "all memory nodes are no limit");
    let e =
        resolve(&format!("[[process]]\nname = \"p\"\ncpuset = {{ nodes = 0 }}\naffinity = {{ nodes = 1 }}\n{WORK}"));
    let e = e.unwrap_err();
    assert!(e.contains("w.toml:8:22") && e.contains("no CPU of the process's cpuset"), "{e}");
}

#[test]
fn policies_are_cut_down_to_the_memory_nodes_of_the_cpuset() {
    let policies = |mems: &str| -> Result<Vec<Policy>, String> {
        let region = "[[process.region]]\nname = \"r\"\nsize = \"1MiB\"\npolicy = \"q\"\n";
        let phase = "[[process.phase]]\npolicy = \"q\"\naccess = \"r\"\n";
        let w = resolve(&format!("{POLICY}[[process]]\nname = \"p\"\ncpuset = {{ mems = {mems} }}\n{region}{phase}"))?;
        let set = w.processes[0].threads[0].ops.iter().filter_map(|o| match o {
            Op::SetPolicy(p) => Some(p.clone()),
            _ => None,
        });
        Ok(w.processes[0].regions[0].policy.clone().into_iter().chain(set.take(1)).collect())
    };
    let nodes: Vec<Vec<u32>> = policies("[3, 1, 2]").unwrap().into_iter().map(|p| p.nodes).collect();
    assert_eq!(nodes, [[1, 2], [1, 2]]);
    let e = policies("3").unwrap_err();
    assert!(e.contains("policy `q` has no node of the process's cpuset") && e.contains("memory nodes: 3"), "{e}");
}

#[test]
fn a_forked_process_is_in_its_parents_cpuset_unless_it_has_its_own() {
    let child = "[[process]]\nparent = \"p\"\n";
    let w = resolve(&format!(
        "[[process]]\nname = \"p\"\ncpuset = {{ nodes = 2, mems = 2 }}\n{WORK}{child}name = \"c\"\n{WORK}\
         {child}name = \"d\"\ncpuset = {{ mems = \"process\" }}\n{WORK}"
    ))
    .unwrap();
    assert_eq!((cpus(&w, 1, 0), mems(&w, 1)), (Some(node(2)), Some(vec![2])));
    assert_eq!((cpus(&w, 2, 0), mems(&w, 2)), (None, Some(vec![0])));
}

#[test]
fn wrong_cpu_weights_are_refused() {
    for (weight, what) in [
        ("0", "1 to 10000"),
        ("10_001", "1 to 10000"),
        ("1.5", "`cpu_weight`"),
        ("\"1GiB\"", "`cpu_weight`"),
        ("\"process\"", "`process`"),
        ("true", "expected a number or an expression"),
    ] {
        let e = resolve(&format!("[[process]]\nname = \"p\"\ncpu_weight = {weight}\n{WORK}")).unwrap_err();
        assert!(e.contains(what) && e.contains("w.toml:7:"), "{weight}: {e}");
    }
}

#[test]
fn wrong_cpusets_are_refused() {
    for (cpuset, what) in [
        ("{}", "cpuset is empty"),
        ("{ mems = 4 }", "a cpuset with node 4, which"),
        ("{ mems = \"1..0\" }", "without memory nodes"),
        ("{ nodes = 9 }", "node 9, which"),
        ("{ cpus = 1, nodes = 1 }", "cpuset is given twice"),
        ("{ mem = 1 }", "did you mean `mems`?"),
        ("{ mems = \"thread\" }", "`thread`"),
    ] {
        let e = resolve(&format!("[[process]]\nname = \"p\"\ncpuset = {cpuset}\n{WORK}")).unwrap_err();
        assert!(e.contains(what) && e.contains("w.toml:7:"), "{cpuset}: {e}");
    }
}
