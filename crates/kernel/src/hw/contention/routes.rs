//! Which resources each flow uses, and the results of flows without threads.
//!
//! On a large machine most pairs of nodes have no thread between them. Such a flow adds no load; only its latency and
//! limit are wanted, after the queues are found. They are computed from the history of the queues with the same
//! additions in the same order as for a flow with threads. So the latency of a flow is the same to the last bit
//! whether or not it had threads before.

use super::flow::Flow;
use super::paths::{Passes, Paths, Step};
use std::ops::Range;

/// A resource on the route of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hop {
    pub resource: u32,
    /// Share of the flow's lines that load it.
    pub share: f64,
    /// Share of the flow's lines that wait in its queue.
    pub waits: f64,
    /// Queueing term of the flow per unit of the resource's queue, ns.
    pub queue_ns: f64,
}

/// Resources that each flow uses.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    /// Hops of all flows, one flow after the other, in the order of the path.
    hops: Vec<Hop>,
    /// The same hops, those of each flow in the order of resources, which is the order of a sweep.
    swept: Vec<(u32, f64)>,
    starts: Vec<u32>,
    /// (src, dst, llc, write share) of the flows. Flows with the same key have the same route.
    keys: Vec<(u32, u32, u32, f64)>,
    /// For each flow, a flow with the same route: an earlier one, or the flow itself.
    same_route: Vec<u32>,
    /// For each pair of nodes, the last flow whose key differs from that of the flow before it.
    first: Vec<u32>,
}

impl Routes {
    /// No routes, with room for so many flows and hops.
    pub fn new(flows: usize, hops: usize) -> Self {
        Self {
            hops: Vec::with_capacity(hops),
            swept: Vec::with_capacity(hops),
            starts: Vec::with_capacity(flows + 1),
            keys: Vec::with_capacity(flows),
            same_route: Vec::with_capacity(flows),
            first: Vec::with_capacity(flows),
        }
    }

    /// Whether these are the routes of `flows`.
    pub fn are_of(&self, flows: &[Flow]) -> bool {
        self.keys.len() == flows.len() && self.keys.iter().zip(flows).all(|(k, f)| *k == key(f))
    }

    /// Whether these are routes of so many flows.
    pub fn has_room_of(&self, flows: &[Flow]) -> bool {
        self.keys.len() == flows.len()
    }

    /// Forgets all routes.
    pub fn forget(&mut self) {
        self.keys.clear();
    }

    /// Finds the routes of `flows`.
    pub fn find(&mut self, paths: &Paths, flows: &[Flow]) {
        self.keys.clear();
        self.keys.extend(flows.iter().map(key));
        self.hops.clear();
        self.starts.clear();
        self.starts.push(0);
        self.same_route.clear();
        self.first.clear();
        self.first.resize(paths.pairs(), u32::MAX);
        for (i, flow) in flows.iter().enumerate() {
            self.hops.extend(steps(paths, flow).map(|s| Hop {
                resource: s.resource,
                share: s.share + s.posted,
                waits: s.share,
                queue_ns: s.share * paths.resources[s.resource as usize].queue_ns,
            }));
            self.starts.push(self.hops.len() as u32);
            let first = &mut self.first[paths.pair(flow.src_node as usize, flow.dst_node as usize)];
            if *first == u32::MAX || self.keys[*first as usize] != self.keys[i] {
                *first = i as u32;
            }
            self.same_route.push(*first);
        }
        self.swept.clear();
        self.swept.extend(self.hops.iter().map(|h| (h.resource, h.waits)));
        for i in 0..flows.len() {
            let range = self.range(i);
            self.swept[range].sort_by_key(|s| s.0);
        }
    }

    /// Number of hops of all flows.
    pub fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Indices of the hops of flow `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// The hops of flow `i`.
    pub fn of(&self, i: usize) -> &[Hop] {
        &self.hops[self.range(i)]
    }

    /// Smallest of the limits on the route of flow `i`, at most 1.
    pub fn limit(&self, i: usize, limits: &[f64]) -> f64 {
        self.of(i).iter().map(|hop| limits[hop.resource as usize]).fold(1.0, |a: f64, b| a.min(b))
    }
}

/// What determines the route of a flow.
fn key(f: &Flow) -> (u32, u32, u32, f64) {
    (f.src_node, f.dst_node, f.llc, f.write)
}

/// Steps of a flow's path, with its cache port.
fn steps<'a>(paths: &'a Paths, flow: &Flow) -> impl Iterator<Item = Step> + 'a {
    let write = flow.write.clamp(0.0, 1.0);
    let port = paths.port(flow.llc).map(|r| Step { resource: r as u32, share: 1.0, passes: Passes::All, posted: 0.0 });
    let path = paths.steps(flow.src_node as usize, flow.dst_node as usize).iter().copied().chain(port);
    path.map(move |s| s.of(write)).filter(|s| s.share > 0.0)
}

/// How the queues changed during a solution.
#[derive(Clone, Debug)]
pub(super) struct QueueHistory {
    resources: usize,
    /// Queue lengths at the start.
    start: Vec<f64>,
    /// Growth of each queue in each sweep, ns.
    added_ns: Vec<f64>,
    /// Idle latency, latency and limit of each route that has been computed, by its first flow.
    lines: Vec<(f64, f64, f64)>,
}

impl QueueHistory {
    /// Room for so many flows, and for so many sweeps over so many resources.
    pub fn new(flows: usize, resources: usize, sweeps: usize) -> Self {
        let added_ns = Vec::with_capacity(resources * sweeps);
        Self { resources, start: vec![0.0; resources], added_ns, lines: Vec::with_capacity(flows) }
    }

    /// Starts a solution with these queues.
    pub fn begin(&mut self, queues: &[f64]) {
        self.start.copy_from_slice(queues);
        self.added_ns.clear();
    }

    /// Starts another sweep.
    pub fn next_sweep(&mut self) {
        self.added_ns.resize(self.added_ns.len() + self.resources, 0.0);
    }

    /// Notes that the queue of `r` grew by `added_ns` in this sweep.
    pub fn note(&mut self, r: usize, added_ns: f64) {
        let sweep = self.added_ns.len() - self.resources;
        self.added_ns[sweep + r] = added_ns;
    }

    /// Ends the sweeps and makes room for the routes of so many flows.
    pub fn forget_routes(&mut self, flows: usize) {
        self.lines.clear();
        self.lines.resize(flows, (f64::NAN, 0.0, 0.0));
    }

    /// As [`Self::replay`]; what is the same for flows of one route is computed once.
    pub fn replay_once(&mut self, routes: &Routes, limits: &[f64], i: usize, base_ns: f64) -> (f64, f64) {
        let first = routes.same_route[i] as usize;
        let (base, line_ns, limit) = self.lines[first];
        if base == base_ns {
            return (line_ns, limit);
        }
        let (line_ns, limit) = self.replay(routes, limits, i, base_ns);
        self.lines[first] = (base_ns, line_ns, limit);
        (line_ns, limit)
    }

    /// Latency (ns) and limit at the end of the sweeps for a request of flow `i` that meets all load; `base_ns` is its
    /// latency on the idle machine.
    pub fn replay(&self, routes: &Routes, limits: &[f64], i: usize, base_ns: f64) -> (f64, f64) {
        let mut line_ns = base_ns;
        for hop in routes.of(i) {
            line_ns += hop.queue_ns * self.start[hop.resource as usize];
        }
        for added_ns in self.added_ns.chunks_exact(self.resources) {
            for &(r, share) in &routes.swept[routes.range(i)] {
                line_ns += share * added_ns[r as usize];
            }
        }
        (line_ns, routes.limit(i, limits))
    }
}
