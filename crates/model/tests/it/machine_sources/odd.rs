//! Odd machines: distances that say nothing, nodes that are left out, hidden CPUs, sockets that are no nodes, sizes
//! that are missing or tiny, offline CPUs, hybrid cores, 1,024 nodes.

use super::world::{example, hex, World, WorldNode};
use super::{cpus, machine, warns};
use numalab_model::machine::{import, Machine, MemoryKind};

#[test]
fn a_distance_of_255_is_taken_from_the_opposite_direction() {
    let text = "available: 3 nodes (0-2)\nnode 0 cpus: 0 1\nnode 0 size: 1000 MB\nnode 1 cpus: 2 3\nnode 1 size: 1000 MB\n\
                node 2 cpus:\nnode 2 size: 1000 MB\nnode distances:\nnode   0   1   2\n  0:  10  32  50\n  1:  32  10  60\n\
                  2: 255 255  10\n";
    let m = machine(import::numactl("n.txt", text, "m"));
    assert_eq!(m.distance, [[10, 32, 50], [32, 10, 60], [50, 60, 10]]);
    warns(&m, "2 distances that the source does not tell (255 or missing)");
    // The same in hwloc's form and in sysfs.
    let mut w = example();
    w.distance[4] = vec![255, 255, 255, 255, 10];
    let m = machine(import::hwloc_xml("h.xml", &w.hwloc_xml(), "m"));
    assert_eq!(m.distance[4], [24, 24, 14, 14, 10]);
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    assert_eq!(machine(import::sysfs(dir.path(), "m")).distance, m.distance);
    // No number from 10 to 254 is lost on the way.
    w.distance[1][2] = 254;
    assert_eq!(machine(import::text("n.txt", &w.numactl(), "m")).distance[1][2], 254);
}

#[test]
fn rows_of_distances_that_are_missing_follow_from_the_others() {
    let w = example();
    let text: String = w.numactl().lines().filter(|l| !l.starts_with("  1:")).map(|l| format!("{l}\n")).collect();
    let m = machine(import::numactl("n.txt", &text, "m"));
    assert_eq!(m.distance[1], [12, 10, 32, 32, 24]);
    warns(&m, "no row of distances for node 1");
}

#[test]
fn cpus_of_nodes_that_hwloc_leaves_out_keep_their_nodes() {
    // Nodes 1 and 2 of the machine have no memory: hwloc 2 writes the other two only.
    let w = example();
    let xml: String = w
        .hwloc_xml()
        .replace("<object type=\"Machine\" ", "<object type=\"Machine\" complete_nodeset=\"0x0000020f\" ")
        .lines()
        .filter(|l| !(l.contains("NUMANode") && (l.contains("os_index=\"1\"") || l.contains("os_index=\"2\""))))
        .map(|l| format!("{l}\n"))
        .collect();
    let a = xml.find(" <distances2").unwrap();
    let m = machine(import::hwloc_xml("h.xml", &format!("{}</topology>", &xml[..a]), "m"));
    assert_eq!(m.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 1, 2, 3, 9]);
    assert_eq!(m.cpus.len(), 32);
    assert_eq!((cpus(&m, 1), m.nodes[1].memory_bytes), (vec![4, 5, 6, 7, 20, 21, 22, 23], 0));
    assert_eq!(m.nodes.iter().map(|n| n.socket).collect::<Vec<_>>(), [0, 0, 1, 1, 1]);
    warns(&m, "no node of the source has CPU 4-11,20-27: they are nodes without memory, 1-2");
    // The distances of the others are there; those of the two follow from the sockets.
    let table = " <distances2 type=\"NUMANode\" nbobjs=\"3\" kind=\"5\" indexing=\"os\"><indexes>0 3 9 </indexes>\
                 <u64values>10 32 24 32 10 14 24 14 10 </u64values></distances2></topology>";
    let m = machine(import::hwloc_xml("h.xml", &format!("{}{table}", &xml[..a]), "m"));
    assert_eq!((m.distance[0][3], m.distance[0][2], m.distance[1][2]), (32, 32, 32));
}

#[test]
fn sysfs_cpus_of_no_node_make_a_node_without_memory() {
    let w = example();
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    std::fs::write(dir.path().join("sys/devices/system/node/node3/cpulist"), "12-15\n").unwrap();
    let m = machine(import::sysfs(dir.path(), "m"));
    assert_eq!((m.nodes.len(), m.cpus.len(), cpus(&m, 5)), (6, 32, vec![28, 29, 30, 31]));
    assert_eq!((m.nodes[5].id, m.nodes[5].memory_bytes, m.nodes[5].socket), (10, 0, 1));
}

#[test]
fn empty_words_of_hwloc_sets_are_zero() {
    // CPUs 0 and 96: the words between them are empty.
    let xml =
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\"><object type=\"Package\" os_index=\"0\">\
               <object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1,,,0x1\" local_memory=\"1073741824\"/>\
               <object type=\"PU\" os_index=\"0\"/><object type=\"PU\" os_index=\"96\"/></object></object></topology>";
    let m = machine(import::hwloc_xml("h.xml", xml, "m"));
    assert_eq!((m.nodes.len(), cpus(&m, 0)), (1, vec![0, 96]));
}

#[test]
fn hidden_cpus_do_not_make_memory_cxl() {
    let mut w = example();
    w.nodes.truncate(2);
    w.distance = vec![vec![10, 12], vec![12, 10]];
    // The container may not use node 1's CPUs: its `cpuset` is empty, its `complete_cpuset` is not.
    let set = hex(&w.nodes[1].cpus(), "0x");
    let mut xml = w.hwloc_xml().replacen(&format!("cpuset=\"{set}\""), "cpuset=\"0x0\"", 1);
    for cpu in w.nodes[1].cpus() {
        xml = xml.replace(
            &format!("<object type=\"PU\" os_index=\"{cpu}\""),
            &format!("<object type=\"Misc\" os_index=\"{cpu}\""),
        );
    }
    let m = machine(import::hwloc_xml("h.xml", &xml, "m"));
    assert_eq!((m.nodes[1].cpus.len(), m.nodes[1].kind), (0, MemoryKind::Dram));
    warns(&m, "CPUs of node 1 are not in the source");
}

#[test]
fn packages_that_share_a_node_are_sockets() {
    let core = |c: u32| vec![vec![vec![c]]];
    let nodes = vec![WorldNode { id: 0, package: 0, llcs: core(0), kib: 1 << 20, subtype: "" }];
    let w = World { nodes, distance: vec![vec![10]], l2_kib: 256, llc_kib: 1024 };
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    let system = dir.path().join("sys/devices/system");
    std::fs::write(system.join("cpu/online"), "0-3").unwrap();
    std::fs::write(system.join("node/node0/cpulist"), "0-3").unwrap();
    for cpu in 1..4 {
        std::fs::create_dir_all(system.join(format!("cpu/cpu{cpu}/topology"))).unwrap();
        std::fs::write(system.join(format!("cpu/cpu{cpu}/topology/physical_package_id")), cpu.to_string()).unwrap();
    }
    let m = machine(import::sysfs(dir.path(), "m"));
    assert_eq!((m.sockets, m.nodes.len(), m.llcs.len()), (4, 1, 4));
    assert_eq!(m.cpus.iter().map(|c| c.socket).collect::<Vec<_>>(), [0, 1, 2, 3]);
    warns(&m, "packages 0-3 are all in node 0");
    let lscpu = "CPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 1\nSocket(s): 4\nNUMA node0 CPU(s): 0-3\n";
    let m = machine(import::lscpu("l.txt", lscpu, "m"));
    assert_eq!((m.sockets, m.llcs.len(), m.cpus[3].socket), (4, 4, 3));
    warns(&m, "packages 0-3 are all in node 0");
    // Ids of packages and of nodes without a package do not meet.
    std::fs::remove_file(system.join("cpu/cpu0/topology/physical_package_id")).unwrap();
    std::fs::write(system.join("cpu/cpu1/topology/physical_package_id"), "-1").unwrap();
    let m = machine(import::sysfs(dir.path(), "m"));
    assert_eq!(m.cpus.iter().map(|c| c.socket).collect::<Vec<_>>(), [0, 0, 0, 1]);
}

/// Two nodes of two packages each, with one cache of two cores in each package, as a guest may have them.
#[test]
fn two_packages_in_each_node_are_four_sockets_in_every_form() {
    let mut w = example();
    w.nodes.truncate(2);
    w.distance = vec![vec![10, 21], vec![21, 10]];
    let table = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n".to_string();
    let rows = w.nodes.iter().flat_map(|n| {
        n.llcs.iter().enumerate().flat_map(move |(l, llc)| {
            let package = n.id as usize * 2 + l;
            let row = move |core: u32, cpu: &u32| (*cpu, format!("{cpu},{core},{package},{},,0,0,0,{package}\n", n.id));
            llc.iter().flat_map(move |core| core.iter().map(move |cpu| row(core[0], cpu)))
        })
    });
    let mut rows: Vec<(u32, String)> = rows.collect();
    rows.sort_unstable();
    let lscpu = table + &rows.into_iter().map(|(_, r)| r).collect::<String>();
    let synthetic = "NUMANode:2(memory=8589934592) Package:2 L3Cache:1(size=16777216) Core:2 PU:2(indexes=2*8:1*2)";
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    for (cpu, package) in w.nodes.iter().flat_map(|n| {
        let of = move |l: usize| n.id as usize * 2 + l;
        n.llcs.iter().enumerate().flat_map(move |(l, llc)| llc.concat().into_iter().map(move |c| (c, of(l))))
    }) {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        std::fs::write(dir.path().join(file), package.to_string()).unwrap();
    }
    for m in [
        machine(import::text("l.txt", &lscpu, "m")),
        machine(import::text("s.txt", synthetic, "m")),
        machine(import::sysfs(dir.path(), "m")),
    ] {
        let sockets: Vec<usize> = (0..m.llcs.len()).map(|l| m.socket_of_llc(l)).collect();
        assert_eq!((m.sockets, m.nodes.len(), sockets), (4, 2, vec![0, 1, 2, 3]), "{}", m.title);
        assert_eq!((m.nodes[0].socket, m.nodes[1].socket), (0, 2));
        // Nodes are linked through the sockets that their memory is on, and only those.
        assert_eq!(m.links.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["socket0-socket2"]);
        assert_eq!((m.routes[0][1].len(), m.hop[0][1]), (1, 1));
        assert_eq!(m.socket_groups(), [vec![0, 1], vec![2, 3]]);
        let text = numalab_model::machine::show(&m, 100);
        assert!(text.contains("+-- sockets 0-1 ") && text.contains("socket 3"), "{text}");
    }
}

#[test]
fn several_nodes_of_a_package_and_packages_without_memory_are_sockets() {
    let mut w = example();
    w.nodes.pop();
    w.distance.iter_mut().for_each(|r| r.truncate(4));
    w.distance.truncate(4);
    (w.nodes[2].kib, w.nodes[3].kib) = (0, 0);
    for text in [w.hwloc_xml(), w.lstopo()] {
        let m = machine(import::text("m", &text, "m"));
        assert_eq!((m.sockets, m.nodes.iter().map(|n| n.socket).collect::<Vec<_>>()), (2, vec![0, 0, 1, 1]));
        assert_eq!(m.nodes[3].memory_bytes, 0);
    }
}

#[test]
fn missing_sizes_are_the_same_everywhere() {
    let mut w = example();
    let want = [64 << 30; 5];
    let sizes = |m: &Machine| m.nodes.iter().map(|n| n.memory_bytes).collect::<Vec<u64>>();
    let numactl: String = w.numactl().lines().filter(|l| !l.contains(" size:")).map(|l| format!("{l}\n")).collect();
    let numactl = numactl.replace("node 0 free: 1 MB", "node 0 size: <not available>");
    assert_eq!(sizes(&machine(import::numactl("n.txt", &numactl, "m"))), want);
    assert_eq!(sizes(&machine(import::lscpu("l.txt", &w.lscpu(), "m"))), want);
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    for n in &w.nodes {
        std::fs::remove_file(dir.path().join(format!("sys/devices/system/node/node{}/meminfo", n.id))).unwrap();
    }
    assert_eq!(sizes(&machine(import::sysfs(dir.path(), "m"))), want);
    w.nodes.iter_mut().for_each(|n| n.kib = 0);
    let m = machine(import::hwloc_xml("h.xml", &w.hwloc_xml(), "m"));
    assert_eq!(sizes(&m), want);
    warns(&m, "no size in the source for node 0-3,9: 64 GiB of memory each");
}

#[test]
fn small_values_survive() {
    let w = example();
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    let access = dir.path().join("sys/devices/system/node/node0/access0/initiators");
    std::fs::create_dir_all(access.join("node0")).unwrap();
    std::fs::write(access.join("read_latency"), "90").unwrap();
    for (mib, want) in [("40", 0.0419), ("10", 0.0105), ("3", 171.5), ("900", 0.944), ("1000000", 1048.6)] {
        std::fs::write(access.join("read_bandwidth"), mib).unwrap();
        let m = machine(import::sysfs(dir.path(), "m"));
        assert_eq!(m.nodes[0].dram_sustained_gbps, want, "{mib} MiB/s");
        assert!(m.nodes[0].dram_peak_gbps >= want);
    }
    std::fs::write(access.join("read_bandwidth"), "3").unwrap();
    warns(&machine(import::sysfs(dir.path(), "m")), "bandwidth of node 0 in the source is out of range");
    // A latency at the limit does not push the estimates over it.
    std::fs::write(access.join("read_latency"), "1000000").unwrap();
    machine(import::sysfs(dir.path(), "m"));
    // A clock that no machine has.
    std::fs::create_dir_all(dir.path().join("sys/devices/system/cpu/cpu0/cpufreq")).unwrap();
    std::fs::write(dir.path().join("sys/devices/system/cpu/cpu0/cpufreq/base_frequency"), "50000").unwrap();
    warns(&machine(import::sysfs(dir.path(), "m")), "the base clock of 0.05 GHz in the source is out of range");
}

#[test]
fn offline_cpus_are_left_out() {
    let w = example();
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    std::fs::write(dir.path().join("sys/devices/system/cpu/online"), "0-29").unwrap();
    let m = machine(import::sysfs(dir.path(), "m"));
    assert_eq!((m.cpus.len(), m.cores), (30, 16));
    assert_eq!(m.cpus[14].core, 14, "CPU 14 has lost its sibling");
    let lscpu = "CPU(s): 8\nOn-line CPU(s) list: 0-3,6-7\nOff-line CPU(s) list: 4,5\nThread(s) per core: 1\n\
                 Socket(s): 2\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 6,7\n";
    let m = machine(import::lscpu("l.txt", lscpu, "m"));
    assert_eq!((m.cpus.len(), m.cores, m.sockets), (6, 6, 2));
}

#[test]
fn hybrid_cores_have_different_numbers_of_threads_and_caches() {
    // Two P cores of two threads and four E cores of one share an L3; two more E cores have an L2 only.
    let dir = tempfile::tempdir().unwrap();
    let system = dir.path().join("sys/devices/system");
    let put = |path: String, text: &str| {
        std::fs::create_dir_all(system.join(&path).parent().unwrap()).unwrap();
        std::fs::write(system.join(&path), text).unwrap();
    };
    put("cpu/online".into(), "0-9");
    let cpus =
        [("0-1", 2), ("0-1", 2), ("2-3", 2), ("2-3", 2), ("4", 4), ("5", 4), ("6", 4), ("7", 4), ("8", 1), ("9", 1)];
    for (cpu, (core, _)) in cpus.iter().enumerate() {
        put(format!("cpu/cpu{cpu}/topology/core_cpus_list"), core);
        put(format!("cpu/cpu{cpu}/cache/index2/level"), "2");
        put(format!("cpu/cpu{cpu}/cache/index2/size"), "2048K");
        put(
            format!("cpu/cpu{cpu}/cache/index2/shared_cpu_list"),
            match cpu {
                0..4 => core,
                4..8 => "4-7",
                _ => "8-9",
            },
        );
        if cpu < 8 {
            put(format!("cpu/cpu{cpu}/cache/index3/level"), "3");
            put(format!("cpu/cpu{cpu}/cache/index3/size"), "24576K");
            put(format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), "0-7");
        }
    }
    let m = machine(import::sysfs(dir.path(), "m"));
    assert_eq!((m.cpus.len(), m.cores, m.llcs.len()), (10, 8, 2));
    assert_eq!(m.llcs.iter().map(|l| (l.cpus.len(), l.size_bytes >> 20)).collect::<Vec<_>>(), [(8, 24), (2, 2)]);
}

#[test]
fn a_thousand_nodes() {
    let n = 1024_usize;
    let node = |i: usize| WorldNode {
        id: i as u32,
        package: i as u32 / 2,
        llcs: vec![vec![vec![i as u32]]],
        kib: 1 << 20,
        subtype: "",
    };
    let far = |a: usize, b: usize| if a == b { 10 } else { 20 + (a.abs_diff(b) % 8) as u8 };
    let distance = (0..n).map(|a| (0..n).map(|b| far(a, b)).collect()).collect();
    let w = World { nodes: (0..n).map(node).collect(), distance, l2_kib: 256, llc_kib: 1024 };
    let m = machine(import::numactl("n.txt", &w.numactl(), "m"));
    assert_eq!((m.nodes.len(), m.cpus.len(), m.sockets), (n, n, n));
}
