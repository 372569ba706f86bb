//! What reading an input may cost: CPU time of the thread and memory, by the length of the input.

use peak_alloc::PeakAlloc;
use rustix::time::{clock_gettime, ClockId};

/// The allocator that counts. A program that measures costs has one as its global allocator; all count together.
const MEMORY: PeakAlloc = PeakAlloc;

/// What an input may cost: a base, for what a reader builds from a few bytes by its own limits, and a rate.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// CPU time whatever the length, ms.
    pub base_ms: u64,
    /// Memory whatever the length, MiB.
    pub base_mib: usize,
}

/// CPU time for each byte of input, ns: some ten thousand instructions.
const NS_PER_BYTE: u64 = 10_000;

/// Memory for each byte of input, bytes.
const BYTES_PER_BYTE: usize = 2_048;

/// What reading an input did cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Most memory above what was there before, bytes.
    pub peak_bytes: usize,
}

/// CPU time of this thread, ns.
fn cpu_ns() -> u64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

impl Cost {
    /// Reads `input` with `read`, and measures. Memory counts only where [`PeakAlloc`] is the global allocator, and
    /// that of other threads counts too.
    pub fn of(read: fn(&[u8]), input: &[u8]) -> Self {
        MEMORY.reset_peak_usage();
        let (held_bytes, began_ns) = (MEMORY.current_usage(), cpu_ns());
        read(input);
        Self { cpu_ns: cpu_ns() - began_ns, peak_bytes: MEMORY.peak_usage().saturating_sub(held_bytes) }
    }
}

impl Budget {
    /// Whether an input of `len` bytes may cost that much.
    ///
    /// # Errors
    /// What it took, and what it may take.
    pub fn allows(self, len: usize, cost: Cost) -> Result<(), String> {
        let most_ns = self.base_ms * 1_000_000 + len as u64 * NS_PER_BYTE;
        let most_bytes = (self.base_mib << 20) + len * BYTES_PER_BYTE;
        if cost.cpu_ns > most_ns {
            return Err(format!(
                "{len} bytes took {} ms of CPU, of {} ms",
                cost.cpu_ns / 1_000_000,
                most_ns / 1_000_000
            ));
        }
        if cost.peak_bytes > most_bytes {
            return Err(format!("{len} bytes took {} KiB of memory, of {}", cost.peak_bytes >> 10, most_bytes >> 10));
        }
        Ok(())
    }
}
