//! The NUMA topology of a guest: how QEMU must number and group CPUs so that the guest sees the machine.
//!
//! QEMU builds all sockets alike (`-smp sockets × dies × cores × threads`) and numbers CPUs with threads counting
//! fastest. A die stands for a last-level cache. The job keeps the machine's own numbering: it translates dense CPU
//! indices to guest CPU numbers.

use numalab_model::machine::{Machine, MemoryKind};

/// A machine that QEMU cannot build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {possible}")]
pub struct TopologyError {
    /// What is not possible.
    pub what: String,
    /// What would be possible.
    pub possible: String,
}

impl TopologyError {
    pub(crate) fn new(what: impl Into<String>, possible: impl Into<String>) -> Self {
        Self { what: what.into(), possible: possible.into() }
    }
}

/// Grouping of CPUs by QEMU's option `-smp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smp {
    /// Sockets.
    pub sockets: usize,
    /// Last-level caches per socket.
    pub dies: usize,
    /// Cores per last-level cache.
    pub cores: usize,
    /// Threads per core.
    pub threads: usize,
}

impl Smp {
    /// Number of CPUs.
    pub fn cpus(self) -> usize {
        self.sockets * self.dies * self.cores * self.threads
    }
}

/// A node of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestNode {
    /// Guest CPU numbers, ascending.
    pub cpus: Vec<u32>,
    /// Memory, bytes, a multiple of [`MEMORY_UNIT`]; 0 for a node without memory.
    pub memory_bytes: u64,
    /// Node whose CPUs are nearest: the node itself if it has CPUs.
    pub initiator: usize,
}

/// NUMA topology of a guest.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestTopology {
    /// CPU grouping.
    pub smp: Smp,
    /// Nodes in order.
    pub nodes: Vec<GuestNode>,
    /// Distances, `distance[i][j]`.
    pub distance: Vec<Vec<u8>>,
    /// Memory attributes for the guest's HMAT, if it gets one.
    pub hmat: Option<Hmat>,
    /// Guest CPU number of each dense CPU of the machine.
    pub cpu_ids: Vec<u32>,
}

/// Heterogeneous memory attributes (ACPI HMAT), from the CPUs of node `i` to the memory of node `j`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hmat {
    /// `latency_ns[i][j]`, whole ns.
    pub latency_ns: Vec<Vec<u64>>,
    /// `bandwidth_mbps[i][j]`, whole MB/s.
    pub bandwidth_mbps: Vec<Vec<u64>>,
}

/// Granularity of a guest node's memory: a memory section of x86-64.
pub const MEMORY_UNIT: u64 = 128 << 20;
/// Most CPUs of QEMU's PC machine without KVM.
pub const MAX_CPUS: usize = 255;
/// Most NUMA nodes of QEMU.
pub const MAX_NODES: usize = 128;

impl GuestTopology {
    /// The topology of `machine`, unchanged.
    ///
    /// # Errors
    /// [`TopologyError`] if QEMU cannot build it.
    pub fn of(machine: &Machine) -> Result<Self, TopologyError> {
        if machine.cpu_count() > MAX_CPUS {
            let what = format!("{} has {} CPUs", machine.name, machine.cpu_count());
            return Err(TopologyError::new(what, format!("a guest can have up to {MAX_CPUS}")));
        }
        if machine.node_count() > MAX_NODES {
            let what = format!("{} has {} nodes", machine.name, machine.node_count());
            return Err(TopologyError::new(what, format!("a guest can have up to {MAX_NODES}")));
        }
        let (smp, cpu_ids) = arrange(machine)?;
        let nodes = nodes(machine, &cpu_ids)?;
        Ok(Self { smp, nodes, distance: distances(machine)?, hmat: hmat(machine), cpu_ids })
    }

    /// Memory of all nodes, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.nodes.iter().map(|n| n.memory_bytes).sum()
    }

    /// Dense node of each guest CPU.
    pub fn node_of_cpu(&self) -> Vec<usize> {
        let mut out = vec![0; self.smp.cpus()];
        for (n, node) in self.nodes.iter().enumerate() {
            for &c in &node.cpus {
                out[c as usize] = n;
            }
        }
        out
    }
}

/// The common value of `values`, if all are equal.
fn uniform(values: &[usize]) -> Option<usize> {
    let first = *values.first()?;
    values.iter().all(|&v| v == first).then_some(first)
}

/// The different values in rising order, for messages.
fn list(values: &[usize]) -> String {
    let mut v = values.to_vec();
    v.sort_unstable();
    v.dedup();
    v.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// The CPU grouping, and the guest CPU number of each dense CPU.
fn arrange(machine: &Machine) -> Result<(Smp, Vec<u32>), TopologyError> {
    // Cores of each LLC and CPUs of each core, in order of their first CPU.
    let mut core_cpus: Vec<Vec<usize>> = vec![Vec::new(); machine.cores];
    for (c, cpu) in machine.cpus.iter().enumerate() {
        core_cpus[cpu.core].push(c);
    }
    let socket_of_llc = |l: usize| machine.llcs[l].cpus.first().map_or(0, |&c| machine.cpus[c].socket);
    let mut order: Vec<usize> = (0..machine.llcs.len()).filter(|&l| !machine.llcs[l].cpus.is_empty()).collect();
    order.sort_by_key(|&l| (socket_of_llc(l), machine.llcs[l].node, l));
    let mut sockets: Vec<usize> = order.iter().map(|&l| socket_of_llc(l)).collect();
    let dies: Vec<usize> = {
        let all = sockets.clone();
        sockets.dedup();
        sockets.iter().map(|s| all.iter().filter(|t| *t == s).count()).collect()
    };
    let cores_of = |l: usize| {
        let mut cores: Vec<usize> = machine.llcs[l].cpus.iter().map(|&c| machine.cpus[c].core).collect();
        cores.dedup();
        let mut seen = Vec::new();
        cores.retain(|c| {
            !seen.contains(c) && {
                seen.push(*c);
                true
            }
        });
        cores
    };
    let cores: Vec<usize> = order.iter().map(|&l| cores_of(l).len()).collect();
    let threads: Vec<usize> = core_cpus.iter().map(Vec::len).filter(|&n| n > 0).collect();
    let alike = "a machine with equal numbers of last-level caches per socket, cores per cache and threads per core, \
                 because QEMU builds all sockets alike";
    let differ = |what: &str, values: &[usize]| TopologyError::new(format!("{what} differ ({})", list(values)), alike);
    let smp = Smp {
        sockets: sockets.len(),
        dies: uniform(&dies).ok_or_else(|| differ("last-level caches per socket", &dies))?,
        cores: uniform(&cores).ok_or_else(|| differ("cores per last-level cache", &cores))?,
        threads: uniform(&threads).ok_or_else(|| differ("threads per core", &threads))?,
    };
    let mut cpu_ids = vec![0u32; machine.cpu_count()];
    let mut next = 0;
    for &l in &order {
        for core in cores_of(l) {
            for &cpu in &core_cpus[core] {
                cpu_ids[cpu] = next;
                next += 1;
            }
        }
    }
    if next as usize != machine.cpu_count() || smp.cpus() != machine.cpu_count() {
        return Err(TopologyError::new("a core has threads in several last-level caches", alike));
    }
    Ok((smp, cpu_ids))
}

fn nodes(machine: &Machine, cpu_ids: &[u32]) -> Result<Vec<GuestNode>, TopologyError> {
    let mut out = Vec::new();
    for (n, node) in machine.nodes.iter().enumerate() {
        let mut cpus: Vec<u32> = node.cpus.iter().map(|&c| cpu_ids[c]).collect();
        cpus.sort_unstable();
        let memory_bytes = node.memory_bytes / MEMORY_UNIT * MEMORY_UNIT;
        if memory_bytes == 0 && node.memory_bytes > 0 {
            let what = format!("node {n} has {} MiB", node.memory_bytes >> 20);
            return Err(TopologyError::new(what, format!("a guest node has 0 or at least {} MiB", MEMORY_UNIT >> 20)));
        }
        let initiator = if cpus.is_empty() {
            // The node with CPUs that is nearest by latency; the first of equally near ones.
            let near = |&i: &usize| machine.latency_ns.get(i).and_then(|r| r.get(n)).copied().unwrap_or(f64::MAX);
            machine.cpu_nodes().min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(0)
        } else {
            n
        };
        out.push(GuestNode { cpus, memory_bytes, initiator });
    }
    if out.first().is_none_or(|n| n.memory_bytes == 0) {
        return Err(TopologyError::new("node 0 has no memory", "the first node of a guest must have some"));
    }
    Ok(out)
}

fn distances(machine: &Machine) -> Result<Vec<Vec<u8>>, TopologyError> {
    for (i, row) in machine.distance.iter().enumerate() {
        for (j, &d) in row.iter().enumerate() {
            if (i == j) != (d == 10) || d < 10 {
                let what = format!("distance from node {i} to node {j} is {d}");
                return Err(TopologyError::new(what, "QEMU wants 10 on the diagonal and 11 to 254 elsewhere"));
            }
        }
    }
    Ok(machine.distance.clone())
}

/// Memory attributes, for machines with memory-only nodes or several memory tiers; other guests need none.
fn hmat(machine: &Machine) -> Option<Hmat> {
    let tiers = machine.nodes.iter().any(|n| n.tier > 0 || n.kind == MemoryKind::Cxl || n.cpus.is_empty());
    let from: Vec<usize> = machine.cpu_nodes().collect();
    if !tiers || from.is_empty() {
        return None;
    }
    let mut latency = vec![vec![0; machine.node_count()]; machine.node_count()];
    let mut bandwidth = latency.clone();
    for &i in &from {
        for (j, node) in machine.nodes.iter().enumerate() {
            latency[i][j] = (machine.latency_ns[i][j].round() as u64).max(1);
            bandwidth[i][j] = ((node.dram_sustained_gbps * 1000.0).round() as u64).max(1);
        }
    }
    Some(Hmat { latency_ns: latency, bandwidth_mbps: bandwidth })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use numalab_model::machine::{Cpu, Machine, MemoryKind};

    /// `sockets` sockets with one node each of `llcs` LLCs × `cores` × `threads`; SMT siblings are numbered
    /// half the machine apart when `far_siblings`.
    pub(crate) fn machine(sockets: usize, llcs: usize, cores: usize, threads: usize, far_siblings: bool) -> Machine {
        let total_cores = sockets * llcs * cores;
        let core_of = |c: usize| if far_siblings { c % total_cores } else { c / threads };
        let cpu = |c: usize| {
            let (core, llc) = (core_of(c), core_of(c) / cores);
            Cpu { id: c as u32, node: llc / llcs, llc, core, socket: llc / llcs }
        };
        let cpus: Vec<Cpu> = (0..total_cores * threads).map(cpu).collect();
        let mut bare = Machine::bare("test", cpus, sockets, 4 << 30);
        bare.nodes.iter_mut().for_each(|n| n.dram_sustained_gbps = 40.0);
        bare.llcs.iter_mut().for_each(|l| l.size_bytes = 16 << 20);
        bare.stream.cap_gbps = 10.0;
        Machine { distance: matrix(sockets, 10, 21), latency_ns: matrix(sockets, 80.0, 240.0), ..bare }
    }

    /// A square matrix with `same` on the diagonal and `other` elsewhere.
    fn matrix<T: Copy>(nodes: usize, same: T, other: T) -> Vec<Vec<T>> {
        (0..nodes).map(|i| (0..nodes).map(|j| if i == j { same } else { other }).collect()).collect()
    }

    #[test]
    fn adjacent_siblings_keep_their_numbers() {
        let topology = GuestTopology::of(&machine(2, 2, 2, 2, false)).unwrap();
        assert_eq!(topology.smp, Smp { sockets: 2, dies: 2, cores: 2, threads: 2 });
        assert_eq!(topology.cpu_ids, (0..16).collect::<Vec<_>>());
        assert_eq!(topology.nodes[1].cpus, (8..16).collect::<Vec<_>>());
        assert_eq!(topology.node_of_cpu()[7..9], [0, 1]);
        assert!(topology.hmat.is_none());
    }

    #[test]
    fn distant_siblings_get_adjacent_numbers() {
        let topology = GuestTopology::of(&machine(2, 1, 2, 2, true)).unwrap();
        // Dense CPUs 0 and 4 are siblings: guest CPUs 0 and 1.
        assert_eq!(topology.cpu_ids, vec![0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(topology.nodes[0].cpus, vec![0, 1, 2, 3]);
    }

    #[test]
    fn uneven_machines_are_refused_with_what_is_possible() {
        let mut m = machine(2, 1, 2, 1, false);
        m.cpus[3].llc = 0;
        m.llcs[0].cpus = vec![0, 1, 3];
        m.llcs[1].cpus = vec![2];
        let e = GuestTopology::of(&m).unwrap_err();
        assert!(e.what.contains("cores per last-level cache differ (1, 3)"), "{e}");
        assert!(e.possible.contains("alike"));
        let mut m = machine(2, 1, 1, 1, false);
        m.distance[0][1] = 10;
        assert!(GuestTopology::of(&m).unwrap_err().what.contains("node 0 to node 1"));
        let mut m = machine(2, 1, 1, 1, false);
        m.nodes[1].memory_bytes = 1 << 20;
        assert!(GuestTopology::of(&m).unwrap_err().possible.contains("128 MiB"));
    }

    #[test]
    fn a_memory_only_node_has_an_initiator_and_attributes() {
        let mut m = machine(2, 1, 1, 1, false);
        let mut expander = m.nodes[1].clone();
        (expander.id, expander.cpus, expander.kind, expander.tier) = (2, vec![], MemoryKind::Cxl, 1);
        expander.dram_sustained_gbps = 24.0;
        m.nodes.push(expander);
        m.latency_ns = vec![vec![80., 200., 400.], vec![200., 80., 300.], vec![0., 0., 0.]];
        m.distance = vec![vec![10, 21, 24], vec![21, 10, 14], vec![24, 14, 10]];
        let topology = GuestTopology::of(&m).unwrap();
        assert_eq!(topology.nodes[2].initiator, 1);
        let hmat = topology.hmat.unwrap();
        assert_eq!((hmat.latency_ns[0][2], hmat.bandwidth_mbps[1][2]), (400, 24_000));
    }
}
