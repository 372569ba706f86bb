//! Sources that add to others: sizes, memory modules, sampled loads, and two descriptions of one machine.

use super::{cpus, machine, warns};
use numalab_model::machine::{import, Machine};

const NUMACTL: &str = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 4 5\nnode 0 size: 64000 MB\nnode 1 cpus: 2 3 6 7\n\
                       node 1 size: 64000 MB\nnode distances:\nnode 0 1\n0: 10 21\n1: 21 10\n";
const LSCPU: &str = "Architecture: x86_64\nCPU(s): 8\nOn-line CPU(s) list: 0-7\nModel name: Example CPU\n\
    Thread(s) per core: 2\n\
                     Core(s) per socket: 2\nSocket(s): 2\nNUMA node(s): 2\n\
                     NUMA node0 CPU(s): 0,1,4,5\nNUMA node1 CPU(s): 2,3,6,7\n\
                     L3 cache: 40 MiB (2 instances)\n";

fn of(texts: &[(&str, &str)]) -> Machine {
    machine(import::texts(texts, "x"))
}

/// Whether no warning begins with a doubt.
fn agrees(m: &Machine) {
    assert!(!m.warnings.iter().any(|w| w.starts_with("doubtful")), "{:#?}", m.warnings);
}

#[test]
fn lscpu_and_numactl_make_one_machine() {
    for texts in [[("n", NUMACTL), ("l", LSCPU)], [("l", LSCPU), ("n", NUMACTL)]] {
        let m = of(&texts);
        agrees(&m);
        assert_eq!((m.cores, m.llcs[0].size_bytes, m.distance[0][1]), (4, 20 << 20, 21));
        assert_eq!(m.nodes[0].memory_bytes, 64_000 << 20);
        assert!(m.title.contains("Example CPU"), "{}", m.title);
    }
    let table = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n2,2,1,1,,2,2,2,1\n\
        3,3,1,1,,3,3,3,1\n\
                 4,0,0,0,,0,0,0,0\n5,1,0,0,,1,1,1,0\n6,2,1,1,,2,2,2,1\n7,3,1,1,,3,3,3,1\n";
    let m = of(&[("n", NUMACTL), ("p", table)]);
    agrees(&m);
    assert!(
        !m.warnings.iter().any(|w| w.contains("threads per core") || w.contains("no sockets")),
        "{:#?}",
        m.warnings
    );
}

#[test]
fn two_descriptions_that_disagree_are_doubted() {
    let other = NUMACTL.replace("cpus: 0 1 4 5", "cpus: 0 1 4").replace("cpus: 2 3 6 7", "cpus: 2 3 5 6 7");
    warns(&of(&[("l", LSCPU), ("n", &other)]), "doubtful: node 0 has CPUs `0-1,4-5`, and `0-1,4` by `numactl -H` (n)");
    let one = "available: 1 nodes (0)\nnode 0 cpus: 0 1 2 3 4 5 6 7\nnode 0 size: 64000 MB\n";
    warns(&of(&[("l", LSCPU), ("n", one)]), "doubtful: `numactl -H` (n) has nodes 0 and lscpu has 0-1");
    let far = NUMACTL.replace("21", "32").replace("node 1 size: 64000", "node 1 size: 32000");
    let m = of(&[("a", NUMACTL), ("b", &far)]);
    warns(&m, "doubtful: distances differ from those of `numactl -H` (b)");
    warns(&m, "doubtful: node 1 has 62.5 GiB, and 31.2 GiB by");
}

#[test]
fn numastat_gives_sizes_or_is_compared() {
    let text =
        "Per-node system memory usage (in MBs):\n                          Node 0          Node 1           Total\n\
                MemTotal                64000.00        63000.50       127000.50\nMemFree 1.00 2.00 3.00\n";
    let m = of(&[("l", LSCPU), ("s", text)]);
    agrees(&m);
    assert_eq!(m.nodes.iter().map(|n| n.memory_bytes >> 20).collect::<Vec<_>>(), [64_000, 63_000]);
    warns(&m, "memory of node 0-1 from `numastat -m` (s)");
    agrees(&of(&[("n", NUMACTL), ("s", text)]));
    let less = text.replace("63000.50", "31000.00");
    let m = of(&[("n", NUMACTL), ("s", &less)]);
    warns(&m, "doubtful: node 1 has 62.5 GiB by numactl -H, and 30.3 GiB by");
    warns(&m, "doubtful: the nodes of `numastat -m` (s) have 92.8 GiB together, and its total is 124 GiB");
    // A table that a narrow terminal has wrapped.
    let wrapped =
        "Per-node system memory usage (in MBs):\n        Node 0\nMemTotal 64000.00\n\n        Node 1           Total\n\
                   MemTotal 64000.00 128000.00\n";
    agrees(&of(&[("n", NUMACTL), ("s", wrapped)]));
    let three = text.replace("Node 1  ", "Node 2  ");
    warns(&of(&[("n", NUMACTL), ("s", &three)]), "has node 2, which numactl -H has not");
    let process =
        "Per-node process memory usage (in MBs) for PID 4711 (db)\n     Node 0  Node 1  Total\nHuge 0.00 0.00 0.00\n\
                   Private 70000.00 1.00 70001.00\n-----\nTotal 70000.00 1.00 70001.00\n";
    warns(&of(&[("n", NUMACTL), ("p", process)]), "doubtful: `numastat -p` (p) has a program with 68.4 GiB on node 0");
}

#[test]
fn zoneinfo_gives_sizes() {
    let zone = |node: u32, name: &str, pages: u64| {
        format!(
            "Node {node}, zone {name:>8}\n  pages free     100\n        spanned  {pages}\n        \
             present  {pages}\n        managed  {pages}\n"
        )
    };
    let text = zone(0, "DMA32", 1 << 18) + &zone(0, "Normal", 3 << 18) + &zone(1, "Normal", 1 << 20);
    let m = of(&[("l", LSCPU), ("z", &text)]);
    assert_eq!(m.nodes.iter().map(|n| n.memory_bytes >> 30).collect::<Vec<_>>(), [4, 4]);
    warns(&m, "pages of 4 KiB in /proc/zoneinfo");
    warns(
        &of(&[("n", NUMACTL), ("z", &text)]),
        "doubtful: node 0 has 62.5 GiB by numactl -H, and 4 GiB by `cat /proc/zoneinfo`",
    );
}

/// `dmidecode -t memory` of modules with these names.
fn modules(names: &[(&str, &str)], size: &str) -> String {
    let one = |(locator, bank): &(&str, &str)| {
        format!(
            "Handle 0x0020, DMI type 17, 92 bytes\n\
            Memory Device\n\tTotal Width: 72 bits\n\tData Width: 64 bits\n\tSize: {size}\n\
                 \tLocator: {locator}\n\tBank Locator: {bank}\n\tSpeed: 3200 MT/s\n\
                 \tConfigured Memory Speed: 3000 MT/s\n\n"
        )
    };
    let empty = "Memory Device\n\tSize: No Module Installed\n\tLocator: DIMM_Z9\n\n";
    format!("# dmidecode 3.4\n{}{empty}", names.iter().map(one).collect::<String>())
}

#[test]
fn dmidecode_gives_channels_and_speeds() {
    // Four channels of two modules each: 4 x 3000 MT/s x 8 bytes = 96 GB/s for two nodes.
    let named = [("A1", ""), ("A2", ""), ("B1", ""), ("B2", ""), ("C1", ""), ("C2", ""), ("D1", ""), ("D2", "")];
    let banks = [
        ("DIMM 0", "P0 CHANNEL A"),
        ("DIMM 0", "P0 CHANNEL B"),
        ("DIMM 0", "P1 CHANNEL A"),
        ("DIMM 0", "P1 CHANNEL B"),
    ];
    for (text, channels) in [(modules(&named, "16 GB"), 4), (modules(&banks, "32768 MB"), 4)] {
        let m = of(&[("n", NUMACTL), ("d", &text)]);
        agrees(&m);
        assert_eq!(m.nodes.iter().map(|n| n.dram_peak_gbps).collect::<Vec<_>>(), [48.0, 48.0]);
        warns(&m, &format!("{channels} channels from `dmidecode -t memory` (d), as many for each of 2 nodes"));
    }
    let m = of(&[("n", NUMACTL), ("d", &modules(&named[..3], "16 GB"))]);
    warns(&m, "doubtful: the nodes have 125 GiB of memory, and `dmidecode -t memory` (d) has modules of 48 GiB");
    warns(&m, "3 channels of `dmidecode -t memory` (d) do not divide among 2 nodes");
    warns(&m, "one channel for each memory module");
}

#[test]
fn perf_mem_doubts_latencies() {
    let report = |remote: f64| {
        format!(
            "# Overhead       Samples  Local Weight  Memory access\n    40.00%           100  400  \
             Local RAM hit  [.] f\n\
                 {remote:8.2}%            50  900  Remote RAM (1 hop) hit  [.] f\n     1.00%  5000  7  L1 hit  [.] f\n"
        )
    };
    // The file's latencies have 1.72.
    agrees(&of(&[("n", NUMACTL), ("p", &report(34.0))]));
    warns(
        &of(&[("n", NUMACTL), ("p", &report(60.0))]),
        "remote loads took 3.00 times local ones where perf sampled them, and 1.7",
    );
    let e = import::texts(&[("n", NUMACTL), ("p", &report(60.0).replace("  100  400", "  10  400"))], "x").unwrap_err();
    assert!(e.to_string().contains("10 samples of local memory and 50 of remote"), "{e}");
}

#[test]
fn sources_without_cpus_are_no_machine_alone() {
    for (text, command) in [
        ("Per-node system memory usage (in MBs):\n Node 0 Total\nMemTotal 1.0 1.0\n", "numastat -m"),
        ("Node 0, zone Normal\n managed 1000\n", "/proc/zoneinfo"),
        (&*modules(&[("A1", "")], "16 GB"), "dmidecode -t memory"),
    ] {
        let e = import::text("t", text, "x").unwrap_err().to_string();
        assert!(e.contains(command) && e.contains("names no CPUs") && e.contains("beside"), "{e}");
    }
}

/// `likwid-topology` of two sockets with a node and a cache each.
fn likwid() -> String {
    let row = |cpu: u32| format!("{cpu}   {}   {}   0   {}   *\n", cpu / 4, cpu % 4, cpu % 4 / 2);
    format!(
        "-----\nCPU name:\tExample CPU\nSockets:\t\t2\nCores per socket:\t2\nThreads per core:\t2\n-----\n\
         HWThread        Thread        Core        Die        Socket        Available\n{}\
         Socket 0:\t\t( 0 4 1 5 )\nLevel:\t\t\t1\nSize:\t\t\t48 kB\nCache groups:\t\t( 0 4 ) ( 1 5 ) ( 2 6 ) ( 3 7 )\n\
         Level:\t\t\t2\nSize:\t\t\t1 MB\nCache groups:\t\t( 0 4 ) ( 1 5 ) ( 2 6 ) ( 3 7 )\n\
         Level:\t\t\t3\nSize:\t\t\t20 MB\nCache groups:\t\t( 0 4 1 5 ) ( 2 6 3 7 )\n\
         NUMA domains:\t\t2\nDomain:\t\t\t0\nProcessors:\t\t( 0 4 1 5 )\nDistances:\t\t10 21\nFree memory:\t\t100 MB\n\
         Total memory:\t\t64000 MB\nDomain:\t\t\t1\nProcessors:\t\t( 2 6 3 7 )\n\
         Distances:\t\t21 10\nFree memory:\t\t100 MB\n\
         Total memory:\t\t64000 MB\n",
        (0..8).map(row).collect::<String>()
    )
}

#[test]
fn likwid_describes_a_machine() {
    let m = of(&[("k", &likwid())]);
    agrees(&m);
    assert_eq!((m.sockets, m.cores, m.cpus.len(), m.llcs.len()), (2, 4, 8, 2));
    assert_eq!((m.llcs[1].size_bytes, m.cache.l2_bytes, m.distance[1][0]), (20 << 20, 1 << 20, 21));
    assert_eq!((cpus(&m, 1), m.nodes[1].memory_bytes >> 20), (vec![2, 3, 6, 7], 64_000));
    agrees(&of(&[("k", &likwid()), ("n", NUMACTL), ("l", LSCPU)]));
    let m = of(&[("k", &likwid().replace("Cores per socket:\t2", "Cores per socket:\t4"))]);
    warns(&m, "doubtful: 2 sockets x 4 cores x 2 threads are 16 CPUs, and 8 are listed");
    let m = of(&[("k", &likwid().replace("7   1   3   0   1   *", "7   1   3   0   1    "))]);
    assert_eq!(m.cpus.len(), 7);
    warns(&m, "CPU 7 is not available and left out");
}

#[test]
fn turbostat_describes_cpus_and_nodes() {
    let text = "turbostat version 2022.10.04\nPackage Node    Core    CPU     Busy%\n\
        -       -       -       -       1.00\n\
                0       0       0       0       1.00\n0       0       0       4       1.00\n\
                0       0       1       1\n0       0       1       5\n\
                1       1       0       2\n1       1       0       6\n1       1       1       3\n\
                1       1       1       7\n";
    let m = of(&[("t", text)]);
    assert_eq!((m.sockets, m.cores, cpus(&m, 1)), (2, 4, vec![2, 3, 6, 7]));
    agrees(&of(&[("n", NUMACTL), ("t", text)]));
    let moved = text.replace("1       1       0       2\n", "0       0       2       2\n");
    warns(&of(&[("n", NUMACTL), ("t", &moved)]), "doubtful: node 0 has CPUs");
    let bare = of(&[("t", "CPU Node\n0 0\n1 0\n2 1\n3 1\n")]);
    assert_eq!(bare.nodes.len(), 2);
    warns(&bare, "one thread per core (no column Core)");
}

/// Runs a program, and gives what it printed if it is here and succeeds.
fn printed(program: &str, args: &[&str]) -> Option<String> {
    let out = std::process::Command::new(program).args(args).env("LC_ALL", "C").output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned()).filter(|t| !t.is_empty())
}

#[test]
fn programs_of_this_host_agree_with_each_other() {
    let mut texts: Vec<(&str, String)> = Vec::new();
    for (name, program, args) in [
        ("lscpu", "lscpu", &[][..]),
        ("lscpu -J", "lscpu", &["-J"]),
        ("lscpu -p", "lscpu", &["-p"]),
        ("lscpu -e -J", "lscpu", &["-e", "-J"]),
        ("lscpu -J -p", "lscpu", &["-J", "-p"]),
        ("numactl", "numactl", &["-H"]),
        ("numastat", "numastat", &["-m"]),
        ("lstopo", "lstopo-no-graphics", &[]),
        ("likwid", "likwid-topology", &[]),
    ] {
        texts.extend(printed(program, args).map(|text| (name, text)));
    }
    texts.extend(
        std::fs::read_to_string("/proc/zoneinfo").ok().map(|t| ("zoneinfo", t)).filter(|t| t.1.contains("managed")),
    );
    if !texts.iter().any(|(name, _)| *name == "lscpu") {
        return;
    }
    let all: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (*n, &**t)).collect();
    let m = of(&all);
    assert_eq!(m.cpus.len(), machine(import::sysfs(std::path::Path::new("/"), "here")).cpus.len());
    agrees(&m);
}
