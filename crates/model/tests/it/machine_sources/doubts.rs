//! Imports that add up what they read, and say where two things disagree.

use super::{cpus, machine, warns};
use numalab_model::machine::{import, MemoryKind};
use std::path::Path;

/// The output of `numactl -H` of two nodes, with what the test changes.
fn numactl(changes: &[(&str, &str)]) -> String {
    let good =
        "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 4000 MB\nnode 0 free: 100 MB\nnode 1 cpus: 2 3\n\
                node 1 size: 4000 MB\nnode 1 free: 100 MB\nnode distances:\nnode 0 1\n0: 10 21\n1: 21 10\n";
    changes.iter().fold(good.to_string(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

/// The summary of `lscpu` of two sockets with four cores of two threads each, with what the test changes.
fn lscpu(changes: &[(&str, &str)]) -> String {
    let good =
        "Architecture: x86_64\nCPU(s): 16\nOn-line CPU(s) list: 0-15\nThread(s) per core: 2\nCore(s) per socket: 4\n\
                Socket(s): 2\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-3,8-11\nNUMA node1 CPU(s): 4-7,12-15\n";
    changes.iter().fold(good.to_string(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

#[test]
fn what_agrees_raises_no_doubt() {
    for text in [numactl(&[]), lscpu(&[])] {
        let toml = import::text("t", &text, "x").unwrap();
        assert!(!toml.contains("doubtful"), "{toml}");
    }
}

#[test]
fn numactl_is_added_up() {
    for (changes, part) in [
        (vec![("2 nodes (0-1)", "1 nodes (0-1)")], "doubtful: the source says 1 node, and lists 2"),
        (vec![("2 nodes (0-1)", "2 nodes (0,2)")], "doubtful: the source says nodes 0,2, and lists 0-1"),
        (
            vec![("node 1 free: 100 MB", "node 1 free: 4100 MB")],
            "doubtful: node 1 has 3.9 GiB of memory, of which 4 GiB are",
        ),
    ] {
        warns(&machine(import::text("n", &numactl(&changes), "x")), part);
    }
}

#[test]
fn distances_of_255_both_ways_are_told() {
    let text = numactl(&[("0: 10 21", "0: 10 255"), ("1: 21 10", "1: 255 10")]);
    let m = machine(import::text("n", &text, "x"));
    warns(&m, "2 distances that the source does not tell (255 or missing)");
}

#[test]
fn lscpu_is_added_up() {
    for (changes, part) in [
        (
            vec![("Core(s) per socket: 4", "Core(s) per socket: 6")],
            "2 sockets x 6 cores x 2 threads are 24 CPUs, and 16 are",
        ),
        (vec![("CPU(s): 16", "CPU(s): 20")], "doubtful: the source says 20 CPUs, and lists 16 online"),
        (vec![("NUMA node(s): 2", "NUMA node(s): 4")], "doubtful: the source says 4 nodes, and lists 2"),
        (vec![("4-7,12-15", "4-7")], "doubtful: the source says 2 nodes"),
    ] {
        let text = lscpu(&changes);
        let m = import::text("l", &text, "x");
        if part.ends_with("2 nodes") {
            // CPUs of no node become a node of their own, which is said.
            warns(&machine(m), "no node of the source has CPU 12-15");
        } else {
            warns(&machine(m), part);
        }
    }
}

#[test]
fn lscpu_with_offline_cpus() {
    // Old versions list CPUs in nodes that are offline.
    let old = lscpu(&[("On-line CPU(s) list: 0-15", "On-line CPU(s) list: 0-7\nOff-line CPU(s) list: 8-15")]);
    let m = machine(import::text("l", &old, "x"));
    assert_eq!((m.cpus.len(), m.cores), (8, 8));
    warns(&m, "doubtful: nodes list CPU 8-15, which is offline: left out");
    // Of one node the places of offline CPUs tell which are siblings: 0 and 2, 1 and 3.
    let one =
        "Architecture: x86_64\nCPU(s): 4\nOn-line CPU(s) list: 0-2\nOff-line CPU(s) list: 3\nThread(s) per core: 2\n\
               Core(s) per socket: 2\nSocket(s): 1\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-2\n";
    let m = machine(import::text("l", one, "x"));
    assert_eq!((m.cpus.len(), m.cores, m.cpus[0].core == m.cpus[2].core), (3, 2, true));
    warns(&m, "CPU 3 is offline and left out");
    assert!(!m.warnings.iter().any(|w| w.starts_with("doubtful")), "{:?}", m.warnings);
}

/// A tree of two nodes of two CPUs, without `cpu/online`.
fn tree(root: &Path) -> std::path::PathBuf {
    let system = root.join("sys/devices/system");
    let put = |path: &str, text: &str| {
        let path = system.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for cpu in 0..4 {
        put(&format!("cpu/cpu{cpu}/topology/physical_package_id"), &(cpu / 2).to_string());
        put(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &cpu.to_string());
    }
    for node in 0..2 {
        put(&format!("node/node{node}/cpulist"), &format!("{}-{}", node * 2, node * 2 + 1));
        put(&format!("node/node{node}/meminfo"), &format!("Node {node} MemTotal: 4194304 kB\n"));
    }
    system
}

#[test]
fn cpus_that_only_their_own_file_calls_offline_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let system = tree(dir.path());
    std::fs::write(system.join("cpu/cpu1/online"), "1\n").unwrap();
    std::fs::write(system.join("cpu/cpu3/online"), "0\n").unwrap();
    let m = machine(import::sysfs(dir.path(), "x"));
    assert_eq!((cpus(&m, 0), cpus(&m, 1)), (vec![0, 1], vec![2]));
    warns(&m, "CPU 3 is offline and left out");
    std::fs::write(system.join("cpu/online"), "0-3\n").unwrap();
    let m = machine(import::sysfs(dir.path(), "x"));
    assert_eq!(m.cpus.len(), 3);
    warns(&m, "doubtful: cpu/online lists CPU 3, whose own file says offline");
}

#[test]
fn sysfs_is_added_up() {
    let dir = tempfile::tempdir().unwrap();
    let system = tree(dir.path());
    let doubts = |part: &str| warns(&machine(import::sysfs(dir.path(), "x")), part);
    std::fs::write(system.join("node/online"), "0-1,3\n").unwrap();
    doubts("doubtful: the source says nodes 0-1,3, and lists 0-1");
    std::fs::remove_file(system.join("node/online")).unwrap();
    std::fs::create_dir_all(dir.path().join("proc")).unwrap();
    std::fs::write(dir.path().join("proc/meminfo"), "MemTotal: 16777216 kB\n").unwrap();
    doubts("doubtful: the nodes have 8 GiB of memory together, and /proc/meminfo says 16 GiB");
    std::fs::remove_file(dir.path().join("proc/meminfo")).unwrap();
    std::fs::write(system.join("node/has_memory"), "0\n").unwrap();
    doubts("doubtful: node/has_memory lists 0, and the nodes themselves say 0-1");
    std::fs::remove_file(system.join("node/has_memory")).unwrap();
    std::fs::write(system.join("cpu/cpu1/topology/thread_siblings_list"), "1-2\n").unwrap();
    std::fs::write(system.join("cpu/cpu2/topology/thread_siblings_list"), "1-2\n").unwrap();
    doubts("doubtful: CPUs 1-2 share a core, and are in several packages");
}

#[test]
fn hwloc_hides_cpus_whose_nodes_it_does_not_name() {
    let node = |id: u32, set: &str| {
        format!(
            "<object type=\"NUMANode\" os_index=\"{id}\" cpuset=\"{set}\" complete_cpuset=\"{set}\" gp_index=\"{}\" \
                 local_memory=\"8589934592\"/>",
            id + 10
        )
    };
    let text = |complete: &str| {
        format!(
            "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" \
             complete_cpuset=\"{complete}\">\
                 <object type=\"Package\" os_index=\"0\">{}<object type=\"PU\" os_index=\"0\"/><object type=\"PU\" \
                 os_index=\"1\"/></object><object type=\"Package\" os_index=\"1\">{}</object></object></topology>",
            node(0, "0x3"),
            node(1, "0x0")
        )
    };
    let m = machine(import::text("h.xml", &text("0xf"), "x"));
    assert_eq!(m.nodes[1].kind, MemoryKind::Dram);
    warns(&m, "doubtful: CPU 2-3 of the machine are hidden");
    let m = machine(import::text("h.xml", &text("0x3"), "x"));
    assert_eq!(m.nodes[1].kind, MemoryKind::Cxl, "nothing is hidden: memory without CPUs");
    // The user knows better.
    let wish = import::Wish { name: "x", kinds: &[(1, MemoryKind::Cxl)] };
    assert_eq!(machine(import::text("h.xml", &text("0xf"), wish)).nodes[1].kind, MemoryKind::Cxl);
}

#[test]
fn nodes_of_hwloc_1_contain_their_cpus() {
    // Node 0 has neither size nor CPUs, and stands beside its sibling.
    let text = "Machine (16GB total)\n  Group0 L#0\n    NUMANode L#0 (P#0)\n    NUMANode L#1 \
                (P#1 16GB) + Package L#0 + L3 L#0 (16MB)\n\
                \x20     Core L#0 + PU L#0 (P#2)\n      Core L#1 + PU L#1 (P#3)\n";
    let m = machine(import::text("l.txt", text, "x"));
    assert_eq!((cpus(&m, 0), cpus(&m, 1)), (vec![], vec![2, 3]));
    assert_eq!((m.nodes[0].memory_bytes, m.nodes[1].memory_bytes), (0, 16 << 30));
    assert!(m.nodes.iter().all(|n| n.kind == MemoryKind::Dram));
}

#[test]
fn lstopo_is_added_up() {
    let text = |total: &str| {
        format!("Machine ({total} total)\n  Package L#0\n    NUMANode L#0 (P#0 16GB)\n    Core L#0 + PU L#0 (P#0)\n")
    };
    assert!(!machine(import::text("l.txt", &text("16GB"), "x")).warnings.iter().any(|w| w.starts_with("doubtful")));
    warns(
        &machine(import::text("l.txt", &text("64GB"), "x")),
        "doubtful: the nodes have 16 GiB of memory together, and the machine says 64 GiB",
    );
}

#[test]
fn output_of_each_tool_inside_a_log() {
    let plain = [
        numactl(&[]),
        lscpu(&[]),
        "CPU NODE SOCKET CORE\n0 0 0 0\n1 1 1 1\n".to_string(),
        "Machine (16GB total)\n  Package L#0\n    NUMANode L#0 (P#0 16GB)\n    Core L#0 + PU L#0 (P#0)\n".to_string(),
    ];
    for text in plain {
        let logged: String = text
            .lines()
            .enumerate()
            .map(|(n, l)| format!("2026-01-01T00:00:{:02}.1{n}Z host run[{n}]: {l}\n", n % 60))
            .collect();
        let whole = format!("2026-01-01T00:00:00.1Z host run[1]: Run it\n{logged}Done.\n");
        let (a, b) = (machine(import::text("t", &text, "x")), machine(import::text("t", &whole, "x")));
        assert_eq!(a, b, "{whole}");
    }
    // Places in errors are those of the file.
    let bad: String = numactl(&[("1: 21 10", "1: 21 x")]).lines().map(|l| format!("12:00:00 {l}\n")).collect();
    let e = import::text("n", &bad, "x").unwrap_err();
    assert_eq!((e.line, e.column), (11, 16), "{e}");
}
