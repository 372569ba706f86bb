//! Home nodes (designs-2012.md section 2.5).

use super::sched_numa::SchedNuma;
use crate::numa::autonuma::stats::busiest;

impl SchedNuma {
    /// Records a fault of `task`, in sweep `seq`, on pages that are now on `node`. Returns the new home if it was set.
    /// If the sweep number has changed since the last fault, the thread is placed first.
    pub fn record(&mut self, task: u32, seq: u64, node: usize, pages: u64) -> Option<u32> {
        self.tasks[task as usize].run(seq);
        let changed = if self.tasks[task as usize].scan_seq != seq { self.place(task, seq) } else { None };
        self.tasks[task as usize].faults[node] += pages;
        changed
    }
    /// Makes the node with most faults the home, unless the home was set recently.
    fn place(&mut self, task: u32, seq: u64) -> Option<u32> {
        let k = &self.knobs;
        let t = &mut self.tasks[task as usize];
        t.scan_seq = seq;
        let best = busiest(&t.faults);
        let any = t.faults[best] > 0;
        t.faults.iter_mut().for_each(|f| *f /= 2);
        if !any {
            return None;
        }
        if t.home == Some(best as u32) {
            t.period_ms = (2 * t.period_ms).min(k.scan_period_max_ms);
            return None;
        }
        t.period_ms = k.scan_period_min_ms;
        let settled = seq as i64 - t.migrate_seq > i64::from(k.settle_count);
        if k.numa_settle && !settled {
            return None;
        }
        t.home = Some(best as u32);
        t.migrate_seq = seq as i64;
        t.home
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numa::schednuma::SchedNumaTunables;

    fn one() -> SchedNuma {
        let mut s = SchedNuma::new(SchedNumaTunables::default(), 4, 1);
        s.fork(0);
        s
    }

    #[test]
    fn section_2_5_the_first_home_comes_after_the_second_sweep() {
        let mut s = one();
        assert_eq!(s.record(0, 0, 3, 512), None);
        assert_eq!(s.record(0, 1, 3, 512), None, "one sweep is not enough");
        assert_eq!(s.record(0, 2, 3, 512), Some(3));
        assert_eq!(s.tasks[0].migrate_seq, 2);
    }

    #[test]
    fn a_thread_is_born_when_it_first_runs() {
        let mut s = one();
        assert_eq!((s.record(0, 7, 3, 512), s.record(0, 8, 3, 512)), (None, None), "born in sweep 7");
        assert_eq!(s.record(0, 9, 3, 512), Some(3));
    }

    #[test]
    fn section_2_5_homes_settle_for_more_than_two_sweeps() {
        let mut s = one();
        for seq in 0..=2 {
            s.record(0, seq, 3, 8);
        }
        assert_eq!(s.tasks[0].home, Some(3));
        s.record(0, 2, 1, 10_000);
        assert_eq!((s.record(0, 3, 1, 1), s.record(0, 4, 1, 1)), (None, None));
        assert_eq!(s.record(0, 5, 1, 1), Some(1));
    }

    #[test]
    fn section_2_5_periods() {
        let mut s = one();
        s.tasks[0].period_ms = 100;
        for seq in 0..=2 {
            s.record(0, seq, 3, 8);
        }
        let periods: Vec<u32> = (3..9)
            .map(|seq| {
                s.record(0, seq, 3, 8);
                s.tasks[0].period_ms
            })
            .collect();
        assert_eq!(periods, [200, 400, 800, 1600, 1600, 1600]);
        s.record(0, 9, 0, 10_000);
        s.record(0, 10, 0, 1);
        assert_eq!(s.tasks[0].period_ms, 100, "home and best differ");
    }

    #[test]
    fn section_2_5_counters_are_read_before_they_are_halved_and_ties_go_low() {
        let mut s = one();
        s.record(0, 0, 2, 1);
        s.record(0, 0, 1, 1);
        s.tasks[0].migrate_seq = -10;
        assert_eq!(s.record(0, 1, 0, 1), Some(1), "1 and 2 tie at one page, which would halve to nothing");
        assert_eq!(s.tasks[0].faults, [1, 0, 0, 0]);
    }
}
