//! Which resources each flow uses, and what flows without threads come to.
//!
//! Nearly all pairs of nodes of a large machine have no thread between them. Such a flow loads nothing; only its latency
//! and limit are asked for, once the queues are found. They follow from what the queues did on the way: the same
//! additions in the same order as for a flow that is there all the time, so that a flow has the same latency to the last
//! bit whether or not it had threads before.

use super::flow::Flow;
use super::paths::{Passes, Paths, Step};
use std::ops::Range;

/// A resource on the way of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hop {
    pub resource: u32,
    pub share: f64,
    /// Queueing term of the flow per unit of the resource's queue, ns.
    pub queue_ns: f64,
}

/// Resources that each flow uses.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    /// Flow after flow, in the order of its path.
    hops: Vec<Hop>,
    /// The same hops of each flow in the order of resources: in it a sweep goes over them.
    swept: Vec<(u32, f64)>,
    starts: Vec<u32>,
    /// (src, dst, llc, write share) of the flows they were made for: flows that agree in it take the same way.
    keys: Vec<(u32, u32, u32, f64)>,
    /// A flow that takes the same way as each: itself, or one before it.
    alike: Vec<u32>,
    /// The last flow between each pair of nodes that was unlike the one before it.
    first: Vec<u32>,
}

impl Routes {
    /// None yet, with room for so many.
    pub fn new(flows: usize, hops: usize) -> Self {
        Self {
            hops: Vec::with_capacity(hops),
            swept: Vec::with_capacity(hops),
            starts: Vec::with_capacity(flows + 1),
            keys: Vec::with_capacity(flows),
            alike: Vec::with_capacity(flows),
            first: Vec::with_capacity(flows),
        }
    }

    /// Whether they are those of `flows`.
    pub fn are_of(&self, flows: &[Flow]) -> bool {
        self.keys.len() == flows.len() && self.keys.iter().zip(flows).all(|(k, f)| *k == key(f))
    }

    /// Finds the routes of `flows`.
    pub fn find(&mut self, paths: &Paths, flows: &[Flow]) {
        self.keys.clear();
        self.keys.extend(flows.iter().map(key));
        self.hops.clear();
        self.starts.clear();
        self.starts.push(0);
        self.alike.clear();
        self.first.clear();
        self.first.resize(paths.pairs(), u32::MAX);
        for (i, flow) in flows.iter().enumerate() {
            self.hops.extend(steps(paths, flow).map(|s| Hop {
                resource: s.resource,
                share: s.share,
                queue_ns: s.share * paths.resources[s.resource as usize].queue_ns,
            }));
            self.starts.push(self.hops.len() as u32);
            let first = &mut self.first[paths.pair(flow.src_node as usize, flow.dst_node as usize)];
            if *first == u32::MAX || self.keys[*first as usize] != self.keys[i] {
                *first = i as u32;
            }
            self.alike.push(*first);
        }
        self.swept.clear();
        self.swept.extend(self.hops.iter().map(|h| (h.resource, h.share)));
        for i in 0..flows.len() {
            let range = self.range(i);
            self.swept[range].sort_by_key(|s| s.0);
        }
    }

    /// Number of hops of all flows.
    pub fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Where the hops of flow `i` are in the table.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// The hops of flow `i`.
    pub fn of(&self, i: usize) -> &[Hop] {
        &self.hops[self.range(i)]
    }

    /// Smallest of the limits on the way of flow `i`, at most 1.
    pub fn limit(&self, i: usize, limits: &[f64]) -> f64 {
        self.of(i).iter().map(|hop| limits[hop.resource as usize]).fold(1.0, |a: f64, b| a.min(b))
    }
}

/// What decides which way a flow takes.
fn key(f: &Flow) -> (u32, u32, u32, f64) {
    (f.src_node, f.dst_node, f.llc, f.write)
}

/// Steps of a flow's path, its cache port included.
fn steps<'a>(paths: &'a Paths, flow: &Flow) -> impl Iterator<Item = Step> + 'a {
    let write = flow.write.clamp(0.0, 1.0);
    let port = paths.port(flow.llc).map(|r| Step { resource: r as u32, share: 1.0, passes: Passes::All });
    let path = paths.steps(flow.src_node as usize, flow.dst_node as usize).iter().copied().chain(port);
    path.map(move |s| s.of(write)).filter(|s| s.share > 0.0)
}

/// What the queues did in a solution.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    resources: usize,
    /// Queues at the beginning.
    start: Vec<f64>,
    /// By how much each of them grew, ns: sweep after sweep.
    added_ns: Vec<f64>,
    /// Idle latency, latency and limit of a way that has been followed; by its first flow.
    lines: Vec<(f64, f64, f64)>,
}

impl Trail {
    /// Room for so many flows, and sweeps over so many resources.
    pub fn new(flows: usize, resources: usize, sweeps: usize) -> Self {
        let added_ns = Vec::with_capacity(resources * sweeps);
        Self { resources, start: vec![0.0; resources], added_ns, lines: Vec::with_capacity(flows) }
    }

    /// A solution starts from these queues.
    pub fn begin(&mut self, queues: &[f64]) {
        self.start.copy_from_slice(queues);
        self.added_ns.clear();
    }

    /// Another sweep begins.
    pub fn next_sweep(&mut self) {
        self.added_ns.resize(self.added_ns.len() + self.resources, 0.0);
    }

    /// In this sweep the queue of `r` grew by `added_ns`.
    pub fn note(&mut self, r: usize, added_ns: f64) {
        let sweep = self.added_ns.len() - self.resources;
        self.added_ns[sweep + r] = added_ns;
    }

    /// The sweeps are over: so many flows may be followed.
    pub fn forget_lines(&mut self, flows: usize) {
        self.lines.clear();
        self.lines.resize(flows, (f64::NAN, 0.0, 0.0));
    }

    /// Latency of a line that took `base_ns` on the idle machine, ns, and limit at the end of the sweeps, for a request
    /// of flow `i` that meets all load.
    pub fn follow(&mut self, routes: &Routes, limits: &[f64], i: usize, base_ns: f64) -> (f64, f64) {
        let first = routes.alike[i] as usize;
        let (base, line_ns, limit) = self.lines[first];
        if base == base_ns {
            return (line_ns, limit);
        }
        let mut line_ns = base_ns;
        for hop in routes.of(i) {
            line_ns += hop.queue_ns * self.start[hop.resource as usize];
        }
        for added_ns in self.added_ns.chunks_exact(self.resources) {
            for &(r, share) in &routes.swept[routes.range(i)] {
                line_ns += share * added_ns[r as usize];
            }
        }
        let limit = routes.limit(i, limits);
        self.lines[first] = (base_ns, line_ns, limit);
        (line_ns, limit)
    }
}
