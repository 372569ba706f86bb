//! What a task does with memory and time: its ops, one step at a time.

use crate::config::Harness;
use crate::engine::{Pending, World};
use crate::migration::{Stretch, SHARED_STEP_NS};
use crate::pace::{real, whole, Ahead, Known, Pace, SweepCosts, Times};
use crate::sets::NEVER_WARM;
use crate::sync::Waiter;
use crate::task::{Activity, Block};
use numalab_kernel::hw::cache::cyclic_hit;
use numalab_kernel::hw::smt::{self, Sibling};
use numalab_kernel::mm::{CHUNK_PAGES, PAGE_BYTES};
use numalab_model::workload::{Access, Op, Pattern, Span};

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Go on (the slice may be over: the caller looks at the clock).
    Go,
    /// The slice ends here.
    Stop(Pending),
}

/// What a fault did to the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEnd {
    /// Go on.
    Go,
    /// Memory is exhausted.
    OutOfMemory,
    /// The page can be accessed this once.
    Pass,
    /// A huge page is being copied: go on once that is done.
    Copying,
    /// The slice ends: the fault is handled later, is still going on, or waits.
    Stop(Pending),
}

impl FaultEnd {
    /// How a fault ends the step, if it does.
    pub(crate) fn stops(self) -> Option<Step> {
        match self {
            Self::Go | Self::Pass => None,
            Self::OutOfMemory => Some(Step::Stop(Pending::Exit)),
            Self::Copying => Some(Step::Stop(Pending::Moves)),
            Self::Stop(pending) => Some(Step::Stop(pending)),
        }
    }
}

const LINE_BYTES: u64 = 64;

impl World<'_> {
    /// Carries out the current op of `task` for as long as the slice lasts.
    pub(crate) fn step(&mut self, cpu: usize, task: u32, clock: &mut u64, end: u64) -> Step {
        let t = &mut self.tasks[task as usize];
        if let Activity::Spinning { .. } = t.activity {
            return self.spin(cpu, task, clock, end);
        }
        if t.pc >= t.ops.len() {
            return Step::Stop(Pending::Stage);
        }
        let ops = t.ops;
        match &ops[t.pc] {
            Op::Access(a) => match a.pattern {
                Pattern::Sequential | Pattern::Blocks { .. } => self.sweep(cpu, task, a, clock, end),
                Pattern::Strided { stride_bytes } => self.stride(cpu, task, a, stride_bytes, clock, end),
                Pattern::Random | Pattern::Zipf { .. } | Pattern::Chase | Pattern::Reuse { .. } => {
                    self.random(cpu, task, a, clock, end)
                }
            },
            Op::Compute { ns } => self.compute(cpu, task, *ns, clock, end),
            Op::Sleep { ns, exponential } => {
                let ns = if *exponential { self.rng.exponential(*ns as f64) as u64 } else { *ns };
                self.fall_asleep(task);
                Step::Stop(Pending::Sleep(ns))
            }
            Op::SetPolicy(p) => {
                t.policy = crate::policy::compile(p, self.processes[t.process as usize].mems);
                t.advance();
                Step::Go
            }
            Op::Barrier { id, spin } => self.barrier(task, *id as usize, *spin, clock),
            Op::Signal { channel } => self.signal(cpu, task, *channel as usize, clock),
            Op::Wait { channel } => {
                if self.channels[*channel as usize].wait(task) {
                    self.tasks[task as usize].advance();
                    let channel = &self.channels[*channel as usize];
                    if channel.carries {
                        let ns = self.message_ns(channel.from as usize, cpu);
                        *clock += ns;
                        self.charge_system(task, ns);
                    }
                    return Step::Go;
                }
                self.fall_asleep(task);
                Step::Stop(Pending::Wait)
            }
            Op::LoopStart(bound) => {
                t.open_loop(*bound, *clock);
                Step::Go
            }
            Op::LoopEnd => {
                t.close_loop(*clock);
                Step::Go
            }
            Op::Score { id, amount } => {
                t.advance();
                self.scores[*id as usize] += amount;
                Step::Go
            }
            Op::ScoreClock { id, run } => {
                t.advance();
                self.score_clocks[*id as usize].set(*run, *clock);
                Step::Go
            }
            Op::Discard(span) => self.discard(cpu, task, span, clock),
            Op::Join => self.join(task),
        }
    }

    fn fall_asleep(&mut self, task: u32) {
        let t = &mut self.tasks[task as usize];
        t.advance();
        t.activity = Activity::Asleep;
    }

    fn join(&mut self, task: u32) -> Step {
        let process = self.tasks[task as usize].process as usize;
        if self.processes[process].live_threads == 1 {
            self.tasks[task as usize].advance();
            return Step::Go;
        }
        self.processes[process].joiner = Some(task);
        self.fall_asleep(task);
        Step::Stop(Pending::Wait)
    }

    fn barrier(&mut self, task: u32, id: usize, spin: bool, clock: &mut u64) -> Step {
        let now = *clock;
        let t = &mut self.tasks[task as usize];
        t.advance();
        t.activity = if spin { Activity::Spinning { since_ns: now } } else { Activity::Asleep };
        t.released_ns = u64::MAX;
        if self.barriers[id].arrive(Waiter { task, since_ns: now, spin }) {
            let mut released = std::mem::take(&mut self.released);
            self.barriers[id].release(&mut released);
            // Slices are planned ahead, so the last to arrive need not be the last that was planned.
            if let Some(last) = released.pop() {
                // It finds the barrier open and goes on, also where its sleep has been planned.
                if spin {
                    self.release(last, last.since_ns, last.task);
                } else {
                    self.tasks[last.task as usize].activity = Activity::Running;
                }
                let mut at = last.since_ns;
                for w in released.drain(..) {
                    if !w.spin {
                        at += self.costs.waking_ns() as u64;
                    }
                    self.release(w, at, last.task);
                }
                // Who opens the barrier wakes one after the other, which takes its own time.
                let woke_ns = at - last.since_ns;
                if last.task == task {
                    *clock += woke_ns;
                    self.charge_system(task, woke_ns);
                } else {
                    self.cpus[self.sched.cpu_of(last.task) as usize].debt_ns += woke_ns;
                }
            }
            self.released = released;
        }
        match self.tasks[task as usize].activity {
            Activity::Asleep => Step::Stop(Pending::Wait),
            _ => Step::Go,
        }
    }

    fn release(&mut self, w: Waiter, at: u64, waker: u32) {
        if w.spin {
            self.tasks[w.task as usize].released_ns = at;
            let on = self.cpus.iter().position(|c| c.task == Some(w.task) && c.pending == Pending::Spin);
            // Later than the tick: it looks again then.
            if let Some(cpu) = on.filter(|&cpu| at < self.cpus[cpu].next_tick_ns) {
                self.plan(cpu, at.max(self.now_ns), Pending::Spin);
            }
        } else {
            let sleep = self.tasks[w.task as usize].sleep;
            let event = crate::event::Event::Wake { task: w.task, waker, sleep };
            self.queue.push(at.max(self.now_ns), event);
        }
    }

    /// A busy-waiting task: alone on its CPU it waits to the tick and is charged afterwards, otherwise it burns its slice.
    fn spin(&mut self, cpu: usize, task: u32, clock: &mut u64, end: u64) -> Step {
        let t = &mut self.tasks[task as usize];
        let Activity::Spinning { since_ns } = t.activity else { return Step::Go };
        let from = since_ns.max(*clock);
        if t.released_ns <= end {
            let until = t.released_ns.max(from);
            t.activity = Activity::Running;
            *clock = until;
            self.charge_user(task, until - from);
            return Step::Go;
        }
        t.activity = Activity::Spinning { since_ns: from };
        if self.sched.nr_running(cpu as u32) <= 1 && t.released_ns == u64::MAX {
            return Step::Stop(Pending::Spin);
        }
        *clock = end;
        self.charge_user(task, end - from);
        Step::Go
    }

    fn compute(&mut self, cpu: usize, task: u32, ns: u64, clock: &mut u64, end: u64) -> Step {
        let speed = smt::speed(0.0, self.sibling(cpu)) * self.boost(cpu);
        let t = &mut self.tasks[task as usize];
        if !t.entered {
            t.entered = true;
            t.compute_left_ns = ns;
        }
        let wall = whole(real(t.compute_left_ns) / speed);
        let room = end - *clock;
        let used = wall.min(room);
        t.compute_left_ns = if used == wall { 0 } else { t.compute_left_ns - whole(real(used) * speed) };
        let done = t.compute_left_ns == 0;
        if done {
            t.advance();
        }
        *clock += used;
        self.charge_user(task, used);
        Step::Go
    }

    fn discard(&mut self, cpu: usize, task: u32, span: &Span, clock: &mut u64) -> Step {
        self.lru_batches.drain(cpu, &mut self.shared);
        let t = &mut self.tasks[task as usize];
        t.advance();
        let process = t.process as usize;
        let p = &mut self.processes[process];
        let vma = p.space.vma_mut(p.region_vma[span.region as usize] as usize);
        let splits = self.memory.events.thp_split_pmd;
        let from = vma.start + span.offset_bytes.div_ceil(PAGE_BYTES) * PAGE_BYTES;
        let to = vma.start + (span.offset_bytes + span.len_bytes) / PAGE_BYTES * PAGE_BYTES;
        let memory = &mut self.memory;
        let mut pages = 0;
        if from < to {
            let split = vma.split_entries_at(from, to);
            memory.events.thp_split_pmd += split;
            memory.events.thp_deferred_split_page += split;
            pages = vma.discard(from, to, &mut self.shared, |gone| memory.take_back(gone));
        }
        // Splitting an entry rewrites it as 512, as a fork does.
        let splits = (self.memory.events.thp_split_pmd - splits) as f64;
        let cost = pages as f64 * self.machine.costs.pte_skip_ns
            + splits * CHUNK_PAGES as f64 * self.machine.costs.fork_pte_ns;
        let ns = (self.machine.costs.exception_ns + cost) as u64;
        *clock += ns;
        self.charge_system(task, ns);
        Step::Go
    }

    /// What the other hardware threads of the core do.
    pub(crate) fn sibling(&self, cpu: usize) -> Sibling {
        let mut out = Sibling::Idle;
        for &s in &self.cpus[cpu].siblings {
            match self.cpus[s as usize].task.map(|t| self.tasks[t as usize].activity) {
                None => {}
                Some(Activity::Spinning { .. }) if out == Sibling::Idle => out = Sibling::Spinning,
                Some(Activity::Spinning { .. }) => {}
                Some(_) => out = Sibling::Working,
            }
        }
        out
    }

    /// Clock of a CPU relative to the sustained one.
    fn boost(&self, cpu: usize) -> f64 {
        self.clock.speed(self.busy_cores[self.machine.cpus[cpu].socket] as usize)
    }

    /// Enters an access if it is new, and finds out how it proceeds.
    pub(crate) fn pace(&mut self, cpu: usize, task: u32, a: &Access) -> Pace {
        let t = &self.tasks[task as usize];
        let (info, fresh) = (self.sets.info(t.process, t.program(), t.pc), !t.entered);
        if fresh {
            self.tasks[task as usize].entered = true;
            if self.tasks[task as usize].group != info.group {
                self.use_group(cpu, task, info.group);
            }
        }
        // The worker looks at its clock and counters all the time, so what a scan marked of its stack and data is found at
        // once. A program that zeroes or sums in registers calls a function now and then; its data are its regions.
        let scans = self.processes[self.tasks[task as usize].process as usize].marking_scans;
        if self.cfg.harness == Harness::Worker && self.tasks[task as usize].marking_scans != scans {
            self.tasks[task as usize].marking_scans = scans;
            self.touch_program(cpu, task);
        } else if fresh {
            self.touch_stack(cpu, task);
        }
        let sibling = self.sibling(cpu);
        let llc = self.cpus[cpu].llc;
        let t = &self.tasks[task as usize];
        let warm = info.bit != NEVER_WARM && t.warm >> info.bit & 1 != 0;
        let l2_bytes = self.cache.l2_share_bytes(sibling == Sibling::Working);
        let group_bytes = self.sets.group_bytes(info.group);
        let (fetched, turn_ns) = self.in_step(llc, self.tasks[task as usize].process, info.set as usize, a);
        let t = &mut self.tasks[task as usize];
        let (l2, llc) = match a.pattern {
            _ if fetched < 1.0 || a.bypass => (0.0, 0.0),
            // The next block is anywhere, and the span larger than what a cache would keep of it.
            Pattern::Blocks { .. } => (0.0, 0.0),
            Pattern::Sequential | Pattern::Strided { .. } if !warm => (0.0, 0.0),
            Pattern::Sequential | Pattern::Strided { .. } => {
                (cyclic_hit(group_bytes, l2_bytes), self.sets.loads.cyclic_hit(llc))
            }
            Pattern::Random | Pattern::Zipf { .. } | Pattern::Chase | Pattern::Reuse { .. } => {
                if fresh && !warm {
                    t.cold_lines = self.sets.loads.held_bytes(llc, info.set as usize) / LINE_BYTES;
                    if info.bit != NEVER_WARM {
                        t.warm |= 1 << info.bit;
                    }
                }
                if let Pattern::Reuse { .. } = a.pattern {
                    // The LLC holds what the L2 does.
                    let l2 = f64::from(info.l2[usize::from(sibling == Sibling::Working)]);
                    let either = self.sets.loads.reuse_hit(llc, info.set as usize).max(l2);
                    (l2, (either - l2) / (1.0 - l2).max(f64::EPSILON))
                } else {
                    let l2 = if group_bytes <= l2_bytes { 1.0 } else { l2_bytes as f64 / group_bytes as f64 };
                    (l2, self.sets.loads.random_hit(llc, info.set as usize))
                }
            }
        };
        let place = self.rates.place(self.cpus[cpu].llc);
        Pace {
            kind: info.kinds.beside(sibling),
            place,
            span: info.span,
            l2,
            llc: (1.0 - l2) * llc,
            fetched,
            turn_ns,
            zeros: 0.0,
            sibling,
            boost: self.boost(cpu),
        }
    }

    /// Threads that write one buffer in address order, begun together on one LLC, stay in step: whoever is behind finds
    /// lines in the cache and catches up, and there a line goes from core to core, written by each. So one of them
    /// fetches it from memory, and all wait for that and for their turn. Returns the share of the lines that a thread
    /// fetches, and the wait per line. Measured with two threads: docs/workloads.md, "Threads that write one buffer". As long
    /// as pages are missing the faults of whoever leads decide, and nobody is held to be in step.
    fn in_step(&self, llc: usize, process: u32, set: usize, a: &Access) -> (f64, f64) {
        let (Some(transfer_ns), Pattern::Sequential) = (self.machine.cache.transfer_ns, a.pattern) else {
            return (1.0, 0.0);
        };
        let (threads, cores) = self.sets.loads.users(llc, set);
        let p = &self.processes[process as usize];
        let rss_pages = p.space.vma(p.region_vma[a.span.region as usize] as usize).rss_pages();
        let missing = rss_pages * PAGE_BYTES < a.span.len_bytes;
        if a.write == 0.0 || a.bypass || threads < 2 || missing || self.sets.loads.fits(llc) {
            return (1.0, 0.0);
        }
        let turns = if cores > 1 { f64::from(cores) } else { 0.0 };
        (1.0 / f64::from(threads), a.write * turns * transfer_ns)
    }

    /// What a sweep costs apart from where its pages lie, which stays the same for a slice.
    fn sweep_costs(&self, pace: &Pace, a: &Access) -> SweepCosts {
        // A line that is written is fetched before and written back later, from memory or the LLC alike; not by a fill that
        // goes past the caches.
        let traffic = if a.bypass { 1.0 } else { self.machine.cache.lines_of_write(a.write) };
        let share = smt::stream_share(pace.sibling);
        let alone = a.compute_ns / (LINE_BYTES as f64 * pace.boost);
        SweepCosts {
            missing: pace.missing() * traffic,
            fetched: pace.fetched,
            cached: pace.llc * traffic / (self.cache.llc_gbps * share)
                + pace.l2 / (self.cache.l2_gbps * share)
                + pace.turn_ns / LINE_BYTES as f64,
            zeros: 1.0 / (self.cache.l2_gbps * share),
            alone,
            longest: alone / smt::speed(0.0, pace.sibling),
            sibling: pace.sibling,
        }
    }

    /// One pass in address order, or the blocks of a pass.
    fn sweep(&mut self, cpu: usize, task: u32, a: &Access, clock: &mut u64, end: u64) -> Step {
        let pace = self.pace(cpu, task, a);
        let process = self.tasks[task as usize].process as usize;
        let id = self.processes[process].region_vma[a.span.region as usize] as usize;
        let (write, started) = (a.write > 0.0, *clock);
        let mut done = self.tasks[task as usize].done;
        let (mut kernel_ns, mut out) = (0, Step::Go);
        let sharing = self.sharing(process);
        let (mut passed, mut last) = (None, Known::NONE);
        let costs = self.sweep_costs(&pace, a);
        let all = self.sweep_bytes(a);
        while *clock < end && done < all {
            let (at, left) = self.run_at(task, a, done, all);
            let vma = self.processes[process].space.vma(id);
            let addr = vma.start + a.span.offset_bytes + at;
            let Ahead { chunk, base, lo, fault, clear } = Ahead::of(vma, addr, left, write, passed);
            if clear > addr {
                let counts = vma.node_counts(chunk);
                let known = last.or_else(counts, vma.chunk(chunk).present, |c, p| {
                    costs.times(self.rates.ns_of_pages(pace.kind, pace.place, c), p)
                });
                let (Times { per_byte, memory, of_pages }, node) = known;
                let room = real(end - *clock);
                let want = real(clear - addr) * per_byte;
                let (bytes, ns) =
                    if want > room { (whole(room / per_byte) & !(LINE_BYTES - 1), room) } else { (clear - addr, want) };
                if sharing {
                    let (pc, vma, at) = (self.tasks[task as usize].pc, id as u32, addr - base);
                    let stretch = Stretch { pc, vma, chunk, at, done, from_ns: *clock, per_byte };
                    self.tasks[task as usize].stretch = Some(stretch);
                    out = Step::Stop(Pending::Resume);
                }
                done += bytes;
                self.tasks[task as usize].ns_per_byte = per_byte;
                self.rates.occupy(pace.kind, pace.place, (counts, node), of_pages, real(bytes) * memory);
                let reached = (addr - base + bytes).div_ceil(PAGE_BYTES) as usize;
                self.processes[process].space.vma_mut(id).touch(chunk, lo, reached);
                *clock += whole(ns + 0.5);
                if !self.designs.fronts.is_empty() {
                    self.wait_for_moves(task, (process, id, chunk), (lo, reached), *clock, ns as u64);
                }
                if want > room {
                    out = Step::Go;
                }
                if want > room || sharing || self.is_held_up(task) {
                    break;
                }
            }
            if let Some(p) = fault {
                if *clock >= end {
                    break;
                }
                if self.comes_late(task, id, chunk, p, *clock) {
                    out = Step::Stop(Pending::Resume);
                    break;
                }
                let (ns, fate) = self.fault(cpu, task, id, chunk, p, write, *clock);
                kernel_ns += ns;
                *clock += ns;
                passed = (fate == FaultEnd::Pass).then_some(p);
                out = fate.stops().unwrap_or(Step::Go);
                if out != Step::Go || !self.moves.is_empty() || self.is_held_up(task) {
                    break;
                }
            }
        }
        self.finish_part(task, a, done, all);
        self.charge_part(task, *clock - started, kernel_ns);
        out
    }

    /// Sleeps behind the moves of a chunk's pages, if a sweep that has taken `swept_ns` for them up to `clock` has met one.
    fn wait_for_moves(
        &mut self,
        task: u32,
        at: (usize, usize, usize),
        pages: (usize, usize),
        clock: u64,
        swept_ns: u64,
    ) {
        let (waited, mover) = self.designs.fronts.wait_ns(at, pages, clock.saturating_sub(swept_ns), clock);
        self.sleeps(task, waited, mover);
    }

    /// Bytes a sweep goes over.
    fn sweep_bytes(&self, a: &Access) -> u64 {
        match a.pattern {
            Pattern::Blocks { .. } => a.accesses * LINE_BYTES,
            _ => a.span.len_bytes,
        }
    }

    /// Where in its span a sweep is that has `done` of `all` bytes behind it, and how many bytes lie ahead in one run:
    /// all that is left, or the rest of a block. A block is drawn when the one before is used up.
    fn run_at(&mut self, task: u32, a: &Access, done: u64, all: u64) -> (u64, u64) {
        let Pattern::Blocks { block_bytes } = a.pattern else { return (done, all - done) };
        let open = self.tasks[task as usize].block.filter(|b| b.span == a.span && b.bytes == block_bytes);
        let within = open.map_or(block_bytes, |b| (done as i64 - b.begun) as u64);
        let (start, within) = match open {
            Some(b) if within < block_bytes => (b.start, within),
            _ => {
                let start = self.rng.below(a.span.len_bytes / block_bytes) * block_bytes;
                let block = Block { span: a.span, bytes: block_bytes, start, begun: done as i64 };
                self.tasks[task as usize].block = Some(block);
                (start, 0)
            }
        };
        (start + within, (block_bytes - within).min(all - done))
    }

    /// Records progress; at the end of the pass counts the score and goes to the next op.
    pub(crate) fn finish_part(&mut self, task: u32, a: &Access, done: u64, of: u64) {
        let t = &mut self.tasks[task as usize];
        if let Some((id, per_byte)) = a.score {
            let unit = if matches!(a.pattern, Pattern::Sequential | Pattern::Blocks { .. }) { 1 } else { LINE_BYTES };
            self.scores[id as usize] += per_byte * ((done - t.done) * unit) as f64;
        }
        t.done = done;
        if done >= of {
            if matches!(a.pattern, Pattern::Sequential | Pattern::Strided { .. }) {
                let bit = self.sets.info(t.process, t.program(), t.pc).bit;
                // A span too large for the cache has driven everything else out.
                t.warm = if bit == NEVER_WARM { 0 } else { t.warm | 1 << bit };
            }
            if let Some(b) = &mut t.block {
                b.begun -= of as i64 * i64::from(matches!(a.pattern, Pattern::Blocks { .. }) && b.span == a.span);
            }
            t.advance();
        }
    }

    /// One line every stride: like a sweep that touches only some lines of each page.
    fn stride(&mut self, cpu: usize, task: u32, a: &Access, stride: u64, clock: &mut u64, end: u64) -> Step {
        let pace = self.pace(cpu, task, a);
        let process = self.tasks[task as usize].process as usize;
        let id = self.processes[process].region_vma[a.span.region as usize] as usize;
        let write = a.write > 0.0;
        let started = *clock;
        let lines = a.span.len_bytes.div_ceil(stride);
        let mut done = self.tasks[task as usize].done;
        let mut kernel_ns = 0;
        let mut out = Step::Go;
        let mut passed = None;
        let limit = self.look_again(process, end);
        let costs = self.sweep_costs(&pace, a);
        while *clock < limit && done < lines {
            let vma = self.processes[process].space.vma(id);
            let addr = vma.start + a.span.offset_bytes + done * stride;
            let chunk = vma.chunk_of(addr);
            let page = ((addr - vma.chunk_base(chunk)) / PAGE_BYTES) as usize;
            if passed != Some(done) && vma.next_fault(chunk, page, page + 1, write).is_some() {
                let (ns, fate) = self.fault(cpu, task, id, chunk, page, write, *clock);
                kernel_ns += ns;
                *clock += ns;
                passed = (fate == FaultEnd::Pass).then_some(done);
                if let Some(stop) = fate.stops() {
                    out = stop;
                    break;
                }
                if self.is_held_up(task) {
                    break;
                }
                continue;
            }
            let counts = vma.node_counts(chunk);
            let of_pages = self.rates.ns_of_pages(pace.kind, pace.place, counts);
            let Times { per_byte, memory, .. } = costs.times(of_pages, vma.chunk(chunk).present);
            let ns = per_byte * LINE_BYTES as f64;
            self.rates.occupy(pace.kind, pace.place, (counts, None), of_pages, memory * LINE_BYTES as f64);
            self.processes[process].space.vma_mut(id).touch(chunk, page, page + 1);
            // At least 1 ns per line keeps the clock moving on machines faster than that.
            *clock += (ns + 0.5).max(1.0) as u64;
            done += 1;
        }
        if out == Step::Go && *clock >= limit && limit < end {
            out = Step::Stop(Pending::Resume);
        }
        self.finish_part(task, a, done, lines);
        self.charge_part(task, *clock - started, kernel_ns);
        out
    }

    /// How far a slice that ends at `end` may run ahead.
    pub(crate) fn look_again(&self, process: usize, end: u64) -> u64 {
        if self.sharing(process) {
            end.min(self.now_ns + SHARED_STEP_NS)
        } else {
            end
        }
    }
}
