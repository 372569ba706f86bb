//! Scanning per process (designs-2012.md section 2.3).
//!
//! A thread tries whenever it has run for its period. One try per process and 200 ms succeeds. Eight busy threads make
//! at least five tries a second even at the longest period, so the back-off cannot slow a threaded process down.

use super::mm_scan::MmScan;
use super::sched_numa::SchedNuma;
use super::tunables::SchedNumaTunables;

/// Granularity of the budget, bytes.
const STEP: u64 = 2 << 20;

/// A range to mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Mapping, by its position in address order.
    pub vma: usize,
    /// First byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
}

impl SchedNuma {
    /// The tick of a running thread. Returns whether scan work is to be queued. `runtime_ns` is the thread's CPU time.
    pub fn tick(&mut self, task: u32, mm: u32, runtime_ns: u64, now_ms: u64) -> bool {
        let min = self.knobs.scan_period_min_ms;
        let seq = self.mms[mm as usize].seq;
        let t = &mut self.tasks[task as usize];
        t.run(seq);
        if runtime_ns.saturating_sub(t.stamp_ns) <= u64::from(t.period_ms) * 1_000_000 {
            return false;
        }
        t.stamp_ns = runtime_ns;
        if !t.started {
            t.started = true;
            t.period_ms = min;
        }
        now_ms >= self.mms[mm as usize].next_ms
    }
    /// The queued work: takes the process's turn, unless another thread was first.
    pub fn claim(&mut self, task: u32, mm: u32, now_ms: u64) -> bool {
        let own = self.tasks[task as usize].period_ms;
        let gate = if self.knobs.own_period_gate { own } else { 2 * self.knobs.scan_period_min_ms };
        let m = &mut self.mms[mm as usize];
        if now_ms < m.next_ms {
            return false;
        }
        m.next_ms = now_ms + u64::from(gate);
        true
    }
}

/// Takes the next budget of a sweep over mappings `(start, end)` in address order, and calls `mark` for each range. At
/// the end of the address space, the next call counts a sweep and starts at zero.
pub fn walk(
    t: &SchedNumaTunables,
    m: &mut MmScan,
    vmas: usize,
    bounds: impl Fn(usize) -> (u64, u64),
    mut mark: impl FnMut(Stretch),
) {
    let mut left = i128::from(t.scan_size_mb) << 20;
    let mut at = (0..vmas).find(|&i| bounds(i).1 > m.offset);
    if at.is_none() {
        m.seq += 1;
        m.offset = 0;
        at = (vmas > 0).then_some(0);
    }
    let Some(first) = at else { return };
    for vma in first..vmas {
        let (start, end) = bounds(vma);
        let from = start.max(m.offset);
        let to = (from + left as u64).div_ceil(STEP).saturating_mul(STEP).min(end);
        mark(Stretch { vma, from, to });
        left -= i128::from(to - from);
        m.offset = to;
        if left <= 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(threads: usize) -> SchedNuma {
        let mut s = SchedNuma::new(SchedNumaTunables::default(), 4, 1);
        (0..threads).for_each(|_| s.fork(0));
        s
    }

    /// Number of scans in `seconds`, of a process with `threads` threads that always run at the longest period.
    fn scans(threads: usize, seconds: u64) -> u64 {
        let mut s = one(threads);
        for (i, t) in s.tasks.iter_mut().enumerate() {
            t.started = true;
            t.period_ms = 1600;
            // Threads do not tick at the same time.
            t.stamp_ns = (i as u64 * 1600 / threads as u64) * 1_000_000;
        }
        let mut scans = 0;
        for ms in (1600..1600 + seconds * 1000).step_by(4) {
            for task in 0..threads as u32 {
                if s.tick(task, 0, ms * 1_000_000, ms) && s.claim(task, 0, ms) {
                    scans += 1;
                }
            }
        }
        scans
    }

    #[test]
    fn section_2_3_the_back_off_does_not_bite_from_eight_threads_on() {
        let full = 5 * 100;
        for threads in [12, 24, 48] {
            let n = scans(threads, 100);
            // Tries that do not come at the end of the 200 ms waste a part of them.
            assert!(n > full * 7 / 10 && n <= full, "{threads} threads: {n}");
        }
        let single = scans(1, 100);
        assert!((60..=63).contains(&single), "one thread: every 1.6 s, {single}");
    }

    #[test]
    fn section_2_3_first_after_a_second_of_cpu_time_then_every_period() {
        let mut s = one(1);
        assert!(!s.tick(0, 0, 1_000_000_000, 5000), "not before more than a second");
        assert!(s.tick(0, 0, 1_000_000_001, 5000));
        assert!(s.claim(0, 0, 5000));
        assert_eq!(s.mms[0].next_ms, 5200, "twice the shortest period");
        assert!(!s.tick(0, 0, 1_100_000_002, 5100), "its period is over, but the process was scanned");
        assert!(s.tick(0, 0, 1_200_000_003, 5200));
    }

    #[test]
    fn section_2_3_one_thread_wins_the_slot() {
        let mut s = one(2);
        assert!(s.claim(0, 0, 0));
        assert!(!s.claim(1, 0, 100));
        assert!(s.claim(1, 0, 200));
    }

    #[test]
    fn section_8_4_gate_by_the_own_period() {
        let mut s = one(1);
        s.knobs.own_period_gate = true;
        s.tasks[0].period_ms = 1600;
        assert!(s.claim(0, 0, 0));
        assert_eq!(s.mms[0].next_ms, 1600);
    }

    #[test]
    fn section_2_3_a_sweep_counts_virtual_length_and_ends_at_the_next_call() {
        const MB: u64 = 1 << 20;
        let t = SchedNumaTunables::default();
        let vmas = [(4096, 100 * MB), (1000 * MB, 1300 * MB)];
        let mut m = MmScan::default();
        let call = |m: &mut MmScan| {
            let mut out = Vec::new();
            walk(&t, m, vmas.len(), |i| vmas[i], |s| out.push((s.vma, s.from, s.to)));
            out
        };
        let first = call(&mut m);
        assert_eq!(first[0], (0, 4096, 100 * MB));
        // 256 MB less the first mapping's part, rounded up to 2 MiB.
        assert_eq!(first[1], (1, 1000 * MB, 1158 * MB));
        assert_eq!(call(&mut m), [(1, 1158 * MB, 1300 * MB)]);
        assert_eq!(m.seq, 0, "the sweep is complete, but not counted yet");
        assert_eq!(call(&mut m), first);
        assert_eq!(m.seq, 1);
    }

    #[test]
    fn section_2_5_length_of_a_sweep() {
        // 3 GiB at 256 MiB per 200 ms.
        let t = SchedNumaTunables::default();
        let mut m = MmScan::default();
        let mut calls = 0;
        while m.seq == 0 {
            walk(&t, &mut m, 1, |_| (0, 3 << 30), |_| {});
            calls += 1;
        }
        assert_eq!((calls - 1) * 200, 2400);
    }

    #[test]
    fn an_empty_address_space_is_swept_at_once() {
        let mut m = MmScan::default();
        walk(&SchedNumaTunables::default(), &mut m, 0, |_| (0, 0), |_| panic!("nothing to mark"));
        assert_eq!(m.seq, 1);
    }
}
