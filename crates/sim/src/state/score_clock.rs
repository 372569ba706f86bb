//! The seconds by which a score is divided.

/// The seconds of a score: those during which at least one thread's clock ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreClock {
    running: u32,
    since_ns: u64,
    total_ns: u64,
    used: bool,
}

impl ScoreClock {
    /// A thread starts or stops its clock.
    pub fn set(&mut self, run: bool, now_ns: u64) {
        if run {
            self.start(now_ns);
        } else {
            self.stop(now_ns);
        }
    }
    /// A thread starts its clock.
    pub fn start(&mut self, now_ns: u64) {
        self.used = true;
        if self.running == 0 {
            self.since_ns = now_ns;
        }
        self.running += 1;
    }
    /// A thread stops its clock.
    pub fn stop(&mut self, now_ns: u64) {
        self.running = self.running.saturating_sub(1);
        if self.running == 0 {
            self.total_ns += now_ns.saturating_sub(self.since_ns);
        }
    }
    /// Time to divide by at the end of a run at `end_ns`: the clocks', or the whole run's if none was used.
    pub fn read_ns(&self, end_ns: u64) -> u64 {
        match (self.used, self.running) {
            (false, _) => end_ns,
            (true, 0) => self.total_ns,
            (true, _) => self.total_ns + end_ns.saturating_sub(self.since_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_clock_counts_the_union() {
        let mut c = ScoreClock::default();
        assert_eq!(c.read_ns(77), 77);
        c.start(10);
        c.start(20);
        c.stop(30);
        c.stop(50);
        c.start(60);
        assert_eq!(c.read_ns(65), 45);
        c.stop(70);
        assert_eq!(c.read_ns(100), 50);
    }
}
