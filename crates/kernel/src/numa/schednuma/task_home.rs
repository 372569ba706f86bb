//! What schednuma knows of a thread.

use super::tunables::SchedNumaTunables;

/// What a thread knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHome {
    /// Home node; `None` at the start.
    pub home: Option<u32>,
    /// Pages by node, decayed once per sweep.
    pub faults: Vec<u64>,
    /// Scan period, ms of CPU time.
    pub period_ms: u32,
    /// Sweep the thread last placed itself in.
    pub scan_seq: u64,
    /// Sweep in which the home was last set (before the first: the sweep of its birth less 1).
    pub migrate_seq: i64,
    /// CPU time at the last try to scan, ns.
    pub stamp_ns: u64,
    /// The first period, the delay, is over.
    pub started: bool,
    /// It has run. A thread that has waited since it was made stands for one made when it first runs: workloads make
    /// all their threads at the start.
    pub ran: bool,
}

impl TaskHome {
    /// A thread born in sweep `seq` of its process.
    pub fn new(t: &SchedNumaTunables, nodes: usize, seq: u64) -> Self {
        Self {
            home: None,
            faults: vec![0; nodes],
            period_ms: t.scan_delay_ms,
            scan_seq: seq,
            migrate_seq: seq as i64 - 1,
            stamp_ns: 0,
            started: false,
            ran: false,
        }
    }
    /// The thread runs, in sweep `seq` of its process.
    pub(super) fn run(&mut self, seq: u64) {
        if !self.ran {
            self.ran = true;
            (self.scan_seq, self.migrate_seq) = (seq, seq as i64 - 1);
        }
    }
}
