//! How hardware threads of one core slow each other down (machines.md section 7).
//!
//! Speeds are relative to running alone on the core, 0..=1.

/// Hardware threads that a core can have.
pub const MAX_THREADS: usize = 8;
/// What 1, 2, … threads that only compute get done together, relative to one alone. Two: machines.md section 7. More
/// (estimate): four threads of a POWER8 core do 1.30 times the work of two, and eight 1.07 times that of four (IBM's
/// factors for commercial work), and between these in equal steps.
pub const COMPUTE_TOTAL: [f64; MAX_THREADS] = [1.0, 1.24, 1.43, 1.61, 1.64, 1.67, 1.69, 1.72];
/// Speed of a thread that only computes, beside one working sibling.
pub const COMPUTE_SPEED: f64 = COMPUTE_TOTAL[1] / 2.0;
/// Added to [`COMPUTE_SPEED`] for a thread that only waits for memory.
pub const MEMORY_BONUS: f64 = 0.28;
/// Speed of a working thread beside a sibling that spins.
pub const SPIN_SPEED: f64 = 0.75;
/// Part of its lines in flight and of its rate cap that a streaming thread keeps beside a streaming sibling. All
/// threads of a core together get 1.1 times the rate of one thread, unless the node is saturated.
pub const STREAM_SHARE: f64 = 0.55;

/// State of the other hardware threads of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sibling {
    /// Idle, or the core has no second thread.
    Idle,
    /// Busy-waits.
    Spinning,
    /// So many of them work, at least one.
    Working(u8),
}

impl Sibling {
    /// All states beside which a thread of a core with `threads` hardware threads can be.
    pub fn all(threads: usize) -> impl Iterator<Item = Self> {
        let working = (1..threads.clamp(2, MAX_THREADS) as u8).map(Self::Working);
        [Self::Idle, Self::Spinning].into_iter().chain(working)
    }

    /// Place of the state in the order of [`Sibling::all`].
    #[inline]
    pub fn index(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Spinning => 1,
            Self::Working(n) => 1 + usize::from(n).clamp(1, MAX_THREADS - 1),
        }
    }

    /// Whether a sibling works.
    #[inline]
    pub fn works(self) -> bool {
        matches!(self, Self::Working(_))
    }
}

/// Speed of a thread beside a working sibling. `memory_share` is the part of its time that it stalls on memory when
/// alone, 0..=1.
#[inline]
pub fn pair_speed(memory_share: f64) -> f64 {
    COMPUTE_SPEED + MEMORY_BONUS * memory_share.clamp(0.0, 1.0)
}

/// Speed of a thread beside `others` working siblings, at least one. Waiting for memory wins back the same part of what
/// computing loses as it does in a pair.
#[inline]
pub fn crowd_speed(memory_share: f64, others: u8) -> f64 {
    let threads = (usize::from(others) + 1).min(MAX_THREADS);
    if threads <= 2 {
        return pair_speed(memory_share);
    }
    let compute = COMPUTE_TOTAL[threads - 1] / threads as f64;
    let won_back = MEMORY_BONUS / (1.0 - COMPUTE_SPEED);
    compute + (1.0 - compute) * won_back * memory_share.clamp(0.0, 1.0)
}

/// Speed of a thread beside `sibling`. A spinning sibling never costs more than a working one.
#[inline]
pub fn speed(memory_share: f64, sibling: Sibling) -> f64 {
    match sibling {
        Sibling::Idle => 1.0,
        Sibling::Spinning => pair_speed(memory_share).max(SPIN_SPEED),
        Sibling::Working(others) => crowd_speed(memory_share, others),
    }
}

/// Factor on the lines in flight and the rate cap of a streaming thread beside `sibling`.
#[inline]
pub fn stream_share(sibling: Sibling) -> f64 {
    match sibling {
        Sibling::Idle => 1.0,
        Sibling::Spinning => SPIN_SPEED,
        Sibling::Working(1) => STREAM_SHARE,
        Sibling::Working(others) => 2.0 * STREAM_SHARE / (f64::from(others) + 1.0),
    }
}

/// Part of the time that is stalled on memory, from computing and stalled time in the same unit; 0 if both are 0.
#[inline]
pub fn memory_share(compute: f64, stall: f64) -> f64 {
    let all = compute + stall;
    if all > 0.0 {
        stall / all
    } else {
        0.0
    }
}
