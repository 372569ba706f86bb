//! What a machine does beside the workload: kernel threads of its CPUs, daemons, timers that fire late.
//!
//! The figures are those of the sample output of the kernel's osnoise tracer (Documentation/trace/osnoise-tracer.rst):
//! eight CPUs, one second each, with time lost and counts by cause. Four CPUs lose next to nothing: their ticks, and up
//! to two threads that take 57 us each. The other four lose 15.4 ms to 80 further threads, 190 us each.

/// What a machine does beside the workload (`[background]` of a machine file).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// Time between two turns of the kernel thread of a CPU, ms. Source: `vm.stat_interval`, one second
    /// (mm/vmstat.c, `vmstat_update`).
    pub cpu_thread_period_ms: f64,
    /// Mean CPU time of such a turn, us. Source: see [the module](self).
    pub cpu_thread_us: f64,
    /// Daemons and kernel threads that may run on any CPU, at most 1,024. Source: (estimate) one for each CPU that
    /// loses more than its ticks in the sample.
    pub daemons: u32,
    /// Mean time between two turns of a daemon, ms. Source: 80 turns a second of four daemons, see [the module](self).
    pub daemon_period_ms: f64,
    /// Mean CPU time of such a turn, us. Source: see [the module](self).
    pub daemon_us: f64,
    /// A timer fires up to so much late, us. Source: prctl(2), `PR_SET_TIMERSLACK`: 50 us.
    pub timer_slack_us: f64,
}

impl Background {
    /// A machine that does nothing beside the workload.
    pub const NONE: Self = Self {
        cpu_thread_period_ms: 1000.0,
        cpu_thread_us: 0.0,
        daemons: 0,
        daemon_period_ms: 50.0,
        daemon_us: 0.0,
        timer_slack_us: 0.0,
    };
}

impl Default for Background {
    /// The machine of the osnoise sample.
    fn default() -> Self {
        Self { cpu_thread_us: 57.0, daemons: 4, daemon_us: 190.0, timer_slack_us: 50.0, ..Self::NONE }
    }
}
