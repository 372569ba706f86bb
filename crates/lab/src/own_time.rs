//! The time in which a child of this process could run.
//!
//! Problem: on a busy host a guest that is well boots slowly, and a budget of wall time ends it. Approach: what its
//! threads waited for a processor of the host does not count (`run_delay` of `/proc/PID/task/*/schedstat`,
//! `sched_info_arrive`). A guest that sleeps or hangs waits for none, so its budgets still end.

use std::fs;
use std::time::{Duration, Instant};

/// A clock of a child that started with it.
#[derive(Clone, Debug)]
pub struct OwnTime {
    started: Instant,
    pid: u32,
    /// The longest wait seen, since threads end and take theirs with them.
    waited: Duration,
    /// What the clock showed last: it never goes back, although waits become known later than they happen.
    shown: Duration,
}

impl OwnTime {
    /// The clock of a child that starts now.
    pub fn start(pid: u32) -> Self {
        Self { started: Instant::now(), pid, waited: Duration::ZERO, shown: Duration::ZERO }
    }

    /// Wall time since the start.
    pub fn wall(&self) -> Duration {
        self.started.elapsed()
    }

    /// Wall time since the start, without what the thread that waited longest has waited for a processor. On a host
    /// without these statistics it is wall time.
    pub fn elapsed(&mut self) -> Duration {
        self.waited = self.waited.max(waited(self.pid));
        self.shown = self.shown.max(self.wall().saturating_sub(self.waited));
        self.shown
    }
}

/// What the thread of a process that waited longest for a processor has waited; nothing if that is not known.
fn waited(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|t| fs::read_to_string(t.path().join("schedstat")).ok());
    texts.filter_map(|text| run_delay(&text)).max().unwrap_or(Duration::ZERO)
}

/// The second figure of `schedstat`: ns of waiting on a run queue.
fn run_delay(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_second_figure_is_the_wait() {
        assert_eq!(run_delay("12 3000000 4\n"), Some(Duration::from_millis(3)));
        assert_eq!(run_delay("12"), None);
        assert_eq!(run_delay("a b c"), None);
    }

    #[test]
    fn a_wait_that_becomes_known_later_does_not_turn_the_clock_back() {
        let started = Instant::now() - Duration::from_secs(10);
        let mut time = OwnTime { started, pid: std::process::id(), waited: Duration::ZERO, shown: Duration::ZERO };
        let before = time.elapsed();
        time.waited += Duration::from_secs(5);
        assert!(time.elapsed() >= before && time.elapsed() < before + Duration::from_secs(1), "{before:?}");
    }

    #[test]
    fn a_child_that_sleeps_has_wall_time() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut time = OwnTime::start(child.id());
        std::thread::sleep(Duration::from_millis(200));
        let own = time.elapsed();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(own >= Duration::from_millis(100), "{own:?} of 200 ms");
    }

    /// More threads than processors: each waits most of the time, and that does not count.
    #[test]
    fn a_child_that_others_keep_waiting_has_less_than_wall_time() {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let processors = std::thread::available_parallelism().unwrap().get();
        let mut children: Vec<_> = (0..4 * processors).map(|_| busy()).collect();
        let mut times: Vec<OwnTime> = children.iter().map(|c| OwnTime::start(c.id())).collect();
        std::thread::sleep(Duration::from_millis(1500));
        let shares: Vec<f64> = times.iter_mut().map(|t| t.elapsed().as_secs_f64() / t.wall().as_secs_f64()).collect();
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let known = fs::read_to_string("/proc/self/schedstat").is_ok();
        let least = shares.iter().copied().fold(1.0, f64::min);
        assert!(!known || least < 0.6, "four children a processor, and each could run for {shares:?} of the time");
    }
}
