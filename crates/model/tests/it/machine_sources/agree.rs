//! The forms agree with each other and lose nothing: for one machine in all forms, and for random machines.

use super::world::{example, World, WorldNode};
use super::{cpus, machine};
use numalab_model::machine::{import, Machine, MemoryKind};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What a form says beyond the CPUs of the nodes.
#[derive(Clone, Copy, Default)]
struct Says {
    /// Sizes of memory are exact to this power of two, bytes; 0 if there are none.
    memory: u64,
    distance: bool,
    cores: bool,
    llcs: bool,
    packages: bool,
    kinds: bool,
    memory_only: bool,
}

fn sets(m: &Machine, key: impl Fn(usize) -> usize) -> BTreeSet<Vec<u32>> {
    let last = (0..m.cpus.len()).map(&key).max().unwrap_or(0);
    (0..=last).map(|k| (0..m.cpus.len()).filter(|&c| key(c) == k).map(|c| m.cpus[c].id).collect()).collect()
}

fn sorted(mut cpus: Vec<u32>) -> Vec<u32> {
    cpus.sort_unstable();
    cpus
}

fn check(m: &Machine, w: &World, says: Says, form: &str) {
    let nodes: Vec<&WorldNode> = w.nodes.iter().filter(|n| says.memory_only || !n.llcs.is_empty()).collect();
    assert_eq!(
        m.nodes.iter().map(|n| n.id).collect::<Vec<_>>(),
        nodes.iter().map(|n| n.id).collect::<Vec<_>>(),
        "{form}"
    );
    for (i, n) in nodes.iter().enumerate() {
        assert_eq!(cpus(m, i), n.cpus(), "{form}: CPUs of node {}", n.id);
        if says.memory != 0 {
            assert_eq!(m.nodes[i].memory_bytes, (n.kib << 10) & !(says.memory - 1), "{form}: memory of node {}", n.id);
        }
        if says.kinds && n.llcs.is_empty() && n.kib > 0 {
            let want = if n.subtype == "HBM" { MemoryKind::Hbm } else { MemoryKind::Cxl };
            assert_eq!(m.nodes[i].kind, want, "{form}: kind of node {}", n.id);
        }
    }
    if says.distance {
        for (i, j) in (0..nodes.len()).flat_map(|i| (0..nodes.len()).map(move |j| (i, j))) {
            let (there, back) = (w.distance[i][j], w.distance[j][i]);
            let want = if there == 255 { back } else { there };
            assert!(
                want == 255 || m.distance[i][j] == want,
                "{form}: {i} to {j} is {} and not {want}",
                m.distance[i][j]
            );
        }
    }
    let all = |of: fn(&WorldNode) -> Vec<Vec<u32>>| -> BTreeSet<Vec<u32>> {
        w.nodes.iter().flat_map(|n| of(n).into_iter().map(sorted)).collect()
    };
    if says.cores {
        assert_eq!(sets(m, |c| m.cpus[c].core), all(|n| n.llcs.concat()), "{form}: cores");
    }
    if says.llcs {
        assert_eq!(sets(m, |c| m.cpus[c].llc), all(|n| n.llcs.iter().map(|l| l.concat()).collect()), "{form}: LLCs");
        assert!(m.llcs.iter().all(|l| l.size_bytes == w.llc_kib << 10), "{form}: {:?}", m.llcs);
        assert_eq!(m.cache.l2_bytes, w.l2_kib << 10, "{form}");
    }
    if says.packages {
        let same = |i: usize, j: usize| (m.nodes[i].socket == m.nodes[j].socket, nodes[i].package == nodes[j].package);
        for (i, j) in (0..nodes.len()).flat_map(|i| (0..nodes.len()).map(move |j| (i, j))) {
            if !nodes[i].llcs.is_empty() && !nodes[j].llcs.is_empty() {
                assert_eq!(same(i, j).0, same(i, j).1, "{form}: sockets of nodes {i} and {j}");
            }
        }
    }
}

/// Imports a world from every form and checks what each form says.
fn check_all(w: &World) {
    let all = Says {
        memory: 1 << 10,
        distance: true,
        cores: true,
        llcs: true,
        packages: true,
        kinds: false,
        memory_only: true,
    };
    for masks in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        w.write_sysfs(dir.path(), masks);
        check(&machine(import::path(dir.path(), "m")), w, all, if masks { "sysfs, masks" } else { "sysfs" });
    }
    let text = |text: &str| machine(import::bytes("m.txt", text.as_bytes(), "m"));
    check(&text(&w.hwloc_xml()), w, Says { kinds: true, ..all }, "hwloc");
    check(&text(&w.lstopo()), w, Says { kinds: true, distance: false, ..all }, "lstopo");
    check(
        &text(&w.numactl()),
        w,
        Says { memory: 1 << 20, distance: true, memory_only: true, ..Says::default() },
        "numactl",
    );
    check(&text(&w.lscpu_table()), w, Says { cores: true, packages: true, ..Says::default() }, "lscpu -p");
}

#[test]
fn all_forms_of_one_machine_agree() {
    let w = example();
    check_all(&w);
    let all = Says { cores: true, llcs: true, packages: true, memory_only: true, ..Says::default() };
    for (form, text) in
        [("lscpu", w.lscpu()), ("lscpu on a terminal", w.lscpu_terminal()), ("lscpu -J", w.lscpu_json())]
    {
        check(&machine(import::text("m.txt", &text, "m")), &w, all, form);
    }
    let synthetic =
        "Package:2 Group:2 [NUMANode(memory=8589934592)] L3Cache:2(size=16777216) L2Cache:2(size=524288) Core:1 \
                     PU:2(indexes=2*16:1*2)";
    let m = machine(import::text("m.txt", synthetic, "m"));
    let mut plain = w.clone();
    plain.nodes.pop();
    check(&m, &plain, all, "synthetic");
    assert!(m.nodes.iter().all(|n| n.memory_bytes == 8 << 30));
}

/// How CPUs are numbered.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    Far,
    Near,
    Sparse,
}

fn worlds() -> impl Strategy<Value = World> {
    let numbers = prop_oneof![Just(Numbers::Far), Just(Numbers::Near), Just(Numbers::Sparse)];
    let shape = (1..4_usize, 1..3_usize, 1..3_usize, 1..4_usize, 1..3_usize, 0..3_usize);
    // Sizes from one page to a tebibyte.
    let sizes = proptest::collection::vec((2..31_u32, 0..1024_u64), 12);
    let distances = proptest::collection::vec(prop_oneof![8 => 11..255_u8, 1 => Just(255_u8)], 144);
    (shape, numbers, sizes, distances, 1..6_u32, any::<bool>()).prop_map(|(shape, numbers, sizes, far, step, hbm)| {
        let (packages, per_package, llcs, cores, threads, memory_only) = shape;
        let with = packages * per_package;
        let total = with * llcs * cores;
        let cpu = |core: usize, thread: usize| match numbers {
            Numbers::Far => (core + thread * total) as u32,
            Numbers::Near => (core * threads + thread) as u32,
            Numbers::Sparse => (core * 7 + thread * 3) as u32,
        };
        let size = |i: usize| (1_u64 << sizes[i].0) + sizes[i].1 * u64::from(sizes[i].0 > 12);
        let node = |i: usize| {
            let core = |l: usize, c: usize| {
                let core = (i * llcs + l) * cores + c;
                (0..threads).map(|t| cpu(core, t)).collect()
            };
            let llcs = (0..llcs).map(|l| (0..cores).map(|c| core(l, c)).collect()).collect();
            // One node in three has no memory, but the first has.
            let kib = match i {
                0 => size(i).max(1024),
                _ if i % 3 == 2 => 0,
                _ => size(i),
            };
            WorldNode { id: i as u32 * step, package: (i / per_package) as u32 * 2, llcs, kib, subtype: "" }
        };
        let mut nodes: Vec<WorldNode> = (0..with).map(node).collect();
        for k in 0..memory_only {
            let id = (with + k) as u32 * step;
            let subtype = if hbm { "HBM" } else { "CXL-DRAM" };
            nodes.push(WorldNode { id, package: 0, llcs: vec![], kib: size(6 + k), subtype });
        }
        let n = nodes.len();
        let distance = (0..n).map(|i| (0..n).map(|j| if i == j { 10 } else { far[i * 12 + j] }).collect()).collect();
        World { nodes, distance, l2_kib: 256, llc_kib: 8192 }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_machines_lose_nothing(w in worlds()) {
        check_all(&w);
    }
}
