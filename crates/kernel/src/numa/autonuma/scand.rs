//! Pace of knuma_scand (designs-2012.md section 1.3): bursts of `pages_to_scan`, a short sleep after each burst, and a
//! long one after all processes have been walked.
//!
//! The driver walks address spaces in the order of their creation. It reports what it passed to [`Scand::progress`] and
//! sleeps as the answer says. Progress is 1 per present base page, 512 per huge page and 1 per area passed over.

use super::tunables::AutoNumaTunables;

/// What the daemon does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It continues.
    None,
    /// It sleeps this many ms, then continues where it is.
    Burst(u32),
    /// It sleeps this many ms, then starts with the first process.
    Pass(u32),
}

/// Progress inside a burst, and position of the walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scand {
    done: u64,
    /// Address space being walked: index in order of creation.
    pub mm: usize,
    /// Address at which the walk continues; 0 if this process has not been started.
    pub addr: u64,
}

impl Scand {
    /// Adds `pages` to the progress of the burst.
    pub fn progress(&mut self, t: &AutoNumaTunables, pages: u64) -> Pause {
        self.done += pages;
        if self.done < u64::from(t.pages_to_scan) {
            return Pause::None;
        }
        self.done = 0;
        Pause::Burst(t.scan_sleep_millisecs)
    }
    /// Goes to the next address space.
    pub fn next_mm(&mut self) {
        self.mm += 1;
        self.addr = 0;
    }
    /// Goes to the first process, after the last one.
    pub fn end_of_list(&mut self, t: &AutoNumaTunables) -> Pause {
        *self = Self::default();
        Pause::Pass(t.scan_sleep_pass_millisecs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time to walk `huge` huge pages once, including the sleep after the pass, ms.
    fn cycle_ms(huge: u64) -> u64 {
        let t = AutoNumaTunables::default();
        let mut s = Scand::default();
        let mut ms = 0;
        for _ in 0..huge {
            if let Pause::Burst(sleep) = s.progress(&t, 512) {
                ms += u64::from(sleep);
            }
        }
        match s.end_of_list(&t) {
            Pause::Pass(sleep) => ms + u64::from(sleep),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn section_1_3_cycle_time_is_memory_over_1_25_gib_plus_10_s() {
        assert_eq!(cycle_ms(3072), 14_800, "6 GiB: 4.8 s + 10 s");
        assert_eq!(cycle_ms(0), 10_000);
        let t = AutoNumaTunables::default();
        assert_eq!(u64::from(t.pages_to_scan) * 1000 / u64::from(t.scan_sleep_millisecs), 327_680, "pages/s");
    }

    #[test]
    fn section_5_4_faults_of_specjbb_say_how_much_is_touched() {
        // x / (x + 10) of 327680 pages/s = 196 k/s: 15 s of scanning, 4.9 M pages.
        let scanning = 196_000.0 * 10.0 / (327_680.0 - 196_000.0);
        assert!((scanning - 15.0_f64).abs() < 0.2);
        assert!((scanning * 327_680.0 / 4.9e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_walk_restarts_at_the_first_process() {
        let mut s = Scand { done: 7, mm: 3, addr: 0x1000 };
        s.next_mm();
        assert_eq!((s.mm, s.addr), (4, 0));
        s.end_of_list(&AutoNumaTunables::default());
        assert_eq!(s, Scand::default());
    }
}
