//! Finding the fixed point: resource after resource, each solved exactly with the others held.
//!
//! The unknowns are one queue length `y = u/(1-u)` and one saturation limit per resource. Holding all
//! others, the load a resource is asked for falls as its own `y` grows, so its equation has one root,
//! found by Newton steps kept inside a bracket. Without saturation the whole system is the optimum of a
//! convex problem, for which such a descent converges; with it, the limits are those of weighted
//! max-min sharing, which the same sweeps reach bottleneck by bottleneck. Starting from the last
//! solution, a few sweeps do.

use super::paths::{Passes, Paths, Step};
use super::{
    Flow, PageCopy, Rate, BACKGROUND_CAP, DRAM_Q, LINE_BYTES, QUEUE_CAP, RANDOM_FACTOR, UTILISATION_CAP, WRITE_PENALTY,
};

/// Relative change of latencies and limits at which a solution counts as found.
const TOLERANCE: f64 = 1e-5;
/// Newton step that is taken without looking at where it led: what is left is about its square, and the
/// next sweep sees it.
const STEP_TOLERANCE: f64 = 1e-3;
/// Over this last part of what a resource can deliver, its limit comes down from 1 to what its flows
/// get. Nobody who loads it is cut before it is full; this decides what a thread that is not there yet
/// would get, and makes two equal links in a row both count as saturated, whichever is looked at first.
const NEARLY_FULL: f64 = 1e-3;
/// Queue length from which a resource may be nearly full.
const NEARLY_FULL_QUEUE: f64 = 0.95 * QUEUE_CAP;
/// Sweeps after which the best so far is taken; property tests stay far below.
const MAX_SWEEPS: u32 = 200;
/// Newton and bisection steps for one resource; bisection alone would need 28.
const MAX_STEPS: u32 = 60;

/// A flow as the solver needs it: one cache line.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Bytes in flight of one thread.
    inflight: f64,
    /// Time per line with the present queues, `extra_ns` included, ns.
    line_ns: f64,
    /// Own cap and the limits of saturated resources, GB/s.
    limit_gbps: f64,
    /// `inflight` over the idle time per line: its claim on a saturated resource, and the most it could ever use.
    claim_gbps: f64,
    cap_gbps: f64,
    /// Part of the flow's load that its requests do not meet: that of their own thread if it is a chain.
    unmet: f64,
    /// Threads times the weight of a byte in DRAM, and on a link.
    dram_load: f64,
    link_load: f64,
}

impl State {
    /// Load of the flow on a resource per GB/s of one of its threads.
    fn load(&self, dram: bool) -> f64 {
        if dram {
            self.dram_load
        } else {
            self.link_load
        }
    }

    /// What one thread does not meet of its own traffic, GB/s per thread of the flow.
    fn unmet_gbps(&self) -> f64 {
        self.unmet * self.limit_gbps.min(self.inflight / self.line_ns)
    }
}

/// Queue length that a request meets where the whole load makes `y`, `u/(1-u)` with `unmet` less of the utilisation; and
/// the derivative by `y`.
fn met(y: f64, unmet: f64) -> (f64, f64) {
    if unmet == 0.0 {
        return (y, 1.0);
    }
    // 1/(1 + met) = 1 - (u - unmet) and 1/(1 + y) = 1 - u.
    let more = 1.0 + unmet * (1.0 + y);
    let met = (1.0 + y) / more - 1.0;
    if met > 0.0 {
        (met, 1.0 / (more * more))
    } else {
        (0.0, 0.0)
    }
}

/// What flows ask of one resource.
struct Asked {
    /// Weighted load.
    load: f64,
    /// Load if everyone got all of its claim.
    claims: f64,
    /// Largest part of its claim a flow asks for.
    largest_part: f64,
}

/// A flow's use of one resource.
#[derive(Clone, Copy, Debug)]
struct Use {
    flow: u32,
    share: f64,
    /// Utilisation that the flow's own requests do not meet.
    unmet: f64,
}

/// A resource on the way of a flow.
#[derive(Clone, Copy, Debug)]
struct Hop {
    resource: u32,
    share: f64,
    /// Where its use is in the table of uses.
    at: u32,
}

/// Use of a resource by a flow that has threads.
#[derive(Clone, Copy, Debug)]
struct Active {
    flow: u32,
    share: f64,
    unmet: f64,
    /// Where its use is in the table of all.
    at: u32,
    /// Load on the resource per GB/s of one of the flow's threads.
    weight: f64,
}

/// Working memory and the last solution.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    /// Queue length of each resource, 0..=[`QUEUE_CAP`].
    queue: Vec<f64>,
    /// Saturation limit of each resource: part of its claim a flow gets; 1 where not saturated.
    limit: Vec<f64>,
    /// Load by copies: what is counted against the resource.
    background: Vec<f64>,
    /// Weighted load of the solution, copies included.
    load: Vec<f64>,
    /// Unweighted traffic of the solution, GB/s.
    pub traffic: Vec<f64>,
    states: Vec<State>,
    /// Whether some flow does not meet all of its load.
    chains: bool,
    /// Uses of all resources, resource after resource.
    uses: Vec<Use>,
    starts: Vec<u32>,
    /// The uses with load, in the same order: most pairs of nodes of a large machine have none.
    active: Vec<Active>,
    active_starts: Vec<u32>,
    cursor: Vec<u32>,
    /// Resources that each flow uses, flow after flow, in the order of its path.
    routes: Vec<Hop>,
    route_starts: Vec<u32>,
    /// (src, dst, llc, write share) of the flows `uses` and `routes` were made for.
    indexed: Vec<(u32, u32, u32, f64)>,
    /// Demand by use of the resource being shared out.
    demand: Vec<f64>,
    pub rates: Vec<Rate>,
    pub sweeps: u32,
}

impl Solver {
    /// Idle, with room for a sequential and a random flow between every pair of nodes.
    pub fn new(paths: &Paths) -> Self {
        let resources = paths.resources.len();
        let flows = 2 * paths.pairs();
        let uses = 2 * paths.all_steps();
        Self {
            queue: vec![0.0; resources],
            limit: vec![1.0; resources],
            background: vec![0.0; resources],
            load: vec![0.0; resources],
            traffic: vec![0.0; resources],
            states: Vec::with_capacity(flows),
            chains: false,
            uses: Vec::with_capacity(uses),
            starts: vec![0; resources + 1],
            active: Vec::with_capacity(uses),
            active_starts: vec![0; resources + 1],
            cursor: vec![0; resources],
            routes: Vec::with_capacity(uses),
            route_starts: Vec::with_capacity(flows + 1),
            indexed: Vec::with_capacity(flows),
            demand: Vec::with_capacity(flows),
            rates: Vec::with_capacity(flows),
            sweeps: 0,
        }
    }

    /// Finds the rates at which every resource's load and queue agree, starting from those of the last call (machines.md section 6).
    pub fn solve(&mut self, paths: &Paths, flows: &[Flow], copies: &[PageCopy]) {
        self.set_background(paths, copies);
        if !self.is_indexed(flows) {
            self.index(paths, flows);
        }
        self.set_states(paths, flows);
        self.set_active(paths);
        self.sweeps = 0;
        while self.sweeps < MAX_SWEEPS {
            self.sweeps += 1;
            let mut change: f64 = 0.0;
            for r in 0..paths.resources.len() {
                change = change.max(self.relax(paths, r));
            }
            if change <= TOLERANCE {
                break;
            }
        }
        self.finish(paths, flows);
    }

    /// Load of a resource over its bandwidth, 0 to `UTILISATION_CAP`.
    pub fn utilisation(&self, paths: &Paths, r: usize) -> f64 {
        self.load[r] / paths.resources[r].gbps
    }

    /// Latency from `src` to `dst` with the queues of the last solution, ns.
    pub fn pair_latency_ns(&self, paths: &Paths, src: usize, dst: usize) -> f64 {
        let idle_ns = paths.idle_ns(src, dst);
        let mut queued_ns = idle_ns;
        let mut limit: f64 = 1.0;
        for step in paths.steps(src, dst).iter().map(|s| s.of(0.0)).filter(|s| s.share > 0.0) {
            let r = step.resource as usize;
            queued_ns += step.share * paths.resources[r].queue_ns * self.queue[r];
            limit = limit.min(self.limit[r]);
        }
        queued_ns.max(idle_ns / limit)
    }

    fn set_background(&mut self, paths: &Paths, copies: &[PageCopy]) {
        self.background.fill(0.0);
        self.traffic.fill(0.0);
        for copy in copies {
            let (from, to) = (copy.from_node as usize, copy.to_node as usize);
            let (cpu, memory) = if paths.has_cpus[to] { (to, from) } else { (from, to) };
            let gbps = copy.gbps.max(0.0);
            self.add_background(paths.dram(from), gbps, byte_weight(0.0));
            self.add_background(paths.dram(to), gbps, byte_weight(1.0));
            // The page crosses the links as lines read, unless its CPU is where it comes from.
            let write = f64::from(u8::from(memory == to));
            for step in paths.steps(cpu, memory)[1..].iter().map(|s| s.of(write)) {
                self.add_background(step.resource as usize, gbps * step.share, 1.0);
            }
        }
        for (load, resource) in self.background.iter_mut().zip(&paths.resources) {
            *load = load.min(BACKGROUND_CAP * UTILISATION_CAP * resource.gbps);
        }
    }

    fn add_background(&mut self, r: usize, gbps: f64, weight: f64) {
        self.background[r] += gbps * weight;
        self.traffic[r] += gbps;
    }

    fn is_indexed(&self, flows: &[Flow]) -> bool {
        self.indexed.len() == flows.len()
            && self.indexed.iter().zip(flows).all(|(key, f)| *key == (f.src_node, f.dst_node, f.llc, f.write))
    }

    /// Sorts the flows' uses by resource (counting sort).
    fn index(&mut self, paths: &Paths, flows: &[Flow]) {
        self.indexed.clear();
        self.indexed.extend(flows.iter().map(|f| (f.src_node, f.dst_node, f.llc, f.write)));
        self.cursor.fill(0);
        self.routes.clear();
        self.route_starts.clear();
        for flow in flows {
            self.route_starts.push(self.routes.len() as u32);
            for step in steps(paths, flow) {
                self.cursor[step.resource as usize] += 1;
                self.routes.push(Hop { resource: step.resource, share: step.share, at: 0 });
            }
        }
        self.route_starts.push(self.routes.len() as u32);
        let mut total = 0;
        for (start, count) in self.starts.iter_mut().zip(self.cursor.iter_mut()) {
            *start = total;
            total += *count;
            *count = *start;
        }
        self.starts[paths.resources.len()] = total;
        self.uses.clear();
        self.uses.resize(total as usize, Use { flow: 0, share: 0.0, unmet: 0.0 });
        for i in 0..flows.len() {
            for hop in &mut self.routes[self.route_starts[i] as usize..self.route_starts[i + 1] as usize] {
                let at = &mut self.cursor[hop.resource as usize];
                self.uses[*at as usize] = Use { flow: i as u32, share: hop.share, unmet: 0.0 };
                hop.at = *at;
                *at += 1;
            }
        }
    }

    fn set_states(&mut self, paths: &Paths, flows: &[Flow]) {
        self.states.clear();
        self.chains = false;
        for (i, flow) in flows.iter().enumerate() {
            let inflight = flow.lines * LINE_BYTES;
            let base_ns = paths.idle_ns(flow.src_node as usize, flow.dst_node as usize) + flow.extra_ns;
            let claim_gbps = inflight / base_ns;
            let mut line_ns = base_ns;
            let mut limit: f64 = 1.0;
            let link_load = flow.threads.max(0.0);
            for hop in route(&self.routes, &self.route_starts, i) {
                let r = hop.resource as usize;
                let unmet = &mut self.uses[hop.at as usize].unmet;
                if link_load == 0.0 {
                    *unmet = 0.0;
                }
                line_ns += hop.share * paths.resources[r].queue_ns * met(self.queue[r], *unmet).0;
                limit = limit.min(self.limit[r]);
            }
            let dram_load = link_load * byte_weight(flow.write) / if flow.random { RANDOM_FACTOR } else { 1.0 };
            let cap_gbps = flow.cap_gbps;
            let limit_gbps = cap_gbps.min(limit * claim_gbps);
            let unmet = (2.0 - flow.lines).clamp(0.0, 1.0) / flow.crowd.max(link_load).max(1.0);
            self.chains |= unmet > 0.0 && link_load > 0.0;
            self.states.push(State {
                inflight,
                line_ns,
                limit_gbps,
                claim_gbps,
                cap_gbps,
                unmet,
                dram_load,
                link_load,
            });
        }
    }

    /// Picks out the uses with load.
    fn set_active(&mut self, paths: &Paths) {
        self.active.clear();
        for (r, resource) in paths.resources.iter().enumerate() {
            self.active_starts[r] = self.active.len() as u32;
            for at in self.starts[r]..self.starts[r + 1] {
                let u = &self.uses[at as usize];
                let weight = u.share * self.states[u.flow as usize].load(resource.dram);
                if weight != 0.0 {
                    self.active.push(Active { flow: u.flow, share: u.share, unmet: u.unmet, at, weight });
                }
            }
        }
        self.active_starts[paths.resources.len()] = self.active.len() as u32;
    }

    fn uses_of(&self, r: usize) -> std::ops::Range<usize> {
        self.starts[r] as usize..self.starts[r + 1] as usize
    }

    /// Solves resource `r` with all others held; returns the relative change of its unknowns.
    fn relax(&mut self, paths: &Paths, r: usize) -> f64 {
        let resource = &paths.resources[r];
        if resource.gbps == f64::INFINITY {
            return 0.0;
        }
        let (old_queue, old_limit) = (self.queue[r], self.limit[r]);
        let own_change = if self.chains { self.leave_out_own(paths, r) } else { 0.0 };
        if old_limit < 1.0 {
            self.lift_limit(r);
        }
        let queue = self.find_queue(paths, r);
        self.set_queue(paths, r, queue);
        if queue >= NEARLY_FULL_QUEUE {
            self.share_out(paths, r, old_limit);
        }
        // As part of the latency a request meets; queues that cost nothing need no further sweep.
        let queue_change =
            if resource.queue_ns > 0.0 { DRAM_Q * (queue - old_queue).abs() / (1.0 + DRAM_Q * queue) } else { 0.0 };
        queue_change.max(own_change).max((self.limit[r] - old_limit).abs() / self.limit[r])
    }

    /// Notes what the flows do not meet of their own load on `r` at their present rates; returns the largest relative
    /// change of a latency.
    fn leave_out_own(&mut self, paths: &Paths, r: usize) -> f64 {
        let resource = &paths.resources[r];
        if resource.queue_ns == 0.0 {
            return 0.0;
        }
        let per_gbps = 1.0 / (resource.knee * resource.gbps);
        let y = self.queue[r];
        let mut change: f64 = 0.0;
        for u in &mut self.active[self.active_starts[r] as usize..self.active_starts[r + 1] as usize] {
            let state = &mut self.states[u.flow as usize];
            let unmet = u.weight * state.unmet_gbps() * per_gbps;
            if unmet == u.unmet {
                continue;
            }
            let added_ns = u.share * resource.queue_ns * (met(y, unmet).0 - met(y, u.unmet).0);
            state.line_ns += added_ns;
            change = change.max(added_ns.abs() / state.line_ns);
            u.unmet = unmet;
            self.uses[u.at as usize].unmet = unmet;
        }
        change
    }

    /// Takes the limit of `r` away from its flows, leaving those of the other resources.
    fn lift_limit(&mut self, r: usize) {
        let own = self.limit[r];
        self.limit[r] = 1.0;
        for u in &self.uses[self.uses_of(r)] {
            let state = &mut self.states[u.flow as usize];
            if state.limit_gbps < own * state.claim_gbps {
                // Something else holds this flow back.
                continue;
            }
            let limit = route(&self.routes, &self.route_starts, u.flow as usize)
                .iter()
                .map(|hop| self.limit[hop.resource as usize])
                .fold(1.0, |a: f64, b| a.min(b));
            state.limit_gbps = state.cap_gbps.min(limit * state.claim_gbps);
        }
    }

    /// Queue length at which what `r` is asked for equals what that queue stands for; the cap if it is
    /// asked for more even then.
    fn find_queue(&self, paths: &Paths, r: usize) -> f64 {
        let resource = &paths.resources[r];
        let reach = resource.knee * resource.gbps;
        let background = self.background[r];
        let (mut low, mut high) = (0.0, QUEUE_CAP);
        let mut cap_tried = false;
        let mut y = self.queue[r];
        for _ in 0..MAX_STEPS {
            let (asked, slope) = self.asked(paths, r, y);
            let excess = asked + background - reach * y / (1.0 + y);
            if excess > 0.0 {
                low = y;
            } else {
                high = y;
            }
            if y >= QUEUE_CAP {
                if excess >= 0.0 {
                    return QUEUE_CAP;
                }
                cap_tried = true;
            }
            let step = excess / (slope - reach / ((1.0 + y) * (1.0 + y)));
            let next = y - step;
            if step.abs() <= STEP_TOLERANCE * (1.0 + y) {
                return next.clamp(0.0, QUEUE_CAP);
            }
            y = if next > low && next < high {
                next
            } else if next >= QUEUE_CAP && !cap_tried {
                QUEUE_CAP
            } else {
                0.5 * (low + high)
            };
        }
        y
    }

    /// Load threads put on `r` if its queue were `y`, and the derivative by `y`.
    fn asked(&self, paths: &Paths, r: usize, y: f64) -> (f64, f64) {
        let resource = &paths.resources[r];
        let (mut load, mut slope) = (0.0, 0.0);
        for u in &self.active[self.active_starts[r] as usize..self.active_starts[r + 1] as usize] {
            let (state, weight) = (&self.states[u.flow as usize], u.weight);
            let (queue, by_y) = met(y, u.unmet);
            let added_ns = resource.queue_ns * (queue - met(self.queue[r], u.unmet).0);
            let line_ns = state.line_ns + u.share * added_ns;
            let per_ns = 1.0 / line_ns;
            let gbps = state.inflight * per_ns;
            if gbps >= state.limit_gbps {
                load += weight * state.limit_gbps;
            } else {
                load += weight * gbps;
                slope -= weight * gbps * u.share * resource.queue_ns * by_y * per_ns;
            }
        }
        (load, slope)
    }

    fn set_queue(&mut self, paths: &Paths, r: usize, queue: f64) {
        let queue_ns = paths.resources[r].queue_ns;
        let was = std::mem::replace(&mut self.queue[r], queue);
        if queue_ns == 0.0 || queue == was {
            return;
        }
        let range = self.uses_of(r);
        for u in &self.uses[range] {
            let added_ns = queue_ns * (met(queue, u.unmet).0 - met(was, u.unmet).0);
            self.states[u.flow as usize].line_ns += u.share * added_ns;
        }
    }

    /// Sets the limit of a resource with a long queue: if it is asked for more than it can deliver, the
    /// part of their claims that uses it up. `guess` is its last limit.
    fn share_out(&mut self, paths: &Paths, r: usize, guess: f64) {
        let can_deliver = UTILISATION_CAP * paths.resources[r].gbps - self.background[r];
        let asked = self.demands(paths, r);
        let room = (can_deliver - asked.load) / (NEARLY_FULL * can_deliver);
        if room >= 1.0 || asked.claims <= 0.0 {
            return;
        }
        if room > 0.0 {
            self.limit[r] = asked.largest_part + (1.0 - asked.largest_part) * room;
        } else {
            // From just below the largest part somebody is cut, so there is a piece to step along.
            let from = guess.min(asked.largest_part * (1.0 - 1e-9));
            self.limit[r] = self.common_part(paths, r, can_deliver, from).min(asked.largest_part);
        }
        let range = self.uses_of(r);
        for u in &self.uses[range] {
            let state = &mut self.states[u.flow as usize];
            state.limit_gbps = state.limit_gbps.min(self.limit[r] * state.claim_gbps);
        }
    }

    /// What the flows ask of `r` with the present queues and the limits of others, into `demand`.
    fn demands(&mut self, paths: &Paths, r: usize) -> Asked {
        let mut asked = Asked { load: 0.0, claims: 0.0, largest_part: 0.0 };
        self.demand.clear();
        for u in &self.uses[self.uses_of(r)] {
            let state = &self.states[u.flow as usize];
            let weight = u.share * state.load(paths.resources[r].dram);
            let demand = state.limit_gbps.min(state.inflight / state.line_ns);
            self.demand.push(demand);
            asked.load += weight * demand;
            asked.claims += weight * state.claim_gbps;
            if weight > 0.0 {
                asked.largest_part = asked.largest_part.max(demand / state.claim_gbps);
            }
        }
        asked
    }

    /// The part of its claim each flow gets, or less if it asks for less, so that `r` delivers
    /// `can_deliver`. The load is concave in the part and straight between the flows' own parts: a step
    /// along the present piece from anywhere lands at or below the answer, further ones climb to it.
    fn common_part(&self, paths: &Paths, r: usize, can_deliver: f64, from: f64) -> f64 {
        let mut part = from;
        for step in 0..MAX_STEPS {
            let (mut satisfied, mut limited) = (0.0, 0.0);
            for (u, demand) in self.uses[self.uses_of(r)].iter().zip(&self.demand) {
                let state = &self.states[u.flow as usize];
                let weight = u.share * state.load(paths.resources[r].dram);
                if weight == 0.0 {
                    continue;
                }
                if *demand <= part * state.claim_gbps {
                    satisfied += weight * demand;
                } else {
                    limited += weight * state.claim_gbps;
                }
            }
            if limited <= 0.0 {
                break;
            }
            let next = (can_deliver - satisfied) / limited;
            if step > 0 && next <= part * (1.0 + 1e-12) {
                break;
            }
            part = next;
        }
        part
    }

    /// Rates, latencies, loads and traffic of the solution.
    fn finish(&mut self, paths: &Paths, flows: &[Flow]) {
        self.load.copy_from_slice(&self.background);
        self.rates.clear();
        for (i, (flow, state)) in flows.iter().zip(&self.states).enumerate() {
            let demand = state.cap_gbps.min(state.inflight / state.line_ns);
            let gbps = demand.min(state.limit_gbps);
            // A limited flow waits longer in proportion to what it does not get.
            let latency_ns = state.line_ns * (demand / gbps) - flow.extra_ns;
            self.rates.push(Rate { latency_ns, gbps });
            for hop in route(&self.routes, &self.route_starts, i) {
                let r = hop.resource as usize;
                self.load[r] += hop.share * state.load(paths.resources[r].dram) * gbps;
                self.traffic[r] += hop.share * flow.threads.max(0.0) * gbps;
            }
        }
    }
}

/// The hops of flow `i`.
fn route<'a>(routes: &'a [Hop], starts: &[u32], i: usize) -> &'a [Hop] {
    &routes[starts[i] as usize..starts[i + 1] as usize]
}

/// Steps of a flow's path, its cache port included.
fn steps<'a>(paths: &'a Paths, flow: &Flow) -> impl Iterator<Item = Step> + 'a {
    let write = flow.write.clamp(0.0, 1.0);
    let port = paths.port(flow.llc).map(|r| Step { resource: r as u32, share: 1.0, passes: Passes::All });
    let path = paths.steps(flow.src_node as usize, flow.dst_node as usize).iter().copied().chain(port);
    path.map(move |s| s.of(write)).filter(|s| s.share > 0.0)
}

/// Load of one byte of traffic with write share `write`, relative to a byte read.
fn byte_weight(write: f64) -> f64 {
    1.0 / (1.0 - WRITE_PENALTY * write.clamp(0.0, 1.0))
}
