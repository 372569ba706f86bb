//! Random accesses: how many go by until one meets a page that faults.

use crate::access::{Pace, Step, SHORTEST_NS};
use crate::engine::{Pending, World, EPOCH_NS};
use crate::migration::SHARED_STEP_NS;
use numalab_kernel::hw::smt;
use numalab_kernel::mm::PAGE_BYTES;
use numalab_model::workload::{Access, Pattern};

impl World<'_> {
    /// Random accesses: the number of accesses to the next pending page is drawn from its geometric
    /// distribution, so that accesses without a fault cost nothing to simulate.
    pub(crate) fn random(&mut self, cpu: usize, task: u32, a: &Access, clock: &mut u64, end: u64) -> Step {
        let pace = self.pace(cpu, task, a);
        let process = self.tasks[task as usize].process as usize;
        let id = self.processes[process].region_vma[a.span.region as usize] as usize;
        let write = a.write > 0.0;
        let started = *clock;
        let mut done = self.tasks[task as usize].done;
        let mut kernel_ns = 0;
        let mut out = Step::Go;
        let vma = self.processes[process].space.vma(id);
        let from = vma.start + a.span.offset_bytes / PAGE_BYTES * PAGE_BYTES;
        let to = (vma.start + a.span.offset_bytes + a.span.len_bytes).div_ceil(PAGE_BYTES) * PAGE_BYTES;
        let pages = (to - from) / PAGE_BYTES;
        let limit = self.look_again(process, end);
        let mut drawn = self.tasks[task as usize].drawn.take();
        while *clock < limit && done < a.accesses {
            let page = if drawn.is_some() {
                done += 1;
                drawn.take()
            } else {
                let vma = self.processes[process].space.vma(id);
                self.spans.look(pace.span, vma, from, to, self.now_ns, EPOCH_NS);
                let pending = self.spans.pending(pace.span);
                let room = (limit - *clock, a.accesses - done);
                let to_fault = if pending == 0 { u64::MAX } else { self.rng.geometric(pending as f64 / pages as f64) };
                let (n, ns) = self.roam(task, &pace, a, to_fault, room);
                done += n;
                *clock += ns;
                if n < to_fault {
                    continue;
                }
                let vma = self.processes[process].space.vma(id);
                self.spans.draw(pace.span, vma, from, to, &mut self.rng)
            };
            let Some((chunk, page)) = page else { continue };
            let before = self.processes[process].space.vma(id).pending_pages();
            let (ns, fate) = self.fault(cpu, task, id, chunk, page, write, *clock);
            let after = self.processes[process].space.vma(id).pending_pages();
            self.spans.resolved(pace.span, before.saturating_sub(after));
            kernel_ns += ns;
            *clock += ns;
            if let Some(stop) = fate.stops() {
                // The access comes again, to this page.
                done -= 1;
                self.tasks[task as usize].drawn = Some((chunk, page));
                out = stop;
                break;
            }
        }
        if out == Step::Go && *clock >= limit && limit < end {
            out = Step::Stop(Pending::Resume);
        }
        self.finish_part(task, a, done, a.accesses);
        self.charge_user(task, *clock - started - kernel_ns);
        self.charge_system(task, kernel_ns);
        out
    }

    /// Random accesses without a fault: at most `to_fault`, at most as many as fit into `room` (ns, accesses). Returns
    /// how many, and their time.
    fn roam(&mut self, task: u32, pace: &Pace, a: &Access, to_fault: u64, room: (u64, u64)) -> (u64, u64) {
        let times = self.random_ns(pace, a, self.spans.on_node(pace.span));
        let cold = self.tasks[task as usize].cold_lines;
        let (per_access, missing) = if cold > 0 { (times.cold, 1.0) } else { (times.warm, pace.missing()) };
        let fits = ((room.0 as f64 / per_access) as u64 + 1).min(if cold > 0 { cold } else { u64::MAX });
        let n = to_fault.min(fits).min(room.1);
        let ns = n as f64 * per_access;
        self.tasks[task as usize].cold_lines -= n.min(cold);
        let on_node = self.spans.on_node(pace.span);
        self.rates.occupy_pages(pace.kind, pace.place, on_node, n as f64 * missing * times.memory);
        (n, (ns + 0.5) as u64)
    }

    /// How far a slice that ends at `end` may run ahead.
    pub(crate) fn look_again(&self, process: usize, end: u64) -> u64 {
        if self.sharing(process) {
            end.min(self.now_ns + SHARED_STEP_NS)
        } else {
            end
        }
    }

    /// Times of a random access to pages spread as `on_node`, ns.
    fn random_ns(&self, pace: &Pace, a: &Access, on_node: &[u64]) -> RandomTimes {
        let in_flight = if a.pattern == Pattern::Chase { 1.0 } else { self.machine.stream.lines_random };
        let latency = self.rates.latency_ns(pace.kind, pace.place, on_node) + self.machine.tlb.base_ns;
        let compute = a.compute_ns / (smt::speed(0.0, pace.sibling) * pace.boost);
        let slower = 1.0 / (in_flight * smt::speed(1.0, pace.sibling));
        let memory = latency * slower;
        let cached = (pace.llc * self.cache.llc_ns + pace.l2 * self.cache.l2_ns) * slower;
        let floor = |ns: f64| ns.max(SHORTEST_NS);
        RandomTimes { cold: floor(memory + compute), warm: floor(pace.missing() * memory + cached + compute), memory }
    }
}

/// Times of a random access, ns.
#[derive(Clone, Copy, Debug)]
struct RandomTimes {
    /// Every line from memory.
    cold: f64,
    /// Caches loaded.
    warm: f64,
    /// The memory's part of a miss.
    memory: f64,
}
