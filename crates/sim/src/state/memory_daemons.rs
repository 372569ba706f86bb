//! State of the kernel threads of memory management: kswapd, kcompactd, khugepaged.

use crate::state::khugepaged_cursor::KhugepagedCursor;
use numalab_kernel::mm::khugepaged::Pace;
use numalab_kernel::mm::MmConfig;

/// Proactive compaction looks at a node this often, ns.
pub(crate) const PROACTIVE_NS: u64 = 500_000_000;

/// A millisecond, ns.
pub(crate) const MS: u64 = 1_000_000;

/// State of the kernel threads.
#[derive(Clone, Debug)]
pub struct Daemons {
    /// Time that kswapd and kcompactd of a node have used beyond the epochs so far, ns.
    pub(crate) over_ns: Vec<u64>,
    /// When kcompactd of each node next looks whether to compact proactively, ns.
    pub(crate) proactive_at_ns: Vec<u64>,
    /// khugepaged.
    pub(crate) khugepaged: Khugepaged,
}

/// khugepaged: where it is, how fast it goes, when it wakes up.
#[derive(Clone, Copy, Debug)]
pub struct Khugepaged {
    /// Pages looked at and pauses taken in this round.
    pub pace: Pace,
    /// When it goes on, ns.
    pub awake_at_ns: u64,
    /// Where it is.
    pub cursor: KhugepagedCursor,
}

impl Daemons {
    /// All asleep.
    pub fn new(nodes: usize, cfg: &MmConfig) -> Self {
        let sleep = u64::from(cfg.khugepaged.scan_sleep_millisecs) * MS;
        let (pace, cursor) = (Pace::new(&cfg.khugepaged), KhugepagedCursor::default());
        let khugepaged = Khugepaged { pace, awake_at_ns: sleep, cursor };
        Self { over_ns: vec![0; nodes], proactive_at_ns: vec![PROACTIVE_NS; nodes], khugepaged }
    }
}
