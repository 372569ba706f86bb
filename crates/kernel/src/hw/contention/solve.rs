//! The fixed point of queues and rates: each resource in turn is solved exactly while the others are held.
//!
//! The unknowns are one queue length `y = u/(1-u)` and one saturation limit per resource. With all others held, the
//! demand on a resource falls as its own `y` grows. So its equation has one root, which Newton steps inside a bracket
//! find. Without saturation the system is the optimum of a convex problem, for which this descent converges. With
//! saturation the limits are those of weighted max-min sharing, which the same sweeps reach bottleneck by bottleneck.
//! From the last solution a few sweeps suffice.

use super::flow::{Flow, PageCopy, Rate};
use super::flow_state::{idle_rate, link_load, queue_met, rate, State};
use super::parameters::{byte_weight, BACKGROUND_CAP, DRAM_Q, LINE_BYTES, QUEUE_CAP, UTILISATION_CAP};
use super::paths::Paths;
use super::routes::{QueueHistory, Routes};

/// Relative change of latencies and limits below which a solution is accepted.
const TOLERANCE: f64 = 1e-5;
/// Newton step that is accepted without evaluating its result. The remaining error is about its square, and the next
/// sweep corrects it.
const STEP_TOLERANCE: f64 = 1e-3;
/// Last part of what a resource can deliver over which its limit falls from 1 to what its flows get. A flow that loads
/// the resource is not cut before it is full. The range decides what a further thread would get, and it makes two
/// equal links in series both count as saturated, in whichever order they are solved.
const NEARLY_FULL: f64 = 1e-3;
/// Queue length from which a resource may be nearly full.
const NEARLY_FULL_QUEUE: f64 = 0.95 * QUEUE_CAP;
/// Largest number of sweeps; then the best solution so far is taken. Property tests stay far below it.
const MAX_SWEEPS: u32 = 200;
/// Largest number of Newton and bisection steps for one resource; bisection alone would need 28.
const MAX_STEPS: u32 = 60;

/// Demand of the flows on one resource.
struct Asked {
    /// Weighted load.
    load: f64,
    /// Weighted load if every flow got its whole claim.
    claims: f64,
    /// Largest part of its claim that a flow demands.
    largest_part: f64,
}

/// Use of a resource by a flow with threads.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    /// Index in [`Solver::states`].
    state: u32,
    /// Index of the hop in the table of routes.
    at: u32,
    share: f64,
    /// Utilisation that the flow's own requests do not meet.
    unmet: f64,
    /// Load on the resource per GB/s of one of the flow's threads.
    weight: f64,
}

/// Working memory and the last solution.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    /// Queue length of each resource, 0..=[`QUEUE_CAP`].
    queue: Vec<f64>,
    /// Saturation limit of each resource: the part of its claim that a flow gets; 1 if it is not saturated.
    limit: Vec<f64>,
    /// Load of each resource by copies, limited to the part that counts.
    background: Vec<f64>,
    /// Weighted load of each resource in the solution, with copies.
    load: Vec<f64>,
    /// Unweighted traffic of each resource in the solution, GB/s.
    pub traffic: Vec<f64>,
    /// Indices of the flows with threads. On a large machine most pairs of nodes have none.
    busy: Vec<u32>,
    /// States of these flows, in the same order.
    states: Vec<State>,
    /// Whether some flow does not meet all of its load, now and at any time before.
    chains: bool,
    any_chains: bool,
    /// Uses of all resources by these flows, one resource after the other.
    active: Vec<Active>,
    active_starts: Vec<u32>,
    cursor: Vec<u32>,
    routes: Routes,
    /// Utilisation that a flow's own requests do not meet, by hop.
    unmet: Vec<f64>,
    /// How the queues changed in this solution.
    history: QueueHistory,
    /// Whether this solution changed anything that the next one starts from.
    moved: bool,
    /// Demand of each use of the resource that is being shared out.
    demand: Vec<f64>,
    /// Rates of the last solution; [`Rate::default`] where they have not been asked for.
    pub rates: Vec<Rate>,
    /// Flows whose rates are known.
    rated: Vec<u32>,
    /// Scratch: numbers of flows.
    loaded: Vec<u32>,
    pub sweeps: u32,
}

impl Solver {
    /// All resources idle, with room for a sequential and a random flow between every pair of nodes.
    pub fn new(paths: &Paths) -> Self {
        let resources = paths.resources.len();
        let flows = 2 * paths.pairs();
        let hops = 2 * paths.all_steps();
        Self {
            queue: vec![0.0; resources],
            limit: vec![1.0; resources],
            background: vec![0.0; resources],
            load: vec![0.0; resources],
            traffic: vec![0.0; resources],
            busy: Vec::with_capacity(flows),
            states: Vec::with_capacity(flows),
            chains: false,
            any_chains: false,
            active: Vec::with_capacity(hops),
            active_starts: vec![0; resources + 1],
            cursor: vec![0; resources],
            routes: Routes::new(flows, hops),
            unmet: Vec::with_capacity(hops),
            history: QueueHistory::new(flows, resources, MAX_SWEEPS as usize),
            moved: true,
            demand: Vec::with_capacity(flows),
            rates: Vec::with_capacity(flows),
            rated: Vec::with_capacity(flows),
            loaded: Vec::with_capacity(flows),
            sweeps: 0,
        }
    }

    /// Finds the rates at which the load and queue of every resource agree, starting from the last solution
    /// (machines.md section 6).
    pub fn solve(&mut self, paths: &Paths, flows: &[Flow], copies: &[PageCopy]) {
        let mut busy = std::mem::take(&mut self.loaded);
        busy.clear();
        busy.extend(0..flows.len() as u32);
        if !self.routes.are_of(flows) {
            self.routes.forget();
        }
        self.solve_busy(paths, flows, &busy, copies);
        self.loaded = busy;
        self.finish_idle(paths, flows);
    }

    /// As [`Self::solve`], for flows of which all but `busy`, in ascending order, have no threads. Finds the rates of
    /// flows with threads only. Their ends are those of the solution before.
    pub fn solve_busy(&mut self, paths: &Paths, flows: &[Flow], busy: &[u32], copies: &[PageCopy]) {
        self.set_background(paths, copies);
        if !self.routes.has_room_of(flows) {
            self.routes.find(paths, flows);
            self.unmet.clear();
            self.unmet.resize(self.routes.hops(), 0.0);
        }
        self.set_states(paths, flows, busy);
        self.set_active(paths);
        self.sweeps = 0;
        self.moved = false;
        self.history.begin(&self.queue);
        while self.sweeps < MAX_SWEEPS {
            self.sweeps += 1;
            self.history.next_sweep();
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

    /// Whether the last solution equals its start, so that the same flows and copies give it again to the last bit.
    pub fn is_settled(&self) -> bool {
        !self.moved
    }

    /// Load of a resource over its bandwidth, 0 to [`UTILISATION_CAP`].
    pub fn utilisation(&self, paths: &Paths, r: usize) -> f64 {
        self.load[r] / paths.resources[r].gbps
    }

    /// Resources that flow number `i` crosses, each with the share of its bytes.
    #[inline]
    pub fn crossings(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.routes.of(i).iter().map(|hop| (hop.resource as usize, hop.share))
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
            let gbps = copy.gbps.max(0.0);
            each_crossing(paths, copy, |r, share, weight| self.add_background(r, gbps * share, weight));
        }
        for (load, resource) in self.background.iter_mut().zip(&paths.resources) {
            *load = load.min(BACKGROUND_CAP * UTILISATION_CAP * resource.gbps);
        }
    }

    fn add_background(&mut self, r: usize, gbps: f64, weight: f64) {
        self.background[r] += gbps * weight;
        self.traffic[r] += gbps;
    }

    /// Selects the flows with threads and sets their states at the start.
    fn set_states(&mut self, paths: &Paths, flows: &[Flow], busy: &[u32]) {
        if self.any_chains {
            self.forget_unmet(flows);
        }
        self.busy.clear();
        self.states.clear();
        self.chains = false;
        for &i in busy {
            let (i, flow) = (i as usize, &flows[i as usize]);
            let threads = flow.threads.max(0.0);
            let link_load = link_load(flow);
            if link_load == 0.0 {
                continue;
            }
            let inflight = flow.lines * LINE_BYTES;
            let base_ns = paths.idle_ns(flow.src_node as usize, flow.dst_node as usize) + flow.extra_ns;
            let claim_gbps = inflight / base_ns;
            let mut line_ns = base_ns;
            let mut limit: f64 = 1.0;
            for (hop, unmet) in self.routes.of(i).iter().zip(&self.unmet[self.routes.range(i)]) {
                let r = hop.resource as usize;
                line_ns += hop.queue_ns * queue_met(self.queue[r], *unmet).0;
                limit = limit.min(self.limit[r]);
            }
            let random_share = paths.resources[paths.dram(flow.dst_node as usize)].random_share;
            let dram_load = link_load * byte_weight(flow.write) / if flow.random { random_share } else { 1.0 };
            let cap_gbps = flow.cap_gbps;
            let limit_gbps = cap_gbps.min(limit * claim_gbps);
            let unmet = (2.0 - flow.lines).clamp(0.0, 1.0) / flow.kind_threads.max(threads).max(1.0);
            self.chains |= unmet > 0.0;
            self.busy.push(i as u32);
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
        self.any_chains |= self.chains;
    }

    /// A flow that has no threads starts anew when it has some again.
    fn forget_unmet(&mut self, flows: &[Flow]) {
        for &i in &self.busy {
            if flows.get(i as usize).is_some_and(|f| link_load(f) == 0.0) {
                self.unmet[self.routes.range(i as usize)].fill(0.0);
            }
        }
    }

    /// Sorts the uses of flows with threads by resource (counting sort).
    fn set_active(&mut self, paths: &Paths) {
        self.cursor.fill(0);
        for &flow in &self.busy {
            for hop in self.routes.of(flow as usize) {
                self.cursor[hop.resource as usize] += 1;
            }
        }
        let mut total = 0;
        for (start, count) in self.active_starts.iter_mut().zip(self.cursor.iter_mut()) {
            *start = total;
            total += *count;
            *count = *start;
        }
        self.active_starts[paths.resources.len()] = total;
        self.active.resize(total as usize, Active::default());
        for (state, &flow) in self.busy.iter().enumerate() {
            let range = self.routes.range(flow as usize);
            for (hop, at) in self.routes.of(flow as usize).iter().zip(range) {
                let place = &mut self.cursor[hop.resource as usize];
                let weight = hop.share * self.states[state].load(paths.resources[hop.resource as usize].dram);
                let (share, unmet) = (hop.waits, self.unmet[at]);
                self.active[*place as usize] = Active { state: state as u32, at: at as u32, share, unmet, weight };
                *place += 1;
            }
        }
    }

    fn active_of(&self, r: usize) -> std::ops::Range<usize> {
        self.active_starts[r] as usize..self.active_starts[r + 1] as usize
    }

    /// Solves resource `r` with all others held; returns the relative change of its unknowns.
    fn relax(&mut self, paths: &Paths, r: usize) -> f64 {
        let resource = &paths.resources[r];
        if resource.gbps == f64::INFINITY {
            return 0.0;
        }
        let (old_queue, old_limit) = (self.queue[r], self.limit[r]);
        let own_change = if self.chains { self.update_unmet(paths, r) } else { 0.0 };
        if old_limit < 1.0 {
            self.lift_limit(r);
        }
        let queue = self.find_queue(paths, r);
        self.set_queue(paths, r, queue);
        if queue >= NEARLY_FULL_QUEUE {
            self.share_out(paths, r, old_limit);
        }
        self.moved |= queue != old_queue || self.limit[r] != old_limit;
        // The change as part of the latency of a request. Queues without a cost need no further sweep.
        let queue_change =
            if resource.queue_ns > 0.0 { DRAM_Q * (queue - old_queue).abs() / (1.0 + DRAM_Q * queue) } else { 0.0 };
        queue_change.max(own_change).max((self.limit[r] - old_limit).abs() / self.limit[r])
    }

    /// Updates the own load on `r` that flows do not meet, at their present rates. Returns the largest relative change
    /// of a latency.
    fn update_unmet(&mut self, paths: &Paths, r: usize) -> f64 {
        let resource = &paths.resources[r];
        if resource.queue_ns == 0.0 {
            return 0.0;
        }
        let per_gbps = 1.0 / (resource.knee * resource.gbps);
        let y = self.queue[r];
        let mut change: f64 = 0.0;
        for u in &mut self.active[self.active_starts[r] as usize..self.active_starts[r + 1] as usize] {
            let state = &mut self.states[u.state as usize];
            let unmet = u.weight * state.unmet_gbps() * per_gbps;
            if unmet == u.unmet || u.weight == 0.0 {
                continue;
            }
            let added_ns = u.share * resource.queue_ns * (queue_met(y, unmet).0 - queue_met(y, u.unmet).0);
            state.line_ns += added_ns;
            change = change.max(added_ns.abs() / state.line_ns);
            u.unmet = unmet;
            self.unmet[u.at as usize] = unmet;
            self.moved = true;
        }
        change
    }

    /// Removes the limit of `r` from its flows and keeps those of the other resources.
    fn lift_limit(&mut self, r: usize) {
        let own = self.limit[r];
        self.limit[r] = 1.0;
        for u in &self.active[self.active_of(r)] {
            let state = &mut self.states[u.state as usize];
            if state.limit_gbps < own * state.claim_gbps {
                // Another limit holds this flow back.
                continue;
            }
            let limit = self.routes.limit(self.busy[u.state as usize] as usize, &self.limit);
            state.limit_gbps = state.cap_gbps.min(limit * state.claim_gbps);
        }
    }

    /// Queue length at which the demand on `r` equals the load that this queue stands for; [`QUEUE_CAP`] if the demand
    /// is larger even then.
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

    /// Load of the threads on `r` if its queue were `y`, and the derivative by `y`.
    fn asked(&self, paths: &Paths, r: usize, y: f64) -> (f64, f64) {
        let resource = &paths.resources[r];
        let (mut load, mut slope) = (0.0, 0.0);
        for u in &self.active[self.active_of(r)] {
            let (state, weight) = (&self.states[u.state as usize], u.weight);
            let (queue, by_y) = queue_met(y, u.unmet);
            let added_ns = resource.queue_ns * (queue - queue_met(self.queue[r], u.unmet).0);
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
        self.history.note(r, queue_ns * (queue - was));
        let range = self.active_of(r);
        for u in &self.active[range] {
            let added_ns = queue_ns * (queue_met(queue, u.unmet).0 - queue_met(was, u.unmet).0);
            self.states[u.state as usize].line_ns += u.share * added_ns;
        }
    }

    /// Sets the limit of a resource with a long queue. If the demand exceeds what it can deliver, the limit is the
    /// part of the claims that uses it up. `guess` is its last limit.
    fn share_out(&mut self, paths: &Paths, r: usize, guess: f64) {
        let can_deliver = UTILISATION_CAP * paths.resources[r].gbps - self.background[r];
        let asked = self.demands(r);
        let room = (can_deliver - asked.load) / (NEARLY_FULL * can_deliver);
        if room >= 1.0 || asked.claims <= 0.0 {
            return;
        }
        if room > 0.0 {
            self.limit[r] = asked.largest_part + (1.0 - asked.largest_part) * room;
        } else {
            // Just below the largest part at least one flow is cut, so the slope is not zero.
            let from = guess.min(asked.largest_part * (1.0 - 1e-9));
            self.limit[r] = self.common_part(r, can_deliver, from).min(asked.largest_part);
        }
        let range = self.active_of(r);
        for u in &self.active[range] {
            let state = &mut self.states[u.state as usize];
            state.limit_gbps = state.limit_gbps.min(self.limit[r] * state.claim_gbps);
        }
    }

    /// Demand of the flows on `r` with the present queues and the limits of other resources; fills `demand`.
    fn demands(&mut self, r: usize) -> Asked {
        let mut asked = Asked { load: 0.0, claims: 0.0, largest_part: 0.0 };
        self.demand.clear();
        for u in &self.active[self.active_of(r)] {
            let (state, weight) = (&self.states[u.state as usize], u.weight);
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

    /// The part of its claim that each flow gets at most, so that `r` delivers `can_deliver`. The load is a concave,
    /// piecewise linear function of this part. A step along the present piece ends at or below the answer; further
    /// steps climb to it.
    fn common_part(&self, r: usize, can_deliver: f64, from: f64) -> f64 {
        let mut part = from;
        for step in 0..MAX_STEPS {
            let (mut satisfied, mut limited) = (0.0, 0.0);
            for (u, demand) in self.active[self.active_of(r)].iter().zip(&self.demand) {
                let (state, weight) = (&self.states[u.state as usize], u.weight);
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

    /// Computes loads and traffic of the solution, and the rates of the flows with threads.
    fn finish(&mut self, paths: &Paths, flows: &[Flow]) {
        self.load.copy_from_slice(&self.background);
        self.rates.resize(flows.len(), Rate::default());
        for &i in &self.rated {
            if let Some(rate) = self.rates.get_mut(i as usize) {
                *rate = Rate::default();
            }
        }
        self.rated.clone_from(&self.busy);
        for (&i, state) in self.busy.iter().zip(&self.states) {
            let flow = &flows[i as usize];
            let demand = state.cap_gbps.min(state.inflight / state.line_ns);
            let rate = rate(flow, state.line_ns, demand, state.limit_gbps);
            self.rates[i as usize] = rate;
            for hop in self.routes.of(i as usize) {
                let r = hop.resource as usize;
                self.load[r] += hop.share * state.load(paths.resources[r].dram) * rate.gbps;
                self.traffic[r] += hop.share * state.link_load * rate.gbps;
            }
        }
    }

    /// Computes the rates of the flows without threads.
    fn finish_idle(&mut self, paths: &Paths, flows: &[Flow]) {
        self.history.forget_routes(flows.len());
        let mut busy = self.busy.iter().peekable();
        for (i, flow) in flows.iter().enumerate() {
            if busy.next_if(|b| **b as usize == i).is_some() {
                continue;
            }
            let base_ns = paths.idle_ns(flow.src_node as usize, flow.dst_node as usize) + flow.extra_ns;
            let (line_ns, limit) = self.history.replay_once(&self.routes, &self.limit, i, base_ns);
            self.rates[i] = idle_rate(flow, base_ns, line_ns, limit);
            self.rated.push(i as u32);
        }
    }

    /// Rate of flow number `i`, which is `flow`, in the last solution.
    pub fn rate(&self, paths: &Paths, i: usize, flow: &Flow) -> Rate {
        let known = self.rates[i];
        if known != Rate::default() {
            return known;
        }
        let base_ns = paths.idle_ns(flow.src_node as usize, flow.dst_node as usize) + flow.extra_ns;
        let (line_ns, limit) = self.history.replay(&self.routes, &self.limit, i, base_ns);
        idle_rate(flow, base_ns, line_ns, limit)
    }
}

/// Calls `f` with each resource that the bytes of a copy cross, the share of them, and how often a byte counts there.
pub(super) fn each_crossing(paths: &Paths, copy: &PageCopy, mut f: impl FnMut(usize, f64, f64)) {
    let (from, to) = (copy.from_node as usize, copy.to_node as usize);
    let (cpu, memory) = if paths.has_cpus[to] && !copy.clears { (to, from) } else { (from, to) };
    if !copy.clears {
        f(paths.dram(from), 1.0, byte_weight(0.0));
    }
    f(paths.dram(to), 1.0 + paths.steps(cpu, to)[0].posted, byte_weight(1.0));
    // The page crosses the links as lines read, unless the CPU is on the node it comes from.
    let write = f64::from(u8::from(memory == to));
    for step in paths.steps(cpu, memory)[1..].iter().map(|s| s.of(write)) {
        f(step.resource as usize, step.share, 1.0);
    }
}
