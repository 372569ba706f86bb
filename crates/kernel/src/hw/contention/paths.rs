//! The resources of a machine, and which of them a request uses. Computed once per machine.
//!
//! Numbering: the DRAM of node n is resource n. Link l is `nodes + 2 l` forwards and `nodes + 2 l + 1` backwards. The
//! port of LLC c follows all links. A path lists each resource once, with the share of the traffic that uses it,
//! because parallel routes carry a part each.

use super::parameters::{CXL_KNEE, CXL_Q, DRAM_Q, LINE_BYTES, LINK_Q, MESSAGE_BYTES};
use numalab_nouns::machine::{Machine, MemoryKind};

/// A resource with a bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    /// Sustained bandwidth, GB/s; infinite where the machine models no limit.
    pub gbps: f64,
    /// Queueing term per unit of `u/(1-u)`, ns: q * L0_r.
    pub queue_ns: f64,
    /// Part of the bandwidth at which the queueing curve ends.
    pub knee: f64,
    /// Whether it is DRAM, where writes and random lines weigh more.
    pub dram: bool,
    /// Part of the bandwidth that random lines reach; 1 outside memory.
    pub random_share: f64,
}

/// Which lines of a flow use a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passes {
    /// Lines read and lines written back.
    All,
    /// Lines read; they travel from the memory to the CPU.
    Reads,
    /// Lines written back; they travel from the CPU to the memory.
    Writes,
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub resource: u32,
    /// Share of the lines that cross it.
    pub share: f64,
    pub passes: Passes,
    /// Writes that the memory makes besides, for each line written back; nobody waits for them.
    pub posted: f64,
}

impl Step {
    /// The step for a flow with this write share.
    pub fn of(self, write: f64) -> Self {
        let part = match self.passes {
            Passes::All => 1.0,
            Passes::Reads => 1.0 - write,
            Passes::Writes => write,
        };
        Self { share: self.share * part, posted: self.posted * write, ..self }
    }
}

/// All resources and paths of a machine.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    nodes: usize,
    links: usize,
    pub resources: Vec<Resource>,
    /// Steps of all pairs, one pair after the other.
    steps: Vec<Step>,
    /// Index of the first step of pair `src * nodes + dst`, plus one entry for the end.
    starts: Vec<u32>,
    /// Idle latency of each pair, ns.
    idle_ns: Vec<f64>,
    /// Whether each node has CPUs.
    pub has_cpus: Vec<bool>,
    /// Whether the memory ports of caches are resources.
    ports: bool,
}

impl Paths {
    /// Resources of a machine, and the path between every two nodes.
    pub fn new(machine: &Machine) -> Self {
        let nodes = machine.node_count();
        let mut paths = Self {
            nodes,
            links: machine.links.len(),
            resources: resources(machine),
            steps: Vec::new(),
            starts: vec![0],
            idle_ns: machine.latency_ns.iter().flatten().copied().collect(),
            has_cpus: machine.nodes.iter().map(|n| !n.cpus.is_empty()).collect(),
            ports: machine.cache.llc_port_gbps.is_some(),
        };
        for src in 0..nodes {
            for dst in 0..nodes {
                let begin = paths.steps.len();
                let posted = f64::from(u8::from(writes_directory(machine, src, dst)));
                paths.steps.push(Step { resource: dst as u32, share: 1.0, passes: Passes::All, posted });
                for route in &machine.routes[src][dst] {
                    for &(link, forward) in &route.hops {
                        for (forward, passes) in [(forward, Passes::Reads), (!forward, Passes::Writes)] {
                            let resource = paths.link(link, forward) as u32;
                            add_step(
                                &mut paths.steps,
                                begin,
                                Step { resource, share: route.share, passes, posted: 0.0 },
                            );
                        }
                    }
                }
                if machine.cache.source_snoop {
                    paths.add_snoops(machine, begin, src, dst);
                }
                paths.starts.push(paths.steps.len() as u32);
            }
        }
        paths
    }

    /// Adds the snoop messages of a line read to the path that begins at `begin`: one message to each other socket,
    /// and an answer of each that is not the socket of the memory.
    fn add_snoops(&mut self, machine: &Machine, begin: usize, src: usize, dst: usize) {
        let share = MESSAGE_BYTES / LINE_BYTES;
        let socket = |n: usize| machine.nodes[n].socket;
        for peer in 0..self.nodes {
            let first = (0..self.nodes).find(|&n| socket(n) == socket(peer) && self.has_cpus[n]);
            if socket(peer) == socket(src) || first != Some(peer) {
                continue;
            }
            // Messages cross the route to the peer's memory in one direction, and the answers in the other.
            let asked = machine.routes[src][peer].iter().map(|r| (r, false));
            let answered = machine.routes[dst][peer].iter().map(|r| (r, true)).filter(|_| socket(peer) != socket(dst));
            for (route, back) in asked.chain(answered) {
                for &(link, forward) in &route.hops {
                    let resource = self.link(link, forward == back) as u32;
                    let step = Step { resource, share: share * route.share, passes: Passes::Reads, posted: 0.0 };
                    add_step(&mut self.steps, begin, step);
                }
            }
        }
    }

    /// Number of pairs of nodes.
    pub fn pairs(&self) -> usize {
        self.nodes * self.nodes
    }

    /// Number of a pair.
    pub fn pair(&self, src: usize, dst: usize) -> usize {
        src * self.nodes + dst
    }

    /// Number of steps of all pairs, with one cache port for each pair.
    pub fn all_steps(&self) -> usize {
        self.steps.len() + self.pairs()
    }

    /// Resource of a node's memory.
    pub fn dram(&self, node: usize) -> usize {
        node
    }

    /// Resource of one direction of a link.
    pub fn link(&self, link: usize, forward: bool) -> usize {
        self.nodes + 2 * link + usize::from(!forward)
    }

    /// Resource of an LLC's memory port, if ports are modelled and `llc` names one.
    pub fn port(&self, llc: u32) -> Option<usize> {
        let resource = (self.nodes + 2 * self.links).checked_add(llc as usize)?;
        (self.ports && resource < self.resources.len()).then_some(resource)
    }

    /// Latency from the CPUs of `src` to the memory of `dst` on the idle machine, ns.
    pub fn idle_ns(&self, src: usize, dst: usize) -> f64 {
        self.idle_ns[self.pair(src, dst)]
    }

    /// Resources of the pair, each once, DRAM first, without the cache port.
    pub fn steps(&self, src: usize, dst: usize) -> &[Step] {
        let pair = self.pair(src, dst);
        &self.steps[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }
}

/// Adds a step to the path that begins at `begin`, or adds its share to the step that uses the same resource.
fn add_step(steps: &mut Vec<Step>, begin: usize, step: Step) {
    match steps[begin..].iter_mut().find(|s| s.resource == step.resource && s.passes == step.passes) {
        Some(same) => same.share += step.share,
        None => steps.push(step),
    }
}

/// Whether a line of `dst` that a CPU of `src` writes costs the memory a second write, of its directory. Source: J.
/// McCalpin, "Memory directories in Intel processors", 28 August 2023. Nothing is known of memory that is not DRAM.
fn writes_directory(machine: &Machine, src: usize, dst: usize) -> bool {
    let (from, to) = (&machine.nodes[src], &machine.nodes[dst]);
    machine.cache.memory_directory && from.socket != to.socket && to.kind == MemoryKind::Dram
}

fn resources(machine: &Machine) -> Vec<Resource> {
    let limit = |gbps: f64| if gbps > 0.0 { gbps } else { f64::INFINITY };
    let mut all = Vec::new();
    for (n, node) in machine.nodes.iter().enumerate() {
        // A memory-only node has no local latency; its base is the latency from the nearest CPU.
        let base_ns = if node.cpus.is_empty() {
            machine.cpu_nodes().map(|c| machine.latency_ns[c][n]).fold(f64::INFINITY, f64::min)
        } else {
            machine.latency_ns[n][n]
        };
        let base_ns = if base_ns.is_finite() { base_ns } else { 0.0 };
        let (q, knee) = match node.kind {
            MemoryKind::Cxl => (CXL_Q, CXL_KNEE),
            // No reference measures the queues of the other kinds: they are those of DRAM.
            MemoryKind::Dram | MemoryKind::Hbm | MemoryKind::Gpu | MemoryKind::Optane => (DRAM_Q, 1.0),
        };
        let random_share = node.random_share;
        all.push(Resource {
            gbps: limit(node.dram_sustained_gbps),
            queue_ns: q * base_ns,
            knee,
            dram: true,
            random_share,
        });
    }
    for link in &machine.links {
        let queue_ns = LINK_Q * link.hop_latency_ns;
        let one_way =
            Resource { gbps: limit(link.sustained_gbps), queue_ns, knee: 1.0, dram: false, random_share: 1.0 };
        all.extend([one_way, one_way]);
    }
    if let Some(gbps) = machine.cache.llc_port_gbps {
        // A port only limits the rate; its queue is part of the measured idle latencies (model).
        let port = Resource { gbps: limit(gbps), queue_ns: 0.0, knee: 1.0, dram: false, random_share: 1.0 };
        all.extend(std::iter::repeat_n(port, machine.llcs.len()));
    }
    all
}
