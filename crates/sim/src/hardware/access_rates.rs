//! How fast each kind of access proceeds from each place to each node. The rates are solved anew every epoch.
//!
//! Threads report how long they were busy on (kind, place, page node). The average number of threads there is what the
//! contention model needs, so slow memory holds threads longer, and the loop closes from one epoch to the next. A
//! *place* is where requests enter the memory system: a node, or one LLC of it where the machine's LLCs have ports of
//! limited bandwidth. The contention model sees nodes. A port that is asked for more than it lets through slows the
//! threads behind it in proportion, and those ask that much less of the node.

use crate::hardware::access_kind::{all_kinds, describe, threads_per_core, AccessKind, KindSet};
use crate::hardware::copy_rates::CopyRates;
use crate::hardware::crossed_bytes::CrossedBytes;
use crate::hardware::pipes::{Pipes, Served};
use numalab_kernel::hw::contention::{Contention, Flow, UTILISATION_CAP};
use numalab_kernel::hw::smt::{Sibling, MAX_THREADS};
use numalab_nouns::machine::Machine;
use numalab_nouns::workload::{Access, Workload};
use std::cell::{Cell, RefCell};

/// Time between two solutions of the bandwidth model.
pub const EPOCH_NS: u64 = 4_000_000;

/// Rates of all kinds of access between all places and nodes.
#[derive(Debug)]
pub struct AccessRates {
    nodes: usize,
    places: usize,
    kinds: Vec<AccessKind>,
    /// Place of each LLC.
    place_of_llc: Vec<u32>,
    /// Node of each place.
    node_of_place: Vec<u32>,
    /// What the port of a place lets through, GB/s.
    port_gbps: f64,
    /// How much slower its port makes a place, at least 1.
    slow: Vec<f64>,
    /// How much slower its port made a place before the last solution.
    slow_before: Vec<f64>,
    /// ns per byte of traffic: `[kind][place][dst]`; 0 until asked for.
    ns_per_byte: Vec<Cell<f64>>,
    /// Effective latency, ns, same shape; 0 until asked for.
    latency_ns: Vec<Cell<f64>>,
    /// Thread-ns spent in the current epoch, same shape.
    occupancy_ns: Vec<f64>,
    /// The same for what is planned already behind the end of the epoch.
    later_ns: Vec<f64>,
    /// End of the current epoch, ns.
    epoch_end_ns: u64,
    /// Smoothed number of threads, same shape.
    threads: Vec<f64>,
    /// Entries of the three tables above that are not all 0: ascending, but for the last ones since the epoch began.
    /// On a large machine they are few.
    live: Vec<u32>,
    is_live: Vec<bool>,
    /// `[kind][src node][dst]`.
    flows: Vec<Flow>,
    /// Flows with threads, ascending.
    busy: Vec<u32>,
    copies: CopyRates,
    /// Latency relative to the idle machine: `[src node][dst node]`; 0 until asked for.
    latency_factor: Vec<Cell<f64>>,
    /// Rates and factors that were asked for since the last solution.
    asked: RefCell<Vec<u32>>,
    asked_factors: RefCell<Vec<u32>>,
    contention: Contention,
    /// Bytes from other caches that were too few for a look at the pipes, by place.
    gathered_bytes: Vec<f64>,
    /// What may cross in the near future; the ports of places come after the resources of `contention`.
    pipes: Pipes,
    /// Pipes refused something in the epoch before.
    refused: bool,
    /// How often a byte of each kind counts on links and ports.
    link_weights: Vec<f64>,
    /// How often it counts in memory: `[kind][memory node]`.
    memory_weights: Vec<f64>,
    /// The last solution changed nothing, so with the same traffic the next one would be the same.
    settled: bool,
}

/// Lines from other caches that are looked at together, bytes: what a port or a link lets through in some 10 us.
const GATHERED_BYTES: f64 = 262_144.0;

/// Damping of the occupancy between epochs (machines.md section 6.2).
const DAMPING: f64 = 0.5;

/// Fewer threads than this count as none. A thread that has left counts half as much in every epoch. The limit keeps
/// numbers out of the denormal range, which is slow, and lies far below the last digit of any load.
const NOBODY: f64 = 1e-300;

/// When a stretch of traffic begins, and when that is planned, ns.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// Present instant of the run.
    pub now_ns: u64,
    /// Start of the traffic.
    pub from_ns: u64,
}

impl When {
    /// Traffic that begins now.
    pub fn now(now_ns: u64) -> Self {
        Self { now_ns, from_ns: now_ns }
    }
}

/// A thread that stands still wants memory as if it went on, but a few lines behind which it does something else are
/// not a stream: they count at most this many times.
const LONGEST_WAIT: f64 = 64.0;

/// Time for which an access wants memory that takes `ns` of it and stands still for `stalled_ns`.
#[inline]
pub fn waiting_ns(ns: f64, stalled_ns: f64) -> f64 {
    ns + stalled_ns.min(LONGEST_WAIT * ns)
}

/// The node with memory that answers a node soonest: itself, unless it has none.
fn nearest_memory(machine: &Machine, node: usize) -> usize {
    let with_memory = (0..machine.node_count()).filter(|&n| machine.nodes[n].memory_bytes > 0);
    let latency = |n: usize| machine.latency_ns[node][n];
    with_memory.min_by(|&a, &b| latency(a).total_cmp(&latency(b))).unwrap_or(node)
}

impl AccessRates {
    /// Rates for the kinds of access that `workload` makes, without load. With an `oracle` memory is always on the node
    /// that asks for it, or the nearest one with memory, wherever the page tables say it is.
    ///
    /// Slices are at most `slice_ns` long.
    pub fn new(machine: &Machine, workload: &Workload, oracle: bool, slice_ns: u64) -> Self {
        let kinds = all_kinds(machine, workload);
        let nodes = machine.node_count();
        let ports = machine.cache.llc_port_gbps.is_some();
        let place_of_llc =
            machine.llcs.iter().enumerate().map(|(i, l)| if ports { i as u32 } else { l.node as u32 }).collect();
        let node_of_place: Vec<u32> =
            if ports { machine.llcs.iter().map(|l| l.node as u32).collect() } else { (0..nodes as u32).collect() };
        let places = node_of_place.len();
        let n = kinds.len() * places * nodes;
        let mut flows = Vec::with_capacity(kinds.len() * nodes * nodes);
        for k in &kinds {
            let dst = |i: usize| if oracle { nearest_memory(machine, i / nodes) } else { i % nodes };
            flows.extend((0..nodes * nodes).map(|i| k.flow(i / nodes, dst(i))));
        }
        let contention = Contention::new(machine);
        let mut gbps: Vec<f64> = (0..contention.resources()).map(|r| contention.bandwidth_gbps(r)).collect();
        gbps.extend(machine.cache.llc_port_gbps.iter().flat_map(|&port| std::iter::repeat_n(port, places)));
        let in_memory = |k: &AccessKind| {
            let (times, flow) = (1.0 + k.writebacks, k.flow(0, 0));
            machine.nodes.iter().map(move |n| times * flow.weight_in_memory(n.random_share)).collect::<Vec<_>>()
        };
        let mut rates = Self {
            pipes: Pipes::new(&gbps, slice_ns + 2 * EPOCH_NS),
            refused: false,
            link_weights: kinds.iter().map(|k| 1.0 + k.writebacks).collect(),
            memory_weights: kinds.iter().flat_map(in_memory).collect(),
            nodes,
            places,
            kinds,
            place_of_llc,
            node_of_place,
            port_gbps: UTILISATION_CAP * machine.cache.llc_port_gbps.unwrap_or(f64::INFINITY),
            gathered_bytes: vec![0.0; places],
            slow: vec![1.0; places],
            slow_before: vec![1.0; places],
            ns_per_byte: vec![Cell::new(0.0); n],
            latency_ns: vec![Cell::new(0.0); n],
            occupancy_ns: vec![0.0; n],
            later_ns: vec![0.0; n],
            epoch_end_ns: EPOCH_NS,
            threads: vec![0.0; n],
            live: Vec::new(),
            is_live: vec![false; n],
            busy: Vec::new(),
            flows,
            copies: CopyRates::new(nodes, EPOCH_NS as f64),
            latency_factor: vec![Cell::new(0.0); nodes * nodes],
            asked: RefCell::default(),
            asked_factors: RefCell::default(),
            contention,
            settled: false,
        };
        rates.solve();
        rates
    }
    /// Kinds of an access; those of another workload's are taken for the first.
    pub fn kinds_of(&self, machine: &Machine, a: &Access) -> KindSet {
        let mut set = [0; MAX_THREADS + 1];
        for s in Sibling::all(threads_per_core(machine)) {
            let k = describe(machine, a, s);
            set[s.index()] = self.kinds.iter().position(|x| *x == k).unwrap_or(0) as u16;
        }
        KindSet(set)
    }
    /// Place of the CPUs of an LLC.
    #[inline]
    pub fn place(&self, llc: usize) -> usize {
        self.place_of_llc[llc] as usize
    }
    #[inline]
    fn at(&self, kind: usize, place: usize) -> usize {
        (kind * self.places + place) * self.nodes
    }
    /// The flow of `kind` from a place to memory of `dst`.
    #[inline]
    fn flow(&self, kind: usize, place: usize, dst: usize) -> usize {
        (kind * self.nodes + self.node_of_place[place] as usize) * self.nodes + dst
    }
    /// Works out the rates from a place to memory of `dst`. Of the many there are, few are asked for between two
    /// solutions.
    #[cold]
    fn find_rate(&self, kind: usize, place: usize, dst: usize) {
        let (at, flow) = (self.at(kind, place) + dst, self.flow(kind, place, dst));
        let rate = self.contention.rate(flow, &self.flows[flow]);
        self.ns_per_byte[at].set(self.slow[place] / rate.gbps);
        self.latency_ns[at].set(self.slow[place] * rate.latency_ns);
        self.asked.borrow_mut().push(at as u32);
    }
    #[inline]
    fn ns_per_byte_to(&self, kind: usize, place: usize, dst: usize) -> f64 {
        let known = &self.ns_per_byte[self.at(kind, place) + dst];
        if known.get() == 0.0 {
            self.find_rate(kind, place, dst);
        }
        known.get()
    }
    #[inline]
    fn latency_ns_to(&self, kind: usize, place: usize, dst: usize) -> f64 {
        let known = &self.latency_ns[self.at(kind, place) + dst];
        if known.get() == 0.0 {
            self.find_rate(kind, place, dst);
        }
        known.get()
    }
    /// Time for one byte of every page, ns, for present pages spread over the nodes as `counts`. Divided by the number
    /// of pages it is the time per byte of traffic.
    #[inline]
    pub fn ns_of_pages(&self, kind: usize, place: usize, counts: &[u16]) -> f64 {
        let present = counts[..self.nodes].iter().enumerate().filter(|(_, c)| **c > 0);
        present.map(|(dst, &c)| self.ns_per_byte_to(kind, place, dst) * f64::from(c)).sum()
    }
    /// Latency from `place` averaged over pages spread as `pages` per node.
    pub fn latency_ns(&self, kind: usize, place: usize, pages: &[u64]) -> f64 {
        let total: u64 = pages.iter().sum();
        if total == 0 {
            return (0..self.nodes).map(|dst| self.latency_ns_to(kind, place, dst)).fold(f64::INFINITY, f64::min);
        }
        self.latency_of_pages(kind, place, pages) / total as f64
    }
    /// Sum of the latencies of all `pages`, ns.
    fn latency_of_pages(&self, kind: usize, place: usize, pages: &[u64]) -> f64 {
        let present = pages[..self.nodes].iter().enumerate().filter(|(_, p)| **p > 0);
        present.map(|(dst, &p)| self.latency_ns_to(kind, place, dst) * p as f64).sum()
    }
    /// Time for one byte of traffic in address order over pages spread as `pages` per node, ns; 0 without pages.
    pub fn ns_per_byte_of_all(&self, kind: usize, place: usize, pages: &[u64]) -> f64 {
        let total: u64 = pages.iter().sum();
        let present = pages[..self.nodes].iter().enumerate().filter(|(_, p)| **p > 0);
        let of_pages: f64 = present.map(|(dst, &p)| self.ns_per_byte_to(kind, place, dst) * p as f64).sum();
        of_pages / total.max(1) as f64
    }
    /// Notes that a thread spent `ns` on traffic over pages spread as `counts`, for which `ns_of_pages` is `of_pages`,
    /// during a stretch from `when.0` on that took `when.1`, ns. If all pages lie on one known node, nothing is added
    /// for the others.
    #[inline]
    pub fn occupy(
        &mut self,
        kind: usize,
        place: usize,
        (counts, node): (&[u16], Option<usize>),
        of_pages: f64,
        ns: f64,
        when: (u64, f64),
    ) {
        let at = self.at(kind, place);
        if of_pages <= 0.0 {
            return;
        }
        let scale = ns / of_pages;
        let later = self.share_later(when);
        if let Some(node) = node {
            let ns = scale * self.ns_per_byte_to(kind, place, node) * f64::from(counts[node]);
            return self.add_occupancy(at + node, ns, later);
        }
        for dst in (0..self.nodes).filter(|&dst| counts[dst] > 0) {
            let ns = scale * self.ns_per_byte_to(kind, place, dst) * f64::from(counts[dst]);
            self.add_occupancy(at + dst, ns, later);
        }
    }
    /// Notes that a thread spent `ns` on random traffic over a range with `pages` per node, `when` as in
    /// [`Self::occupy`].
    pub fn occupy_pages(&mut self, kind: usize, place: usize, pages: &[u64], ns: f64, when: (u64, f64)) {
        let at = self.at(kind, place);
        let total = self.latency_of_pages(kind, place, pages);
        if total <= 0.0 {
            return;
        }
        let later = self.share_later(when);
        for dst in (0..self.nodes).filter(|&dst| pages[dst] > 0) {
            let ns = ns * self.latency_ns_to(kind, place, dst) * pages[dst] as f64 / total;
            self.add_occupancy(at + dst, ns, later);
        }
    }
    /// The part of a stretch behind the end of the epoch, 0..=1.
    #[inline]
    fn share_later(&self, (from_ns, took_ns): (u64, f64)) -> f64 {
        let left = self.epoch_end_ns as f64 - from_ns as f64;
        if took_ns <= left {
            return 0.0;
        }
        1.0 - (left / took_ns).max(0.0)
    }
    #[inline]
    fn add_occupancy(&mut self, at: usize, ns: f64, later: f64) {
        if !self.is_live[at] {
            self.is_live[at] = true;
            self.live.push(at as u32);
        }
        if later > 0.0 {
            self.later_ns[at] += ns * later;
        }
        self.occupancy_ns[at] += ns * (1.0 - later);
    }
    /// The next stretch to be served has `bytes` of traffic between a place and memory of `dst`.
    #[inline]
    pub fn want(&mut self, kind: usize, place: usize, dst: usize, bytes: f64) {
        let links = self.link_weights[kind];
        let flow = self.flow(kind, place, dst);
        for (r, share) in self.contention.crossings(flow) {
            // The memory of a node has the node's number.
            let weight = if self.contention.is_memory(r) { self.memory_weights[kind * self.nodes + r] } else { links };
            self.pipes.want(r, bytes * share, weight);
        }
        if self.port_gbps.is_finite() {
            self.pipes.want(self.contention.resources() + place, bytes, links);
        }
    }
    /// Notes `bytes` that come to a place from other caches; whether they are enough for
    /// [`Self::want_from_caches`]. A line now and then is not worth a look at the pipes.
    #[inline]
    pub fn gather(&mut self, place: usize, bytes: f64) -> bool {
        self.gathered_bytes[place] += bytes;
        self.gathered_bytes[place] >= GATHERED_BYTES
    }
    /// The next stretch to be served has what was gathered for a place from the caches of LLCs, a share from each as
    /// `sources` say. It crosses links and the ports on both sides, and no memory.
    pub fn want_from_caches(&mut self, place: usize, sources: &[f64]) {
        let all = std::mem::take(&mut self.gathered_bytes[place]);
        let port = self.port_gbps.is_finite().then_some(self.contention.resources());
        for (llc, &share) in sources.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let (from, bytes) = (self.place(llc), all * share);
            for (r, part) in self.contention.crossings(self.flow(0, place, self.node_of_place[from] as usize)) {
                if !self.contention.is_memory(r) {
                    self.pipes.want(r, bytes * part, 1.0);
                }
            }
            if let Some(port) = port {
                self.pipes.want(port + from, bytes, 1.0);
                self.pipes.want(port + place, bytes, 1.0);
            }
        }
    }
    /// As [`Self::want`], for `bytes` of pages spread as `counts`, on one known `node` or on several.
    #[inline]
    pub fn want_of_pages(&mut self, kind: usize, place: usize, (counts, node): (&[u16], Option<usize>), bytes: f64) {
        if let Some(node) = node {
            return self.want(kind, place, node, bytes);
        }
        let counts = &counts[..self.nodes];
        let pages: u32 = counts.iter().map(|&c| u32::from(c)).sum();
        for (dst, &c) in counts.iter().enumerate().filter(|(_, c)| **c > 0) {
            self.want(kind, place, dst, bytes * f64::from(c) / f64::from(pages));
        }
    }
    /// As [`Self::want`], for `bytes` of a range with `pages` per node.
    #[inline]
    pub fn want_of_all_pages(&mut self, kind: usize, place: usize, pages: &[u64], bytes: f64) {
        let pages = &pages[..self.nodes];
        let all: u64 = pages.iter().sum();
        for (dst, &p) in pages.iter().enumerate().filter(|(_, p)| **p > 0) {
            self.want(kind, place, dst, bytes * p as f64 / all as f64);
        }
    }
    /// Serves what was wanted, as planned at `now_ns`, from `from_ns` on: in `ns` if all pipes let it through, and in
    /// `room_ns` at most.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, from_ns: u64, ns: f64, room_ns: f64) -> Served {
        self.pipes.serve(now_ns, from_ns, ns, room_ns)
    }
    /// Sums what crosses each pipe from now on.
    pub fn watch_pipes(&mut self, machine: &Machine) {
        let limit = |gbps: f64| if gbps > 0.0 { gbps } else { f64::INFINITY };
        let nodes = machine.nodes.iter().enumerate();
        let mut pipes: Vec<_> =
            nodes.map(|(n, node)| (format!("memory of node {n}"), limit(node.dram_sustained_gbps))).collect();
        for (l, link) in machine.links.iter().enumerate() {
            let way = |which: &str| (format!("link {l} {which}"), limit(link.sustained_gbps));
            pipes.extend([way("forwards"), way("backwards")]);
        }
        if let Some(gbps) = machine.cache.llc_port_gbps {
            // The bandwidth model's own ports carry nothing here.
            pipes.extend((0..machine.llcs.len()).map(|c| (format!("unused port {c}"), 0.0)));
            pipes.extend((0..self.places).map(|c| (format!("memory port of LLC {c}"), limit(gbps))));
        }
        self.pipes.watch(CrossedBytes::new(pipes, EPOCH_NS));
    }
    /// Checks that no pipe has promised more than it has, and that none let more through, if that is watched.
    ///
    /// # Errors
    /// A sentence naming the first pipe that has.
    pub fn check_pipes(&self) -> Result<(), String> {
        self.pipes.check()
    }
    /// Ends an epoch of `epoch_ns`: averages the occupancy and solves for the next one.
    pub fn end_epoch(&mut self, epoch_ns: f64) {
        let mut same = self.settled;
        // Where pipes begin to refuse, the threads that came are there since then, and count at once and in full.
        let since_ns = self.pipes.refused_since().map_or(0, |from| self.epoch_end_ns.saturating_sub(from));
        let growth = match (since_ns > 0, std::mem::replace(&mut self.refused, since_ns > 0)) {
            (false, _) => DAMPING,
            (true, false) => (epoch_ns / since_ns as f64).max(1.0),
            (true, true) => 1.0,
        };
        self.epoch_end_ns += epoch_ns as u64;
        self.live.sort_unstable();
        self.live.retain(|&at| {
            let at = at as usize;
            let (t, o) = (&mut self.threads[at], &mut self.occupancy_ns[at]);
            let was = *t;
            let there = *o / epoch_ns;
            *t += if there > *t { growth } else { DAMPING } * (there - *t);
            *t = if *t < NOBODY { 0.0 } else { *t };
            *o = std::mem::take(&mut self.later_ns[at]);
            same &= *t == was;
            self.is_live[at] = *t != 0.0 || *o != 0.0;
            self.is_live[at]
        });
        same &= self.copies.end_epoch(epoch_ns);
        if !same {
            self.solve();
        }
    }
    /// The kernel copies `bytes` from one node to another, which takes `ns` if all pipes let them through. Returns how
    /// long it takes, ns.
    #[inline]
    pub fn copied(&mut self, from: usize, to: usize, bytes: u64, when: When, ns: f64) -> f64 {
        self.cross(self.copies.copying(from, to), bytes, when, ns)
    }
    /// The kernel clears `bytes` of a node from a CPU of `cpu_node`, which takes it `ns` if all pipes let them through.
    /// Returns how long it takes, ns.
    #[inline]
    pub fn cleared(&mut self, cpu_node: usize, node: usize, bytes: u64, when: When, ns: f64) -> f64 {
        self.cross(self.copies.clearing(cpu_node, node), bytes, when, ns)
    }
    /// Sends what the kernel copies or clears through the pipes.
    fn cross(&mut self, pair: usize, bytes: u64, when: When, ns: f64) -> f64 {
        let (pipes, all) = (&mut self.pipes, bytes as f64);
        self.contention
            .copy_crossings(&self.copies.copy_of(pair, 0.0), |r, share, weight| pipes.want(r, all * share, weight));
        let ns = self.pipes.serve_kernel(when.now_ns, when.from_ns, ns);
        self.copies.spread(pair, bytes, ns);
        ns
    }
    fn solve(&mut self) {
        self.count_flows();
        self.contention.solve_busy(&self.flows, &self.busy, self.copies.rates());
        self.settled = self.contention.is_settled();
        if self.port_gbps.is_finite() {
            std::mem::swap(&mut self.slow, &mut self.slow_before);
            self.slow.fill(0.0);
            self.each_busy(|r, kind, place, dst| {
                let (at, flow) = (r.at(kind, place) + dst, r.flow(kind, place, dst));
                let gbps = r.contention.rate(flow, &r.flows[flow]).gbps;
                r.slow[place] += r.threads[at] * (1.0 + r.kinds[kind].writebacks) * gbps / r.port_gbps;
            });
            self.slow.iter_mut().for_each(|s| *s = s.max(1.0));
            self.settled &= self.slow == self.slow_before;
        }
        for at in self.asked.get_mut().drain(..) {
            self.ns_per_byte[at as usize].set(0.0);
            self.latency_ns[at as usize].set(0.0);
        }
        for pair in self.asked_factors.get_mut().drain(..) {
            self.latency_factor[pair as usize].set(0.0);
        }
    }
    /// Counts the threads of every flow.
    fn count_flows(&mut self) {
        for &flow in &self.busy {
            self.flows[flow as usize].threads = 0.0;
        }
        self.busy.clear();
        self.each_busy(|r, kind, place, dst| {
            let flow = r.flow(kind, place, dst);
            r.flows[flow].threads += r.threads[r.at(kind, place) + dst] / r.slow[place];
            r.busy.push(flow as u32);
        });
        self.busy.sort_unstable();
        self.busy.dedup();
        let mut row = (usize::MAX, 0.0);
        for &flow in &self.busy {
            let number = flow as usize / self.nodes;
            if number != row.0 {
                row = (number, self.flows[number * self.nodes..][..self.nodes].iter().map(|f| f.threads).sum());
            }
            self.flows[flow as usize].kind_threads = row.1;
        }
    }
    /// Calls `f` with kind, place and memory node of every entry of the tables that has threads.
    fn each_busy(&mut self, f: impl Fn(&mut Self, usize, usize, usize)) {
        let live = std::mem::take(&mut self.live);
        for at in live.iter().map(|at| *at as usize) {
            if self.threads[at] > 0.0 {
                let row = at / self.nodes;
                f(self, row / self.places, row % self.places, at % self.nodes);
            }
        }
        self.live = live;
    }
    /// Latency of memory of a node for a CPU of `cpu_node`, relative to the idle machine, at least 1.
    #[inline]
    pub fn latency_factor(&self, cpu_node: usize, memory_node: usize) -> f64 {
        // Few of the many pairs are asked for, so each is worked out at the first request.
        let factor = &self.latency_factor[cpu_node * self.nodes + memory_node];
        if factor.get() == 0.0 {
            factor.set(self.contention.latency_factor(cpu_node, memory_node));
            self.asked_factors.borrow_mut().push((cpu_node * self.nodes + memory_node) as u32);
        }
        factor.get()
    }
    /// DRAM bandwidth in use on each node, GB/s.
    pub fn dram_gbps(&self, node: usize) -> f64 {
        self.contention.node_gbps(node)
    }
    /// Traffic over one direction of a link, GB/s.
    pub fn link_gbps(&self, link: usize, forward: bool) -> f64 {
        self.contention.link_gbps(link, forward)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_kernel::sched::shapes::Shape;

    #[test]
    fn lines_take_the_port_of_who_gets_them_and_of_who_sends_them() {
        let mut machine = Shape::flat(3, 2, 1, 20).machine("three nodes");
        machine.cache.llc_port_gbps = Some(1.0);
        let text = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n\
                    [[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"1MiB\"\n\
                    [[process.phase]]\nsteps = [{ access = \"r\" }]\n";
        let workload = numalab_model::workload::parse("w.toml", text).unwrap().resolve(&machine, 1, &[]).unwrap();
        let ns = [0, 1, 2].map(|place| {
            let mut rates = AccessRates::new(&machine, &workload, false, EPOCH_NS);
            assert!(!rates.gather(0, 1e5) && rates.gather(0, 7.9e6));
            rates.want_from_caches(0, &[0.0, 1.0, 0.0]);
            rates.serve(0, 0, 8e6, 1e9);
            rates.want(0, place, place, 1e6);
            rates.serve(0, 0, 1e6, 1e9).ns
        });
        assert!(ns[0] > 2e6 && ns[1] > 2e6 && ns[2] < 1.1e6, "{ns:?}");
    }

    #[test]
    fn traffic_of_a_copy_lasts_as_long_as_the_copy() {
        let machine = Shape::flat(2, 2, 1, 20).machine("two nodes");
        let text = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n\
                    [[process]]\nname = \"p\"\n[[process.phase]]\nsteps = [{ compute = \"1s\" }]\n";
        let workload = numalab_model::workload::parse("w.toml", text).unwrap().resolve(&machine, 1, &[]).unwrap();
        let mut rates = AccessRates::new(&machine, &workload, false, EPOCH_NS);
        // Two and a half epochs of 4 ms touch three.
        let at_once = When { now_ns: 0, from_ns: 0 };
        rates.copied(0, 1, 12_000_000, at_once, 2.5 * EPOCH_NS as f64);
        let gbps = (0..4).map(|_| {
            rates.end_epoch(EPOCH_NS as f64);
            rates.dram_gbps(0)
        });
        assert_eq!(gbps.collect::<Vec<_>>(), [1.0, 1.0, 1.0, 0.0]);
    }
}
