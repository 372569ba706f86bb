//! A machine of nothing but CPUs, caches and nodes.

use super::background::Background;
use super::costs::KernelCosts;
use super::tlb::Tlb;
use super::types::{Cache, Clock, Cpu, Llc, Machine, MemoryKind, Node, Stream, RANDOM_SHARE};

/// Distance of a node to itself (`LOCAL_DISTANCE`) and, where nothing is known, to another one (`REMOTE_DISTANCE`).
const DISTANCES: (u8, u8) = (10, 20);

/// `node_reclaim_distance` where a machine does not state it (kernel-scheduler.md: 30 generic).
pub const NODE_RECLAIM_DISTANCE: u8 = 30;

impl Machine {
    /// The machine of these CPUs, without any figure of its hardware: a base for code that needs a topology only.
    ///
    /// It has `nodes` nodes of `memory_bytes` each, at least as many as `cpus` name; a node that no CPU names has
    /// memory only and is on socket 0. The indices in `cpus` are dense, and the CPUs of an LLC are on one node. Nodes
    /// are 10 from themselves, 20 and one hop from each other. Clock, latencies, bandwidths and costs are 0, so the
    /// machine cannot be simulated as it is.
    pub fn bare(name: &str, cpus: Vec<Cpu>, nodes: usize, memory_bytes: u64) -> Self {
        let count = |index: fn(&Cpu) -> usize| cpus.iter().map(index).max().map_or(0, |last| last + 1);
        let on = |has: &dyn Fn(&Cpu) -> bool| (0..cpus.len()).filter(|&c| has(&cpus[c])).collect::<Vec<_>>();
        let first = |cpus_of: &[usize]| cpus_of.first().map(|&c| &cpus[c]);
        let node = |n: usize| {
            let own = on(&|c| c.node == n);
            Node {
                id: n as u32,
                socket: first(&own).map_or(0, |c| c.socket),
                memory_bytes,
                cpus: own,
                kind: MemoryKind::Dram,
                dram_peak_gbps: 0.0,
                dram_sustained_gbps: 0.0,
                tier: 0,
                random_share: RANDOM_SHARE,
            }
        };
        let llc = |l: usize| {
            let own = on(&|c| c.llc == l);
            Llc { node: first(&own).map_or(0, |c| c.node), size_bytes: 0, cpus: own }
        };
        Self {
            name: name.to_string(),
            title: format!("{name}, without hardware figures"),
            sockets: count(|c| c.socket),
            nodes: (0..nodes).map(node).collect(),
            llcs: (0..count(|c| c.llc)).map(llc).collect(),
            cores: count(|c| c.core),
            distance: matrix(nodes, DISTANCES.0, DISTANCES.1),
            hop: matrix(nodes, 0, 1),
            latency_ns: matrix(nodes, 0.0, 0.0),
            links: Vec::new(),
            routes: vec![vec![Vec::new(); nodes]; nodes],
            clock: Clock { base_ghz: 0.0, sustained_ghz: 0.0, single_ghz: 0.0 },
            cache: Cache {
                l2_bytes: 0,
                l2_cycles: 0.0,
                llc_latency_ns: 0.0,
                llc_stream_gbps: 0.0,
                llc_port_gbps: None,
                source_snoop: false,
                memory_directory: false,
                transfer_ns: None,
                core_to_core_ns: [None; 3],
                fill: None,
                writes_back: true,
            },
            stream: Stream { lines_sequential: 0.0, lines_random: 0.0, cap_gbps: 0.0 },
            tlb: Tlb {
                entries_4k: 0,
                entries_2m: 0,
                base_ns: 0.0,
                walk_4k_ns: 0.0,
                walk_4k_guest_ns: 0.0,
                leaf_miss: 0.0,
                leaf_miss_guest: 0.0,
                nested: false,
                walker: None,
            },
            costs: KernelCosts::default(),
            background: Background::NONE,
            node_reclaim_distance: NODE_RECLAIM_DISTANCE,
            warnings: Vec::new(),
            cpus,
        }
    }
}

/// A square table with `near` on the diagonal and `far` elsewhere.
fn matrix<T: Copy>(nodes: usize, near: T, far: T) -> Vec<Vec<T>> {
    (0..nodes).map(|i| (0..nodes).map(|j| if i == j { near } else { far }).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_make_nodes_caches_cores_and_sockets() {
        let cpu = |c: usize| Cpu { id: c as u32, node: c / 4, llc: c / 2, core: c / 2, socket: c / 4 };
        let m = Machine::bare("m", (0..8).map(cpu).collect(), 3, 1 << 30);
        assert_eq!((m.sockets, m.nodes.len(), m.llcs.len(), m.cores, m.cpus.len()), (2, 3, 4, 4, 8));
        assert_eq!((&m.nodes[1].cpus[..], m.nodes[1].socket), (&[4, 5, 6, 7][..], 1));
        assert_eq!((m.nodes[2].id, m.nodes[2].cpus.len(), m.nodes[2].memory_bytes), (2, 0, 1 << 30));
        assert_eq!((&m.llcs[3].cpus[..], m.llcs[3].node), (&[6, 7][..], 1));
        assert_eq!(m.distance, [[10, 20, 20], [20, 10, 20], [20, 20, 10]]);
        assert_eq!((m.hop[0][0], m.hop[0][1], m.routes[2].len()), (0, 1, 3));
    }
}
