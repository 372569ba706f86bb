//! Epochs, occupancy of CPUs by a process, and the election of its cache.

/// Fixed-point one of an occupancy.
pub const ONE: u64 = 1 << 20;

/// Epoch of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuEpoch {
    /// Number of the epoch.
    pub epoch: u64,
    /// End of the epoch, ns.
    pub next_ns: u64,
    /// Decayed runtime of all tasks, ns.
    pub runtime_ns: u64,
}

/// Runtime of a process on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MmRuntime {
    /// Epoch of the last update.
    pub epoch: u64,
    /// Decayed runtime, ns.
    pub runtime_ns: u64,
}

/// `value` halved `times` times.
fn halved(value: u64, times: u64) -> u64 {
    u32::try_from(times).ok().and_then(|n| value.checked_shr(n)).unwrap_or(0)
}

impl CpuEpoch {
    /// Advances to `now_ns`.
    pub fn advance(&mut self, now_ns: u64, period_ns: u64) {
        if now_ns <= self.next_ns {
            return;
        }
        let n = (now_ns - self.next_ns).div_ceil(period_ns.max(1));
        self.epoch += n;
        self.next_ns += n * period_ns;
        self.runtime_ns = halved(self.runtime_ns, n);
    }
    /// Adds runtime of a process.
    pub fn account(&mut self, mm: &mut MmRuntime, ran_ns: u64) {
        mm.catch_up(self.epoch);
        self.runtime_ns += ran_ns;
        mm.runtime_ns += ran_ns;
    }
    /// Occupancy of the CPU by a process: its share of the CPU's runtime, in parts of [`ONE`].
    pub fn occupancy(&self, mm: &MmRuntime) -> u64 {
        let mut mm = *mm;
        mm.catch_up(self.epoch);
        (u128::from(ONE) * u128::from(mm.runtime_ns) / (u128::from(self.runtime_ns) + 1)) as u64
    }
}

impl MmRuntime {
    fn catch_up(&mut self, epoch: u64) {
        self.runtime_ns = halved(self.runtime_ns, epoch.saturating_sub(self.epoch));
        self.epoch = self.epoch.max(epoch);
    }
}

/// Whether the preference of a process has ended: it last ran too many epochs ago.
pub fn timed_out(cpu_epoch: u64, mm_epoch: u64, timeout: u32) -> bool {
    cpu_epoch.saturating_sub(mm_epoch) > u64::from(timeout)
}

/// Whether the cache with the sum `best` takes the place of the present one.
pub fn elects(best: u64, present: u64) -> bool {
    best > 2 * present
}

/// The average of running threads after a look that found `running`. Divisions truncate, so it may stay below.
pub fn average_running(nr_avg: u64, running: u64, llc_cpus: u32) -> u64 {
    let step = (running as i64 - nr_avg as i64) / i64::from((llc_cpus / 4).clamp(2, 8));
    nr_avg.saturating_add_signed(step)
}

/// The cache that a task prefers: that of its process, unless NUMA balancing prefers another node for the task.
pub fn preferred_cache(of_process: Option<u32>, its_node: u32, preferred_node: Option<u32>) -> Option<u32> {
    of_process.filter(|_| preferred_node.is_none_or(|n| n == its_node))
}
