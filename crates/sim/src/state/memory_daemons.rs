//! State of the kernel threads of memory management: kswapd, kcompactd, khugepaged.

use numalab_kernel::mm::khugepaged::Pace;
use numalab_kernel::mm::MmConfig;

/// Proactive compaction looks at a node this often, ns.
pub(crate) const PROACTIVE_NS: u64 = 500_000_000;

pub(crate) const MS: u64 = 1_000_000;

/// State of the kernel threads.
#[derive(Clone, Debug)]
pub struct Daemons {
    /// Time that kswapd and kcompactd of a node have used beyond the epochs so far, ns.
    pub(crate) over_ns: Vec<u64>,
    pub(crate) proactive_at_ns: u64,
    pub(crate) khugepaged: Khugepaged,
}

/// Where khugepaged is.
#[derive(Clone, Copy, Debug)]
pub struct Khugepaged {
    pub(crate) pace: Pace,
    pub(crate) awake_at_ns: u64,
    pub(crate) process: usize,
    /// The address space has been entered.
    pub(crate) entered: bool,
    pub(crate) position: usize,
    pub(crate) chunk: usize,
}

impl Daemons {
    /// All asleep.
    pub fn new(nodes: usize, cfg: &MmConfig) -> Self {
        let sleep = u64::from(cfg.khugepaged.scan_sleep_millisecs) * MS;
        let khugepaged = Khugepaged {
            pace: Pace::new(&cfg.khugepaged),
            awake_at_ns: sleep,
            process: 0,
            entered: false,
            position: 0,
            chunk: 0,
        };
        Self { over_ns: vec![0; nodes], proactive_at_ns: PROACTIVE_NS, khugepaged }
    }
}
