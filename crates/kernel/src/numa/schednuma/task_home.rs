//! The state of a thread.

use super::tunables::SchedNumaTunables;

/// The state of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHome {
    /// Home node; `None` at the start.
    pub home: Option<u32>,
    /// Pages by node, decayed once per sweep.
    pub faults: Vec<u64>,
    /// Scan period, ms of CPU time.
    pub period_ms: u32,
    /// Sweep in which the thread was last placed.
    pub scan_seq: u64,
    /// Sweep in which the home was last set; before the first, the sweep of the thread's birth less 1.
    pub migrate_seq: i64,
    /// CPU time at the last try to scan, ns.
    pub stamp_ns: u64,
    /// The first period, which is the delay, is over.
    pub started: bool,
    /// The thread has run. Workloads create all their threads at the start; a thread that has waited since then counts
    /// as created when it first runs.
    pub ran: bool,
}

impl TaskHome {
    /// A thread created in sweep `seq` of its process.
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
    /// Notes that the thread runs, in sweep `seq` of its process.
    pub(super) fn run(&mut self, seq: u64) {
        if !self.ran {
            self.ran = true;
            (self.scan_seq, self.migrate_seq) = (seq, seq as i64 - 1);
        }
    }
}
