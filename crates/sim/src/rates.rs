//! How fast each kind of access proceeds from each node to each node, re-solved every epoch.
//!
//! Threads report how long they were busy on (kind, own node, page node); the average number of
//! threads there is what the contention model needs, so the loop "slow memory holds threads longer"
//! closes by itself from one epoch to the next.

use numalab_kernel::hw::contention::{Contention, Flow, PageCopy, NO_LLC};
use numalab_model::machine::Machine;
use numalab_model::workload::{Access, Op, Pattern, Workload};

/// A kind of access that differs in what it asks of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessKind {
    /// Lines in flight per thread.
    pub lines: f64,
    /// Cap of one thread, GB/s of traffic.
    pub cap_gbps: f64,
    /// Share of the traffic that is write-back.
    pub write: f64,
    /// Random lines (bank conflicts).
    pub random: bool,
}

/// Rates of all kinds between all nodes.
#[derive(Debug)]
pub struct Rates {
    nodes: usize,
    kinds: Vec<AccessKind>,
    /// ns per byte of traffic: `[kind][src][dst]`.
    ns_per_byte: Vec<f64>,
    /// Effective latency, ns, same shape.
    latency_ns: Vec<f64>,
    /// Thread-ns spent in the current epoch, same shape.
    occupancy_ns: Vec<f64>,
    /// Smoothed number of threads, same shape.
    threads: Vec<f64>,
    flows: Vec<Flow>,
    /// Bytes copied by the kernel in the current epoch: `[from][to]`.
    copied_bytes: Vec<u64>,
    copies: Vec<PageCopy>,
    /// Latency relative to the idle machine: `[src][dst]`.
    latency_factor: Vec<f64>,
    contention: Contention,
}

/// SMT share of a stream while the sibling is busy (machines.md section 7).
const SMT_STREAM: f64 = 0.55;
/// Damping of the occupancy between epochs (machines.md section 6.2).
const DAMPING: f64 = 0.5;

impl Rates {
    /// Rates for the kinds of access that `workload` makes, with no load yet.
    pub fn new(machine: &Machine, workload: &Workload) -> Self {
        let mut kinds: Vec<AccessKind> = Vec::new();
        let mut add = |a: &Access| {
            for smt in [false, true] {
                let k = Self::describe(machine, a, smt);
                if !kinds.contains(&k) {
                    kinds.push(k);
                }
            }
        };
        for p in &workload.processes {
            let programs = std::iter::once(&p.prologue).chain(p.threads.iter().map(|t| &t.ops));
            for ops in programs {
                for op in ops.iter() {
                    if let Op::Access(a) = op {
                        add(a);
                    }
                }
            }
        }
        let nodes = machine.node_count();
        let n = kinds.len() * nodes * nodes;
        let mut flows = Vec::with_capacity(n);
        for k in &kinds {
            for src in 0..nodes {
                for dst in 0..nodes {
                    flows.push(Flow {
                        src_node: src as u32,
                        dst_node: dst as u32,
                        llc: NO_LLC,
                        threads: 0.0,
                        lines: k.lines,
                        cap_gbps: k.cap_gbps,
                        extra_ns: 0.0,
                        write: k.write,
                        random: k.random,
                    });
                }
            }
        }
        let mut rates = Self {
            nodes,
            kinds,
            ns_per_byte: vec![0.0; n],
            latency_ns: vec![0.0; n],
            occupancy_ns: vec![0.0; n],
            threads: vec![0.0; n],
            flows,
            copied_bytes: vec![0; nodes * nodes],
            copies: (0..nodes * nodes)
                .map(|i| PageCopy { from_node: (i / nodes) as u32, to_node: (i % nodes) as u32, gbps: 0.0 })
                .collect(),
            latency_factor: vec![1.0; nodes * nodes],
            contention: Contention::new(machine),
        };
        rates.solve();
        rates
    }
    fn describe(machine: &Machine, a: &Access, smt: bool) -> AccessKind {
        let share = if smt { SMT_STREAM } else { 1.0 };
        let (lines, random) = match a.pattern {
            Pattern::Sequential | Pattern::Strided { .. } => (machine.stream.lines_sequential * share, false),
            Pattern::Random | Pattern::Zipf { .. } => (machine.stream.lines_random * share, true),
            Pattern::Chase => (1.0, true),
        };
        let write = a.write / (1.0 + a.write);
        AccessKind { lines, cap_gbps: machine.stream.cap_gbps * share, write, random }
    }
    /// Index of the kind of an access while the SMT sibling is busy or not.
    pub fn kind_of(&self, machine: &Machine, a: &Access, smt: bool) -> usize {
        let k = Self::describe(machine, a, smt);
        self.kinds.iter().position(|x| *x == k).unwrap_or(0)
    }
    #[inline]
    fn at(&self, kind: usize, src: usize) -> usize {
        (kind * self.nodes + src) * self.nodes
    }
    /// ns per byte of traffic over pages spread as `counts` (present pages per node, sum `present`).
    #[inline]
    pub fn ns_per_byte(&self, kind: usize, src: usize, counts: &[u16], present: u16) -> f64 {
        let row = &self.ns_per_byte[self.at(kind, src)..][..self.nodes];
        let sum: f64 = row.iter().zip(counts).map(|(t, &c)| t * f64::from(c)).sum();
        sum / f64::from(present)
    }
    /// Latency from `src` averaged over pages spread as `pages` per node.
    pub fn latency_ns(&self, kind: usize, src: usize, pages: &[u64]) -> f64 {
        let row = &self.latency_ns[self.at(kind, src)..][..self.nodes];
        let total: u64 = pages.iter().sum();
        if total == 0 {
            return row[src];
        }
        row.iter().zip(pages).map(|(t, &p)| t * p as f64).sum::<f64>() / total as f64
    }
    /// A thread spent `ns` on traffic over pages spread as `counts`.
    #[inline]
    pub fn occupy(&mut self, kind: usize, src: usize, counts: &[u16], ns: f64) {
        let at = self.at(kind, src);
        let row = &self.ns_per_byte[at..at + self.nodes];
        let total: f64 = row.iter().zip(counts).map(|(t, &c)| t * f64::from(c)).sum();
        if total <= 0.0 {
            return;
        }
        let scale = ns / total;
        for ((o, t), &c) in self.occupancy_ns[at..].iter_mut().zip(&self.ns_per_byte[at..]).zip(counts) {
            *o += scale * t * f64::from(c);
        }
    }
    /// The same for pages per node given as totals (random access to a whole range).
    pub fn occupy_pages(&mut self, kind: usize, src: usize, pages: &[u64], ns: f64) {
        let at = self.at(kind, src);
        let total: f64 = (0..self.nodes).map(|n| self.latency_ns[at + n] * pages[n] as f64).sum();
        if total <= 0.0 {
            return;
        }
        for ((o, l), &p) in self.occupancy_ns[at..].iter_mut().zip(&self.latency_ns[at..]).zip(pages) {
            *o += ns * l * p as f64 / total;
        }
    }
    /// Ends an epoch of `epoch_ns`: averages the occupancy and solves for the next one.
    pub fn end_epoch(&mut self, epoch_ns: f64) {
        for (t, o) in self.threads.iter_mut().zip(&mut self.occupancy_ns) {
            *t += DAMPING * (*o / epoch_ns - *t);
            *o = 0.0;
        }
        for (c, bytes) in self.copies.iter_mut().zip(&mut self.copied_bytes) {
            c.gbps = *bytes as f64 / epoch_ns;
            *bytes = 0;
        }
        self.solve();
    }
    /// The kernel copied `bytes` from one node to another.
    #[inline]
    pub fn copied(&mut self, from: usize, to: usize, bytes: u64) {
        self.copied_bytes[from * self.nodes + to] += bytes;
    }
    fn solve(&mut self) {
        for (f, t) in self.flows.iter_mut().zip(&self.threads) {
            f.threads = *t;
        }
        self.contention.solve(&self.flows, &self.copies);
        for (i, r) in self.contention.rates().iter().enumerate() {
            self.ns_per_byte[i] = 1.0 / r.gbps;
            self.latency_ns[i] = r.latency_ns;
        }
        for (i, f) in self.latency_factor.iter_mut().enumerate() {
            *f = self.contention.latency_factor(i / self.nodes, i % self.nodes);
        }
    }
    /// Latency between two nodes relative to the idle machine, at least 1.
    #[inline]
    pub fn latency_factor(&self, src: usize, dst: usize) -> f64 {
        self.latency_factor[src * self.nodes + dst]
    }
    /// DRAM bandwidth in use on each node, GB/s.
    pub fn dram_gbps(&self, node: usize) -> f64 {
        self.contention.node_gbps(node)
    }
}
