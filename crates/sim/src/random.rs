//! Random accesses: how long they take, and which of them fault.

use crate::access::{FaultEnd, Step};
use crate::engine::{Pending, World, EPOCH_NS};
use crate::pace::Pace;
use crate::walk::mean_walk;
use numalab_kernel::hw::smt;
use numalab_kernel::hw::tlb::Walk;
use numalab_kernel::mm::PAGE_BYTES;
use numalab_model::workload::{Access, Pattern};

/// No access is shorter than this, ns.
const SHORTEST_NS: f64 = 0.1;

/// The pages that `len_bytes` from `start` on lie in: first address, and that behind them.
fn whole_pages(start: u64, len_bytes: u64) -> (u64, u64) {
    (start / PAGE_BYTES * PAGE_BYTES, (start + len_bytes).div_ceil(PAGE_BYTES) * PAGE_BYTES)
}

impl World<'_> {
    /// Random accesses: the number of accesses to the next pending page is drawn from its geometric
    /// distribution, so that accesses without a fault cost nothing to simulate.
    pub(crate) fn random(&mut self, cpu: usize, task: u32, a: &Access, clock: &mut u64, end: u64) -> Step {
        let mut pace = self.pace(cpu, task, a);
        let process = self.tasks[task as usize].process as usize;
        let id = self.processes[process].region_vma[a.span.region as usize] as usize;
        let (write, started) = (a.write > 0.0, *clock);
        let mut done = self.tasks[task as usize].done;
        let (mut kernel_ns, mut out) = (0, Step::Go);
        let vma = self.processes[process].space.vma(id);
        let (from, to) = whole_pages(vma.start + a.span.offset_bytes, a.span.len_bytes);
        let pages = (to - from) / PAGE_BYTES;
        let walk = self.random_walk(cpu, task, a.pattern, to - from, vma.huge_share());
        let uses = self.processes[process].space.vma_mut(id).random_use(from, to);
        let limit = self.look_again(process, end);
        let mut drawn = self.tasks[task as usize].drawn.take();
        while *clock < limit && done < a.accesses && !self.is_held_up(task) {
            if let Some(again) = drawn.take() {
                done += 1;
                if let Some(stop) = self.random_fault(cpu, task, id, again, pace.span, clock, &mut kernel_ns) {
                    done -= 1;
                    out = stop;
                    break;
                }
                continue;
            }
            let vma = self.processes[process].space.vma(id);
            self.spans.look(pace.span, vma, from, to, self.now_ns, EPOCH_NS);
            let pending = self.spans.pending(pace.span, write);
            pace.zeros = self.spans.zero_share(pace.span);
            let times = self.random_ns(&pace, a, self.spans.on_node(pace.span), vma.tables_on_node(), walk);
            let cold = self.tasks[task as usize].cold_lines;
            let (per_access, missing) = if cold > 0 { (times.cold, 1.0) } else { (times.warm, pace.missing()) };
            let room = (((limit - *clock) as f64 / per_access) as u64 + 1).min(if cold > 0 { cold } else { u64::MAX });
            let to_fault = if pending == 0 { u64::MAX } else { self.rng.geometric(pending as f64 / pages as f64) };
            let n = to_fault.min(room).min(a.accesses - done);
            done += n;
            let ns = n as f64 * per_access;
            self.tasks[task as usize].cold_lines -= n.min(cold);
            let on_node = self.spans.on_node(pace.span);
            self.rates.occupy_pages(pace.kind, pace.place, on_node, n as f64 * missing * times.line);
            if times.table > 0.0 {
                self.rates.occupy_pages(pace.kind, pace.place, vma.tables_on_node(), n as f64 * times.table);
            }
            self.processes[process].space.vma_mut(id).touch_random(uses, n);
            *clock += (ns + 0.5) as u64;
            if n < to_fault {
                continue;
            }
            let vma = self.processes[process].space.vma(id);
            let Some((chunk, page)) = self.spans.draw(pace.span, vma, (from, to), write, &mut self.rng) else {
                continue;
            };
            // Where only stores fault, a read goes on.
            let store = write && (a.write >= 1.0 || self.rng.unit() < a.write);
            if !store && !vma.is_pending(chunk, page, false) {
                continue;
            }
            let access = (chunk, page, store);
            if let Some(stop) = self.random_fault(cpu, task, id, access, pace.span, clock, &mut kernel_ns) {
                done -= 1;
                out = stop;
                break;
            }
        }
        if out == Step::Go && *clock >= limit && limit < end {
            out = Step::Stop(Pending::Resume);
        }
        self.finish_part(task, a, done, a.accesses);
        self.charge_part(task, *clock - started, kernel_ns);
        out
    }

    /// Page walk of a random access to `bytes` of memory of which `huge_share` is in huge pages.
    fn random_walk(&self, cpu: usize, task: u32, pattern: Pattern, bytes: u64, huge_share: f64) -> Walk {
        let t = &self.tasks[task as usize];
        let set = self.sets.info(t.process, t.program(), t.pc).set;
        let llc_share = self.sets.loads.held_bytes(self.cpus[cpu].llc, set as usize);
        let alpha = if let Pattern::Reuse { alpha } = pattern { alpha } else { 0.0 };
        mean_walk(&self.tlb, bytes, huge_share, llc_share, alpha)
    }

    /// The fault of a random access, and the one after it: a store that has come to a marked page, or waited for one, may
    /// find the entry read-only. If a fault ends the step, the access comes again, to the same page.
    #[allow(clippy::too_many_arguments)]
    fn random_fault(
        &mut self,
        cpu: usize,
        task: u32,
        id: usize,
        (chunk, page, write): (usize, usize, bool),
        span: u32,
        clock: &mut u64,
        kernel_ns: &mut u64,
    ) -> Option<Step> {
        let process = self.tasks[task as usize].process as usize;
        loop {
            let before = self.processes[process].space.vma(id).pending_of_chunk(chunk);
            let (ns, fate) = self.fault(cpu, task, id, chunk, page, write, *clock);
            *kernel_ns += ns;
            *clock += ns;
            if let Some(stop) = fate.stops() {
                self.tasks[task as usize].drawn = Some((chunk, page, write));
                return Some(stop);
            }
            if fate != FaultEnd::Go {
                return None;
            }
            let vma = self.processes[process].space.vma(id);
            self.spans.resolved(span, &before.less(&vma.pending_of_chunk(chunk)));
            if !vma.is_pending(chunk, page, write) {
                return None;
            }
        }
    }

    /// Times of a random access to pages spread as `on_node` whose page tables are spread as `tables`, ns.
    fn random_ns(&self, pace: &Pace, a: &Access, on_node: &[u64], tables: &[u64], walk: Walk) -> RandomTimes {
        let in_flight = if matches!(a.pattern, Pattern::Chase | Pattern::Reuse { .. }) {
            1.0
        } else {
            self.machine.stream.lines_random
        };
        let compute = a.compute_ns / (smt::speed(0.0, pace.sibling) * pace.boost);
        let slower = 1.0 / (in_flight * smt::speed(1.0, pace.sibling));
        let line = self.rates.latency_ns(pace.kind, pace.place, on_node);
        let table = if walk.leaf_miss > 0.0 {
            walk.leaf_miss * self.rates.latency_ns(pace.kind, pace.place, tables)
        } else {
            0.0
        };
        // The page of zeros is in the first-level cache of whoever reads it.
        let own = 1.0 - pace.zeros;
        let walked = (walk.fixed_ns + table) * slower;
        let missed = (line + self.tlb.overhead_ns()) * slower;
        let cached = (pace.llc * self.cache.llc_ns + pace.l2 * self.cache.l2_ns) * slower;
        let floor = |ns: f64| ns.max(SHORTEST_NS);
        RandomTimes {
            cold: floor(own * missed + walked + compute),
            warm: floor(own * (pace.missing() * missed + cached) + walked + compute),
            line: own * line / in_flight,
            table: table / in_flight,
        }
    }
}

/// Times of a random access, ns.
#[derive(Clone, Copy, Debug)]
struct RandomTimes {
    /// Every line from memory.
    cold: f64,
    /// Caches loaded.
    warm: f64,
    /// How long a miss occupies memory. The overhead around it, and what a busy sibling takes, ask nothing of it.
    line: f64,
    /// The same for lines of page tables.
    table: f64,
}
