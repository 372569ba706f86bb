//! Imports from sysfs trees (made here in temporary folders), from hwloc XML 2 and 3, and from `numactl -H` texts.
#![allow(clippy::unwrap_used)] // test helpers: a failure is a failed test

use numalab_model::machine::{import, Machine, MemoryKind};
use numalab_model::spec::SpecError;
use std::path::Path;

fn data(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Loads an imported file, which must succeed.
fn machine(toml: Result<String, SpecError>) -> Machine {
    let toml = toml.unwrap_or_else(|e| panic!("{e}"));
    numalab_model::machine::from_toml("imported.toml", &toml).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// Writes files below a folder: (path, text).
fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// A tree of two sockets: nodes 0 and 1 of 2 cores x 2 threads with one L3 each, node 3 memory only with an HMAT entry.
fn tree(root: &Path) {
    let system = root.join("sys/devices/system");
    write(
        &system,
        &[
            ("cpu/online", "0-7\n"),
            ("node/online", "0-1,3\n"),
            ("node/node0/cpulist", "0-1,4-5\n"),
            ("node/node1/cpulist", "2-3,6-7\n"),
            ("node/node3/cpulist", "\n"),
            ("node/node0/distance", "10 21 17\n"),
            ("node/node1/distance", "21 10 28\n"),
            ("node/node3/distance", "17 28 10\n"),
            ("node/node0/meminfo", "Node 0 MemTotal:       8388608 kB\nNode 0 MemFree:        1 kB\n"),
            ("node/node1/meminfo", "Node 1 MemTotal:       4194304 kB\n"),
            ("node/node3/meminfo", "Node 3 MemTotal:       16777216 kB\n"),
            ("node/node0/access0/initiators/read_latency", "95\n"),
            ("node/node0/access0/initiators/read_bandwidth", "95368\n"),
            ("node/node0/access0/initiators/node0/cpulist", "0-1,4-5\n"),
            ("node/node3/access1/initiators/read_latency", "250\n"),
            ("node/node3/access1/initiators/read_bandwidth", "20000\n"),
            ("node/node3/access1/initiators/node0/cpulist", "0-1,4-5\n"),
            ("cpu/cpu0/cpufreq/base_frequency", "2100000\n"),
            ("cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n"),
        ],
    );
    for cpu in 0..8 {
        let socket = cpu / 2 % 2;
        let core = format!("{},{}\n", cpu % 4, cpu % 4 + 4);
        let llc = if socket == 0 { "0-1,4-5\n" } else { "2-3,6-7\n" };
        let caches = [
            ("0", "1", "Data", "48K", &*core),
            ("1", "1", "Instruction", "32K", &core),
            ("2", "2", "Unified", "2048K", &core),
            ("3", "3", "Unified", "61440K", llc),
        ];
        for (index, level, kind, size, shared) in caches {
            let at = |f: &str| format!("cpu/cpu{cpu}/cache/index{index}/{f}");
            write(
                &system,
                &[(&at("level"), level), (&at("type"), kind), (&at("size"), size), (&at("shared_cpu_list"), shared)],
            );
        }
        write(
            &system,
            &[
                (&format!("cpu/cpu{cpu}/topology/physical_package_id"), &socket.to_string()),
                (&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &core),
            ],
        );
    }
}

#[test]
fn sysfs_tree_with_smt_memory_only_node_and_hmat() {
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path());
    write(dir.path(), &[("proc/cpuinfo", "processor\t: 0\nmodel name\t: Example \"CPU\" 9000\n")]);
    let toml = import::sysfs(dir.path(), "mine").unwrap();
    let m = machine(Ok(toml.clone()));
    assert_eq!((m.name.as_str(), m.title.as_str()), ("mine", "imported from sysfs, Example \"CPU\" 9000"));
    assert_eq!((m.sockets, m.cores, m.cpus.len(), m.llcs.len()), (2, 4, 8, 2));
    assert_eq!(m.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 1, 3]);
    assert_eq!(m.nodes.iter().map(|n| n.memory_bytes >> 30).collect::<Vec<_>>(), [8, 4, 16]);
    assert_eq!(m.nodes[1].cpus, [2, 3, 6, 7]);
    assert_eq!(m.cpus[1].core, m.cpus[5].core);
    assert_eq!((m.llcs[1].size_bytes, &m.llcs[1].cpus[..]), (60 << 20, &[2, 3, 6, 7][..]));
    assert_eq!(m.cache.l2_bytes, 2 << 20);
    assert_eq!(m.distance, [[10, 21, 17], [21, 10, 28], [17, 28, 10]]);
    assert_eq!((m.nodes[2].kind, m.nodes[2].tier, m.nodes[2].socket), (MemoryKind::Cxl, 1, 0), "on the nearest socket");
    // Read from the HMAT: 95 and 250 ns, 95368 and 20000 MiB/s.
    assert_eq!((m.latency_ns[0][0], m.latency_ns[0][2], m.latency_ns[2][2]), (95.0, 250.0, 250.0));
    assert_eq!((m.nodes[0].dram_sustained_gbps, m.nodes[2].dram_sustained_gbps), (100.0, 21.0));
    // Assumed: 6.5 % more for each point of distance above 10.
    assert_eq!(m.latency_ns[1][1], 95.0);
    assert!((m.latency_ns[0][1] - 95.0 * 1.715).abs() < 0.06, "{}", m.latency_ns[0][1]);
    assert!((m.latency_ns[1][2] - 250.0 * 2.17 / 1.455).abs() < 0.06, "{}", m.latency_ns[1][2]);
    assert_eq!((m.clock.base_ghz, m.clock.sustained_ghz, m.clock.single_ghz), (2.1, 2.9, 3.7));
    for (text, origin) in [
        ("sustained_gbps = 100.0", "read"),
        ("peak_gbps = 122.0", "assumed"),
        ("cpus = \"2-3,6-7\"", "read"),
        ("memory = \"16 GiB\"", "read"),
        ("kind = \"cxl\"", "assumed: by its latency or bandwidth beside those of DRAM"),
        ("l2_cycles = 12", "assumed"),
        ("base_ghz = 2.100", "read"),
    ] {
        assert!(
            toml.lines().any(|l| l.starts_with(text) && l.ends_with(&format!("# {origin}"))),
            "{text} {origin}\n{toml}"
        );
    }
}

#[test]
fn sysfs_copy_of_the_devices_folder_gives_the_same() {
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path());
    let copy = machine(import::sysfs(&dir.path().join("sys"), "a"));
    assert_eq!(copy, machine(import::sysfs(dir.path(), "a")));
}

#[test]
fn sysfs_degrades_gracefully() {
    // No node folder (a kernel without NUMA), no cache files, no topology files.
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("sys/devices/system/cpu/online", "0-2\n"), ("proc/meminfo", "MemTotal: 2097152 kB\n")]);
    let m = machine(import::sysfs(dir.path(), "vm"));
    assert_eq!((m.nodes.len(), m.cpus.len(), m.cores, m.nodes[0].memory_bytes), (1, 3, 3, 2 << 30));
    for part in ["a single node of all CPUs", "no cache files", "no topology files"] {
        assert!(m.warnings.iter().any(|w| w.contains(part)), "{part}: {:?}", m.warnings);
    }
    // CPU folders alone.
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("devices/system/cpu/cpu0/uevent", ""),
            ("devices/system/cpu/cpu3/uevent", ""),
            ("devices/system/cpu/cpuidle/x", ""),
        ],
    );
    let m = machine(import::sysfs(dir.path(), "vm"));
    assert_eq!(m.cpus.iter().map(|c| c.id).collect::<Vec<_>>(), [0, 3]);
    // Without distances the file has those that Linux assumes. Unreadable files count as missing.
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path());
    let system = dir.path().join("sys/devices/system");
    std::fs::remove_file(system.join("node/node1/distance")).unwrap();
    std::fs::write(system.join("node/node1/meminfo"), [0xff, 0xfe, 0x00]).unwrap();
    for cpu in [2, 3, 6, 7] {
        std::fs::write(system.join(format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list")), "0-").unwrap();
    }
    let m = machine(import::sysfs(dir.path(), "vm"));
    assert_eq!(m.distance[1], [21, 10, 28], "from the opposite direction");
    for part in [
        "2 distances that the source does not tell",
        "memory of node 1 (no meminfo)",
        "some CPUs have no last-level cache",
        "node/node1/meminfo (not text), and 4 more files",
    ] {
        assert!(m.warnings.iter().any(|w| w.contains(part)), "{part}: {:?}", m.warnings);
    }
}

#[test]
fn sysfs_offline_cpus_and_caches_across_nodes() {
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path());
    let system = dir.path().join("sys/devices/system");
    std::fs::write(system.join("cpu/online"), "0-6\n").unwrap();
    for cpu in 0..8 {
        std::fs::write(system.join(format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list")), "0-7\n").unwrap();
    }
    let m = machine(import::sysfs(dir.path(), "cod"));
    assert_eq!(m.cpus.len(), 7, "CPU 7 is offline");
    assert_eq!(m.llcs.iter().map(|l| l.cpus.len()).collect::<Vec<_>>(), [4, 3], "cut at the border of the node");
    assert_eq!(m.llcs[0].size_bytes, 30 << 20, "half of the capacity");
    assert!(
        m.warnings.iter().any(|w| w.contains("caches across nodes, cut at the border of nodes 0-1")),
        "{:?}",
        m.warnings
    );
}

#[test]
fn sysfs_errors_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let e = import::sysfs(dir.path(), "x").unwrap_err();
    assert!(e.to_string().contains("no `sys/devices/system` below it"), "{e}");
    tree(dir.path());
    let path = dir.path().join("sys/devices/system/node/node1/distance");
    for (text, part) in [
        ("21 10", "2 distances for 3 nodes"),
        ("21 10 x", "`x` is not a distance"),
        ("21 10 99999999999999999999999", "is not a distance"),
        ("21 5 28", "distance 5 from node 1 to 1"),
    ] {
        std::fs::write(&path, text).unwrap();
        let e = import::sysfs(dir.path(), "x").unwrap_err();
        assert!(e.to_string().contains(part) && e.file.ends_with("node1/distance"), "{text}: {e}");
    }
    std::fs::write(&path, "21 10 28").unwrap();
    std::fs::write(dir.path().join("sys/devices/system/node/node1/cpulist"), "1-3").unwrap();
    let e = import::sysfs(dir.path(), "x").unwrap_err();
    assert!(e.to_string().contains("CPU 1 is in two nodes"), "{e}");
    let e = import::sysfs(dir.path(), "Not A Name").unwrap_err();
    assert!(e.to_string().contains("CPU 1 is in two nodes") || e.to_string().contains("name"), "{e}");
}

#[test]
fn sysfs_files_of_any_content_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path());
    write(dir.path(), &[("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0-1\n")]);
    let mut files = Vec::new();
    let mut folders = vec![dir.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    let hostile = ["", "-1", "0-4294967295", "99999999999999999999999", "0-65535", "1048577K", "x\ny", "0"];
    // One CPU is enough: the same code reads all of them.
    files.retain(|f| !f.to_str().unwrap().contains("/cpu/cpu") || f.to_str().unwrap().contains("/cpu3/"));
    for file in files {
        let good = std::fs::read(&file).unwrap();
        for bad in hostile.iter().map(|b| b.as_bytes()).chain([&[0xff, 0x00, 0x31][..]]) {
            std::fs::write(&file, bad).unwrap();
            if let Ok(toml) = import::sysfs(dir.path(), "x") {
                assert!(numalab_model::machine::from_toml("x", &toml).is_ok(), "{}", file.display());
            }
        }
        std::fs::write(&file, good).unwrap();
    }
}

#[test]
fn this_host_can_be_imported() {
    let m = machine(import::sysfs(Path::new("/"), "here"));
    assert!(!m.cpus.is_empty() && m.memory_bytes() > 0);
}

#[test]
fn hwloc_version_2() {
    let m = machine(import::hwloc_xml("v2.xml", &data("hwloc-v2.xml"), "two"));
    assert_eq!(m.title, "imported from hwloc XML 2.0, Example \"two\" CPU");
    assert_eq!((m.sockets, m.nodes.len(), m.cores, m.cpus.len(), m.llcs.len()), (2, 2, 4, 8, 2));
    assert_eq!(m.nodes.iter().map(|n| n.memory_bytes >> 30).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(m.nodes[1].cpus, [2, 3, 6, 7]);
    assert_eq!(m.cpus[0].core, m.cpus[4].core);
    assert_eq!((m.llcs[0].size_bytes, m.cache.l2_bytes), (20 << 20, 256 << 10));
    assert_eq!(m.distance, [[10, 21], [21, 10]]);
    assert_eq!(m.links.len(), 1);
}

#[test]
fn hwloc_version_3_with_hbm_cxl_sparse_ids_and_memory_attributes() {
    let m = machine(import::text("v3.xml", &data("hwloc-v3.xml"), "three"));
    assert_eq!(m.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 4, 5, 9]);
    let cpus: Vec<usize> = m.nodes.iter().map(|n| n.cpus.len()).collect();
    assert_eq!(cpus, [2, 2, 0, 0], "HBM and CXL beside DRAM have no CPUs of their own");
    let kinds: Vec<MemoryKind> = m.nodes.iter().map(|n| n.kind).collect();
    assert_eq!(kinds, [MemoryKind::Dram, MemoryKind::Dram, MemoryKind::Hbm, MemoryKind::Cxl]);
    assert_eq!(m.nodes.iter().map(|n| n.tier).collect::<Vec<_>>(), [1, 1, 0, 2]);
    assert!(m.nodes.iter().all(|n| n.socket == 0) && m.sockets == 1);
    assert_eq!(m.llcs.len(), 2);
    assert!(m.llcs.iter().all(|l| l.size_bytes == 16 << 20), "not the 2 GiB memory-side cache");
    // The distances are indexed by `gp_index`, and their values are in two elements.
    assert_eq!(m.distance, [[10, 12, 11, 30], [12, 10, 13, 31], [11, 13, 10, 33], [30, 31, 33, 10]]);
    assert_eq!((m.latency_ns[0][0], m.latency_ns[0][3], m.latency_ns[1][3]), (80.0, 300.0, 300.0));
    assert_eq!(m.nodes[0].dram_sustained_gbps, 104.9, "100000 MiB/s, the larger of two");
    assert_eq!(m.nodes[3].dram_sustained_gbps, 21.0);
}

#[test]
fn numactl_with_guessed_siblings() {
    let m = machine(import::text("n.txt", &data("numactl-naples.txt"), "naples"));
    assert_eq!((m.sockets, m.nodes.len(), m.cores, m.cpus.len(), m.llcs.len()), (4, 4, 16, 32, 4));
    assert_eq!(m.nodes[3].memory_bytes, 16102 << 20);
    assert_eq!(m.cpus[3].core, m.cpus[19].core);
    assert_eq!(m.distance[2], [16, 16, 10, 16]);
    assert!(m.warnings.iter().any(|w| w.contains("CPU c and c + 16")), "{:?}", m.warnings);
}

#[test]
fn numactl_that_was_cut_off_is_refused() {
    let whole = data("numactl-naples.txt");
    let cut: Vec<&str> = whole.lines().take_while(|l| !l.starts_with("node 1")).collect();
    let e = import::text("n.txt", &cut.join("\n"), "naples").unwrap_err().to_string();
    assert!(e.contains("n.txt:1:12: 4 nodes, of which 1 are listed below; expected the whole output"), "{e}");
}

#[test]
fn numactl_with_sparse_ids_memory_only_and_cpu_only_nodes() {
    let m = machine(import::numactl("n.txt", &data("numactl-power.txt"), "power"));
    assert_eq!(m.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 8, 252, 253]);
    assert_eq!(m.nodes.iter().map(|n| n.cpus.len()).collect::<Vec<_>>(), [8, 8, 0, 0]);
    assert_eq!(m.nodes.iter().map(|n| n.memory_bytes >> 20).collect::<Vec<_>>(), [130_690, 0, 16_128, 16_128]);
    assert_eq!(m.cpus[8].id, 64);
    assert_eq!((m.cores, m.sockets), (16, 2));
    assert_eq!(m.distance[1], [42, 10, 80, 80]);
    assert!(m.warnings.iter().any(|w| w.contains("asymmetric")), "{:?}", m.warnings);
}

#[test]
fn numactl_of_a_virtual_machine_without_distances() {
    let one = "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 4698 MB\nnode 0 free: 4000 MB\n";
    let m = machine(import::numactl("n.txt", &format!("{one}node distances:\nnode   0 \n  0:  10 \n"), "vm"));
    assert_eq!((m.nodes.len(), m.cpus.len(), m.distance.clone()), (1, 2, vec![vec![10]]));
    let two = format!("{one}node 1 cpus: 2 3\nnode 1 size: 10 MB\nNo distance information available.\n");
    let m = machine(import::numactl("n.txt", &two, "vm"));
    assert_eq!(m.distance, [[10, 20], [20, 10]]);
    assert!(m.warnings.iter().any(|w| w.contains("no distances in the source")));
    let flat = two.replace("No distance information available.", "node distances:\nnode 0 1\n0: 10 10\n1: 10 10");
    let m = machine(import::numactl("n.txt", &flat, "vm"));
    assert!(m.warnings.iter().any(|w| w.contains("all distances are 10")), "{:?}", m.warnings);
}

#[test]
fn numactl_without_a_size_gives_an_assumed_one_with_a_note() {
    let text = "available: 3 nodes (0-2)\nnode 0 cpus: 0 1\nnode 0 size: 4698 MB\nnode 1 cpus: 2 3\nnode 2 cpus: 4 5\n";
    let toml = import::numactl("n.txt", text, "vm").unwrap();
    let m = machine(Ok(toml));
    let want = "no size in the source for node 1-2: 64 GiB of memory each";
    assert!(m.warnings.iter().any(|w| w.contains(want)), "{:?}", m.warnings);
    let whole = text.replace("2 3\n", "2 3\nnode 1 size: 1 MB\n") + "node 2 size: 1 MB\n";
    let m = machine(import::numactl("n.txt", &whole, "vm"));
    assert!(!m.warnings.iter().any(|w| w.contains("no size")), "{:?}", m.warnings);
}

#[test]
fn numactl_errors_have_line_and_column() {
    let good = data("numactl-naples.txt");
    for (old, new, line, column, parts) in [
        ("node 1 cpus:", "node 1 cpsu:", 5, 8, vec!["unknown key `cpsu`", "did you mean `cpus`"]),
        ("node 0 cpus: 0 1", "node 0 cpus: 0 -1", 2, 16, vec!["`-1` is not a CPU id"]),
        ("node 0 cpus: 0 1", "node 0 cpus: 0 99999999999999999999", 2, 16, vec!["is not a CPU id", "0 to 65535"]),
        ("node 1 size: 16124 MB", "node 1 size: -16124 MB", 6, 14, vec!["`-16124` is not a size"]),
        ("node 1 size: 16124 MB", "node 1 size: 16124 GB", 6, 14, vec!["a number and `MB`"]),
        ("  2:  16  16  10  16", "  2:  16  16  10", 18, 1, vec!["3 distances for 4 nodes"]),
        ("  2:  16  16  10  16", "  2:  16 300  10  16", 18, 10, vec!["distance 300 from node 2 to 1"]),
        ("  2:  16  16  10  16", "  2:  16  x  10  16", 18, 11, vec!["`x` is not a distance"]),
        ("  2:  16  16  10  16", "  1:  16  16  10  16", 18, 3, vec!["second row for node 1"]),
        ("node distances:", "node distance:", 14, 1, vec!["`node distance`"]),
        ("node 3 cpus: 12", "node 3 cpus: 0 12", 0, 0, vec!["CPU 0 is in two nodes"]),
    ] {
        assert!(good.contains(old), "{old}");
        let e = import::numactl("n.txt", &good.replacen(old, new, 1), "x").expect_err(new);
        let message = e.to_string();
        assert_eq!((e.line, e.column), (line, column), "{new}: {message}");
        assert!(parts.iter().all(|p| message.contains(p)), "{new}: {message}");
    }
    for text in ["", "hello", "available: 0 nodes\n", "<", "[package]"] {
        let e = import::text("n.txt", text, "x").unwrap_err();
        assert!(e.line > 0 && !e.expected.is_empty(), "`{text}`: {e}");
    }
}

#[test]
fn an_import_round_trips_through_its_file() {
    // A file system tree made from an imported machine gives the same machine when it is imported.
    let text = data("numactl-naples.txt");
    let first = machine(import::numactl("n.txt", &text, "a"));
    let mut again = String::from("available: 4 nodes (0-3)\n");
    for n in &first.nodes {
        let cpus: Vec<String> = n.cpus.iter().map(|&c| first.cpus[c].id.to_string()).collect();
        again += &format!("node {} cpus: {}\nnode {} size: {} MB\n", n.id, cpus.join(" "), n.id, n.memory_bytes >> 20);
    }
    again += "node distances:\nnode 0 1 2 3\n";
    for (n, row) in first.nodes.iter().zip(&first.distance) {
        let row: Vec<String> = row.iter().map(u8::to_string).collect();
        again += &format!("{}: {}\n", n.id, row.join(" "));
    }
    assert_eq!(machine(import::numactl("n.txt", &again, "a")), first);
}
