//! The queue of the swap device.

use numalab_kernel::mm::reclaim::SwapTunables;
use numalab_kernel::mm::Work;

/// The queue of the swap device: writes go one after the other at its sustained pace, reads beside them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SwapQueue {
    free_ns: u64,
}

impl SwapQueue {
    /// Waits at `now` for what an operation has written and read; returns the time.
    pub fn wait(&mut self, now: u64, work: &Work, swap: &SwapTunables) -> u64 {
        let writes = (work.swapped_out + work.written) * u64::from(swap.write_page_ns);
        let written = if writes > 0 {
            self.free_ns = self.free_ns.max(now) + writes;
            self.free_ns - now
        } else {
            0
        };
        written + work.swapped_in * u64::from(swap.read_page_ns)
    }
}
