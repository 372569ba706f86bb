//! The resources of a machine and which of them a request passes, resolved once per machine.
//!
//! Numbering: DRAM of node n is resource n; link l is `nodes + 2 l` forwards and `nodes + 2 l + 1`
//! backwards; the port of LLC c comes after all links. A path lists each resource once, with the share
//! of the traffic that uses it (routes in parallel carry part of it each).

use super::parameters::{CXL_KNEE, CXL_Q, DRAM_Q, LINE_BYTES, LINK_Q, MESSAGE_BYTES};
use numalab_model::machine::Machine;
use numalab_model::machine::MemoryKind;

/// Something with a bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    /// Sustained bandwidth, GB/s; infinite where the machine models no limit.
    pub gbps: f64,
    /// Queueing term per unit of `u/(1-u)`, ns: q * L0_r.
    pub queue_ns: f64,
    /// Part of the bandwidth at which the queueing curve ends.
    pub knee: f64,
    /// Whether it is DRAM, where random lines weigh more.
    pub dram: bool,
}

/// Which lines of a flow pass a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passes {
    /// Lines read and lines written back.
    All,
    /// Lines read: they travel from the memory to the CPU.
    Reads,
    /// Lines written back: they travel the other way.
    Writes,
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub resource: u32,
    pub share: f64,
    pub passes: Passes,
}

impl Step {
    /// The step as a flow with this write share meets it.
    pub fn of(self, write: f64) -> Self {
        let part = match self.passes {
            Passes::All => 1.0,
            Passes::Reads => 1.0 - write,
            Passes::Writes => write,
        };
        Self { share: self.share * part, ..self }
    }
}

/// All resources and paths of a machine.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    nodes: usize,
    links: usize,
    pub resources: Vec<Resource>,
    /// Steps of all pairs, pair after pair.
    steps: Vec<Step>,
    /// Where the steps of pair `src * nodes + dst` begin; one more entry at the end.
    starts: Vec<u32>,
    /// Idle latency by pair, ns.
    idle_ns: Vec<f64>,
    /// Whether the node has CPUs.
    pub has_cpus: Vec<bool>,
    /// Whether cache ports are resources.
    ports: bool,
}

impl Paths {
    /// Resources of a machine and the way between every two nodes.
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
                paths.steps.push(Step { resource: dst as u32, share: 1.0, passes: Passes::All });
                for route in &machine.routes[src][dst] {
                    for &(link, forward) in &route.hops {
                        for (forward, passes) in [(forward, Passes::Reads), (!forward, Passes::Writes)] {
                            let resource = paths.link(link, forward) as u32;
                            add_step(&mut paths.steps, begin, Step { resource, share: route.share, passes });
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

    /// Adds what a line read asks of the other sockets' caches to the path that begins at `begin`: a message to each of
    /// them, and the answers of those that are not where the memory is.
    fn add_snoops(&mut self, machine: &Machine, begin: usize, src: usize, dst: usize) {
        let share = MESSAGE_BYTES / LINE_BYTES;
        let socket = |n: usize| machine.nodes[n].socket;
        for peer in 0..self.nodes {
            let first = (0..self.nodes).find(|&n| socket(n) == socket(peer) && self.has_cpus[n]);
            if socket(peer) == socket(src) || first != Some(peer) {
                continue;
            }
            // A CPU's route to memory is crossed by its messages one way and by what comes back the other way.
            let asked = machine.routes[src][peer].iter().map(|r| (r, false));
            let answered = machine.routes[dst][peer].iter().map(|r| (r, true)).filter(|_| socket(peer) != socket(dst));
            for (route, back) in asked.chain(answered) {
                for &(link, forward) in &route.hops {
                    let resource = self.link(link, forward == back) as u32;
                    let step = Step { resource, share: share * route.share, passes: Passes::Reads };
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

    /// Number of steps of all pairs together, a cache port each included.
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

    /// Latency from the CPUs of `src` to the memory of `dst` with nothing else going on, ns.
    pub fn idle_ns(&self, src: usize, dst: usize) -> f64 {
        self.idle_ns[self.pair(src, dst)]
    }

    /// Resources of the pair, each once, DRAM first; without the cache port.
    pub fn steps(&self, src: usize, dst: usize) -> &[Step] {
        let pair = self.pair(src, dst);
        &self.steps[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }
}

/// Adds a step to the path that begins at `begin`, merging it with one over the same resource.
fn add_step(steps: &mut Vec<Step>, begin: usize, step: Step) {
    match steps[begin..].iter_mut().find(|s| s.resource == step.resource && s.passes == step.passes) {
        Some(same) => same.share += step.share,
        None => steps.push(step),
    }
}

fn resources(machine: &Machine) -> Vec<Resource> {
    let limit = |gbps: f64| if gbps > 0.0 { gbps } else { f64::INFINITY };
    let mut all = Vec::new();
    for (n, node) in machine.nodes.iter().enumerate() {
        // An expander has no CPU of its own; its base is what the nearest CPU sees.
        let base_ns = if node.cpus.is_empty() {
            machine.cpu_nodes().map(|c| machine.latency_ns[c][n]).fold(f64::INFINITY, f64::min)
        } else {
            machine.latency_ns[n][n]
        };
        let base_ns = if base_ns.is_finite() { base_ns } else { 0.0 };
        let (q, knee) = match node.kind {
            MemoryKind::Dram => (DRAM_Q, 1.0),
            MemoryKind::Cxl => (CXL_Q, CXL_KNEE),
        };
        all.push(Resource { gbps: limit(node.dram_sustained_gbps), queue_ns: q * base_ns, knee, dram: true });
    }
    for link in &machine.links {
        let queue_ns = LINK_Q * link.hop_latency_ns;
        let one_way = Resource { gbps: limit(link.sustained_gbps), queue_ns, knee: 1.0, dram: false };
        all.extend([one_way, one_way]);
    }
    if let Some(gbps) = machine.cache.llc_port_gbps {
        // A port only caps: its queue is part of the idle latencies' measurement (model).
        let port = Resource { gbps: limit(gbps), queue_ns: 0.0, knee: 1.0, dram: false };
        all.extend(std::iter::repeat_n(port, machine.llcs.len()));
    }
    all
}
