//! Machines of the reference, written by hand from machines.md section 2. The tests of this crate do not use the
//! catalog files, so that each checks the other.

use numalab_model::machine::{Cache, Clock, Cpu, KernelCosts, Link, Machine, MemoryKind, Node, Route, Stream, Tlb};

/// Data for `build`; all other data is derived or common.
pub struct Sheet {
    pub name: &'static str,
    pub sockets: usize,
    pub nodes_per_socket: usize,
    pub cores_per_node: usize,
    pub smt: usize,
    pub llcs_per_node: usize,
    pub llc_mib: u64,
    pub llc_ns: f64,
    pub llc_stream: f64,
    pub l2_kib: u64,
    pub l2_cycles: f64,
    pub ghz: f64,
    /// Latency and SLIT by hop class.
    pub latency: &'static [f64],
    pub slit: &'static [u8],
    pub dram: (f64, f64),
    pub gib_per_node: u64,
    pub stream: (f64, f64, f64),
    pub tlb: (u32, u32),
}

const GIB: u64 = 1 << 30;

fn build(s: &Sheet, hop: impl Fn(usize, usize) -> u8) -> Machine {
    let n = s.sockets * s.nodes_per_socket;
    let cores = n * s.cores_per_node;
    let cores_per_llc = s.cores_per_node / s.llcs_per_node;
    let cpus: Vec<Cpu> = (0..cores * s.smt)
        .map(|c| {
            let core = c % cores;
            let node = core / s.cores_per_node;
            Cpu { id: c as u32, node, llc: core / cores_per_llc, core, socket: node / s.nodes_per_socket }
        })
        .collect();
    let mut bare = Machine::bare(s.name, cpus, n, s.gib_per_node * GIB);
    for node in &mut bare.nodes {
        (node.dram_peak_gbps, node.dram_sustained_gbps) = s.dram;
    }
    bare.llcs.iter_mut().for_each(|llc| llc.size_bytes = s.llc_mib << 20);
    let table = |f: &dyn Fn(usize, usize) -> u8| (0..n).map(|i| (0..n).map(|j| f(i, j)).collect()).collect();
    Machine {
        distance: table(&|i, j| s.slit[hop(i, j) as usize]),
        hop: table(&|i, j| hop(i, j)),
        latency_ns: (0..n).map(|i| (0..n).map(|j| s.latency[hop(i, j) as usize]).collect()).collect(),
        clock: Clock { base_ghz: s.ghz, sustained_ghz: s.ghz, single_ghz: s.ghz },
        cache: Cache {
            l2_bytes: s.l2_kib << 10,
            l2_cycles: s.l2_cycles,
            llc_latency_ns: s.llc_ns,
            llc_stream_gbps: s.llc_stream,
            ..bare.cache
        },
        stream: Stream { lines_sequential: s.stream.0, lines_random: s.stream.1, cap_gbps: s.stream.2 },
        tlb: Tlb {
            entries_4k: s.tlb.0,
            entries_2m: s.tlb.1,
            base_ns: 9.0,
            walk_4k_ns: 3.8,
            walk_4k_guest_ns: 9.2,
            leaf_miss: 0.42,
            leaf_miss_guest: 1.02,
            nested: false,
        },
        costs: modern_costs(),
        ..bare
    }
}

fn link(gbps: (f64, f64), hop_ns: f64) -> Link {
    Link { name: String::new(), peak_gbps: gbps.0, sustained_gbps: gbps.1, hop_latency_ns: hop_ns }
}

fn route(share: f64, hops: &[(usize, bool)]) -> Route {
    Route { share, hops: hops.to_vec() }
}

/// Adds one link per pair of nodes; i to j with i < j is forwards.
fn pairwise_links(m: &mut Machine, gbps: (f64, f64), hop_ns: f64) {
    for (i, j) in pairs(m.nodes.len()) {
        m.routes[i][j] = vec![route(1.0, &[(m.links.len(), true)])];
        m.routes[j][i] = vec![route(1.0, &[(m.links.len(), false)])];
        m.links.push(link(gbps, hop_ns));
    }
}

/// Unordered pairs `i < j` of `n` indices.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
}

/// Costs of the modern class, machines.md sections 4 and 5, at 3.0 GHz and ipc 1.0.
pub fn modern_costs() -> KernelCosts {
    KernelCosts {
        pte_skip_ns: 8.0,
        pte_mark_ns: 35.0,
        pmd_mark_ns: 250.0,
        scan_ns: 2000.0,
        scan_vma_ns: 150.0,
        exception_ns: 400.0,
        hint_fault_ns: 1500.0,
        hint_page_ns: 25.0,
        minor_fault_ns: 800.0,
        huge_fault_ns: 1200.0,
        zero_local_gbps: 10.0,
        zero_remote_gbps: 6.0,
        cow_fault_ns: 1500.0,
        copy_4k_local_ns: 350.0,
        copy_4k_remote_ns: 700.0,
        migrate_4k_ns: 4500.0,
        migrate_4k_batched_ns: 2500.0,
        migrate_2m_ns: 12_000.0,
        split_ns: 40_000.0,
        collapse_ns: 430_000.0,
        khugepaged_slot_ns: 10_000.0,
        compact_scan_ns: 20.0,
        compact_migrate_ns: 3500.0,
        reclaim_page_ns: 600.0,
        swap_out_ns: 3000.0,
        swap_in_ns: 4000.0,
        switch_same_ns: 1200.0,
        switch_other_ns: 1800.0,
        wake_ns: 3000.0,
        tick_ns: 1500.0,
        balance_cpu_ns: 100.0,
        fork_pte_ns: 25.0,
        fork_pmd_ns: 300.0,
        flush_base_ns: 1000.0,
        flush_socket_ns: 200.0,
        flush_hop1_ns: 200.0,
        flush_hop2_ns: 300.0,
        flush_target_ns: 1300.0,
        flush_refill_ns: 3000.0,
    }
}

/// Costs of the 2012-15 class that the vectors use; other costs are those of the modern class.
pub fn old_costs() -> KernelCosts {
    KernelCosts {
        pte_skip_ns: 15.0,
        pte_mark_ns: 60.0,
        pmd_mark_ns: 400.0,
        scan_ns: 4000.0,
        scan_vma_ns: 300.0,
        exception_ns: 500.0,
        hint_fault_ns: 3000.0,
        hint_page_ns: 50.0,
        minor_fault_ns: 1500.0,
        zero_local_gbps: 5.0,
        zero_remote_gbps: 3.0,
        copy_4k_local_ns: 900.0,
        copy_4k_remote_ns: 1400.0,
        migrate_4k_ns: 9000.0,
        migrate_2m_ns: 40_000.0,
        split_ns: 80_000.0,
        wake_ns: 5000.0,
        tick_ns: 3000.0,
        flush_base_ns: 1200.0,
        flush_socket_ns: 250.0,
        flush_hop1_ns: 400.0,
        flush_hop2_ns: 800.0,
        flush_target_ns: 2500.0,
        ..modern_costs()
    }
}

/// M1 `milan-2s-nps1`.
pub fn milan() -> Machine {
    let sheet = Sheet {
        name: "milan-2s-nps1",
        sockets: 2,
        nodes_per_socket: 1,
        cores_per_node: 64,
        smt: 2,
        llcs_per_node: 8,
        llc_mib: 32,
        llc_ns: 13.5,
        llc_stream: 38.0,
        l2_kib: 512,
        l2_cycles: 12.0,
        ghz: 2.9,
        latency: &[110.0, 200.0],
        slit: &[10, 32],
        dram: (204.8, 171.5),
        gib_per_node: 256,
        stream: (64.0, 16.0, 31.0),
        tlb: (2048, 2048),
    };
    let mut m = build(&sheet, |i, j| u8::from(i != j));
    pairwise_links(&mut m, (96.0, 85.0), 90.0);
    m.node_reclaim_distance = 32;
    m
}

/// M2 `e7-4807-4s`.
pub fn westmere() -> Machine {
    let sheet = Sheet {
        name: "e7-4807-4s",
        sockets: 4,
        nodes_per_socket: 1,
        cores_per_node: 6,
        smt: 2,
        llcs_per_node: 1,
        llc_mib: 18,
        llc_ns: 25.0,
        llc_stream: 10.0,
        l2_kib: 256,
        l2_cycles: 10.0,
        ghz: 1.87,
        latency: &[136.0, 197.0],
        slit: &[10, 21],
        dram: (12.8, 10.5),
        gib_per_node: 16,
        stream: (14.0, 8.0, 5.5),
        tlb: (512, 32),
    };
    let mut m = build(&sheet, |i, j| u8::from(i != j));
    pairwise_links(&mut m, (9.6, 7.0), 61.0);
    m.costs = old_costs();
    m
}

/// M3 `x5-8`: links between neighbours and opposites of a ring; other pairs have two hops over their common
/// neighbours.
pub fn x5_8() -> Machine {
    let sheet = Sheet {
        name: "x5-8",
        sockets: 8,
        nodes_per_socket: 1,
        cores_per_node: 18,
        smt: 2,
        llcs_per_node: 1,
        llc_mib: 45,
        llc_ns: 22.0,
        llc_stream: 18.0,
        l2_kib: 256,
        l2_cycles: 12.0,
        ghz: 2.6,
        latency: &[120.0, 220.0, 310.0],
        slit: &[10, 21, 31],
        dram: (102.4, 60.0),
        gib_per_node: 256,
        stream: (20.0, 10.0, 10.0),
        tlb: (1024, 1024),
    };
    let linked = |i: usize, j: usize| matches!((i + 8 - j) % 8, 1 | 4 | 7);
    let mut m = build(&sheet, |i, j| if i == j { 0 } else { 2 - u8::from(linked(i, j)) });
    let mut number = [[None; 8]; 8];
    for (i, j) in pairs(8).filter(|&(i, j)| linked(i, j)) {
        number[i][j] = Some((m.links.len(), true));
        number[j][i] = Some((m.links.len(), false));
        m.links.push(link((19.2, 15.0), 100.0));
    }
    assert_eq!(m.links.len(), 12);
    for (i, from) in number.iter().enumerate() {
        for j in (0..8).filter(|&j| j != i) {
            let paths: Vec<Vec<_>> = match from[j] {
                Some(hop) => vec![vec![hop]],
                None => (0..8).filter_map(|k| Some(vec![from[k]?, number[k][j]?])).collect(),
            };
            assert!(!paths.is_empty());
            m.routes[i][j] = paths.iter().map(|p| route(1.0 / paths.len() as f64, p)).collect();
        }
    }
    m.costs = old_costs();
    m
}

/// M4 `naples-2s`: links between all dies of a socket, and between dies of the same number; other pairs have two hops.
pub fn naples() -> Machine {
    let sheet = Sheet {
        name: "naples-2s",
        sockets: 2,
        nodes_per_socket: 4,
        cores_per_node: 8,
        smt: 2,
        llcs_per_node: 2,
        llc_mib: 8,
        llc_ns: 14.0,
        llc_stream: 25.0,
        l2_kib: 512,
        l2_cycles: 12.0,
        ghz: 2.7,
        latency: &[96.0, 143.0, 233.0],
        slit: &[10, 16, 32],
        dram: (42.7, 35.0),
        gib_per_node: 16,
        stream: (64.0, 12.0, 27.5),
        tlb: (1536, 1536),
    };
    let mut m = build(&sheet, |i, j| if i == j { 0 } else { 1 + u8::from(i / 4 != j / 4) });
    let mut die = [[(0, true); 8]; 8];
    for socket in 0..2 {
        for a in 0..4 {
            for b in a + 1..4 {
                let (i, j) = (socket * 4 + a, socket * 4 + b);
                die[i][j] = (m.links.len(), true);
                die[j][i] = (m.links.len(), false);
                m.links.push(link((21.3, 18.0), 47.0));
            }
        }
    }
    let twin = m.links.len();
    for _ in 0..4 {
        m.links.push(link((19.0, 16.0), 90.0));
    }
    for i in 0..8 {
        for j in (0..8).filter(|&j| j != i) {
            let hops = match (i / 4 == j / 4, i % 4 == j % 4) {
                (true, _) => vec![die[i][j]],
                (false, true) => vec![(twin + i % 4, i < 4)],
                (false, false) => vec![(twin + i % 4, i < 4), die[(i + 4) % 8][j]],
            };
            m.routes[i][j] = vec![route(1.0, &hops)];
        }
    }
    m.costs.minor_fault_ns *= 1.3;
    m.node_reclaim_distance = 32;
    m
}

/// M5 `tr-1950x` with DDR4-3200.
pub fn threadripper() -> Machine {
    let sheet = Sheet {
        name: "tr-1950x",
        sockets: 1,
        nodes_per_socket: 2,
        cores_per_node: 8,
        smt: 2,
        llcs_per_node: 2,
        llc_mib: 8,
        llc_ns: 11.0,
        llc_stream: 30.0,
        l2_kib: 512,
        l2_cycles: 12.0,
        ghz: 3.7,
        latency: &[65.0, 108.0],
        slit: &[10, 16],
        dram: (51.2, 42.0),
        gib_per_node: 16,
        stream: (64.0, 12.0, 27.5),
        tlb: (1536, 1536),
    };
    let mut m = build(&sheet, |i, j| u8::from(i != j));
    pairwise_links(&mut m, (51.0, 42.0), 43.0);
    m
}

/// M8 `cxl-2s`: two DRAM nodes with CPUs, two expanders without.
pub fn cxl() -> Machine {
    let sheet = Sheet {
        name: "cxl-2s",
        sockets: 2,
        nodes_per_socket: 1,
        cores_per_node: 32,
        smt: 2,
        llcs_per_node: 1,
        llc_mib: 60,
        llc_ns: 30.0,
        llc_stream: 20.0,
        l2_kib: 2048,
        l2_cycles: 15.0,
        ghz: 2.6,
        latency: &[114.0, 191.0],
        slit: &[10, 21],
        dram: (281.6, 218.0),
        gib_per_node: 128,
        stream: (48.0, 16.0, 14.0),
        tlb: (2048, 2048),
    };
    let mut m = build(&sheet, |i, j| u8::from(i != j));
    for socket in 0..2 {
        let id = 2 + socket as u32;
        m.nodes.push(Node {
            id,
            socket,
            memory_bytes: 128 * GIB,
            cpus: Vec::new(),
            kind: MemoryKind::Cxl,
            dram_peak_gbps: 32.0,
            dram_sustained_gbps: 24.0,
            tier: 1,
        });
    }
    m.distance = vec![vec![10, 21, 14, 24], vec![21, 10, 24, 14], vec![14, 24, 10, 26], vec![24, 14, 26, 10]];
    m.hop = (0..4).map(|i| (0..4).map(|j| u8::from(i != j) + u8::from((i + j) % 2 == 1)).collect()).collect();
    m.latency_ns = vec![
        vec![114.0, 191.0, 214.0, 394.0],
        vec![191.0, 114.0, 394.0, 214.0],
        vec![214.0, 394.0, 214.0, 394.0],
        vec![394.0, 214.0, 394.0, 214.0],
    ];
    // Link 0 is between the sockets; 1 and 2 limit what an expander delivers to the other socket.
    m.links = vec![link((128.0, 97.0), 77.0), link((16.0, 12.0), 103.0), link((16.0, 12.0), 103.0)];
    m.routes = vec![vec![Vec::new(); 4]; 4];
    for (i, forward) in [(0, true), (1, false)] {
        let other = 1 - i;
        m.routes[i][other] = vec![route(1.0, &[(0, forward)])];
        m.routes[i][2 + other] = vec![route(1.0, &[(0, forward), (1 + other, true)])];
    }
    m
}

/// M7b `spr-8s-snc4`: one port per node, links between sockets with an odd difference, else two hops over the four
/// common neighbours. It is the largest machine of the catalog.
pub fn spr_8s() -> Machine {
    let sheet = Sheet {
        name: "spr-8s-snc4",
        sockets: 8,
        nodes_per_socket: 4,
        cores_per_node: 15,
        smt: 2,
        llcs_per_node: 1,
        llc_mib: 28,
        llc_ns: 30.0,
        llc_stream: 20.0,
        l2_kib: 2048,
        l2_cycles: 15.0,
        ghz: 2.9,
        latency: &[108.0, 118.0, 195.0, 290.0],
        slit: &[10, 12, 21, 31],
        dram: (76.8, 62.0),
        gib_per_node: 128,
        stream: (48.0, 16.0, 14.0),
        tlb: (2048, 2048),
    };
    let class = |i: usize, j: usize| match (i / 4).abs_diff(j / 4) {
        0 => u8::from(i != j),
        d => 3 - (d % 2) as u8,
    };
    let mut m = build(&sheet, class);
    m.links = vec![link((77.0, 62.0), 10.0); 32];
    let mut number = [[None; 8]; 8];
    for (a, b) in pairs(8).filter(|(a, b)| (b - a) % 2 == 1) {
        number[a][b] = Some((m.links.len(), true));
        number[b][a] = Some((m.links.len(), false));
        m.links.push(link((48.0, 36.0), 87.0));
    }
    assert_eq!(m.links.len(), 32 + 16);
    for i in 0..32 {
        for j in (0..32).filter(|&j| j != i) {
            let (a, b) = (i / 4, j / 4);
            let middle: Vec<Vec<_>> = if a == b {
                vec![vec![]]
            } else if let Some(hop) = number[a][b] {
                vec![vec![hop]]
            } else {
                (0..8).filter_map(|k| Some(vec![number[a][k]?, number[k][b]?])).collect()
            };
            let share = 1.0 / middle.len() as f64;
            // A request leaves by the port of its node and enters by the port of the memory's node.
            let whole = |hops: &Vec<_>| [vec![(i, true)], hops.clone(), vec![(j, false)]].concat();
            m.routes[i][j] = middle.iter().map(|hops| route(share, &whole(hops))).collect();
        }
    }
    m
}
