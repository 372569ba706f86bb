//! How hardware threads of one core slow each other down (machines.md section 7).
//!
//! Speeds are relative to running alone on the core, 0..=1.

/// Speed of a thread that only computes, beside a working sibling.
pub const COMPUTE_SPEED: f64 = 0.62;
/// Added to [`COMPUTE_SPEED`] for a thread that only waits for memory.
pub const MEMORY_BONUS: f64 = 0.28;
/// Speed of a working thread beside a sibling that spins.
pub const SPIN_SPEED: f64 = 0.75;
/// Part of its lines in flight and of its rate cap that a streaming thread keeps beside a streaming sibling. Both
/// together get 1.1 times the rate of one thread, unless the node is saturated.
pub const STREAM_SHARE: f64 = 0.55;

/// State of the other hardware thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sibling {
    /// Idle, or the core has no second thread.
    Idle,
    /// Busy-waits.
    Spinning,
    /// Works.
    Working,
}

/// Speed of a thread beside a working sibling. `memory_share` is the part of its time that it stalls on memory when
/// alone, 0..=1.
#[inline]
pub fn pair_speed(memory_share: f64) -> f64 {
    COMPUTE_SPEED + MEMORY_BONUS * memory_share.clamp(0.0, 1.0)
}

/// Speed of a thread beside `sibling`. A spinning sibling never costs more than a working one.
#[inline]
pub fn speed(memory_share: f64, sibling: Sibling) -> f64 {
    match sibling {
        Sibling::Idle => 1.0,
        Sibling::Spinning => pair_speed(memory_share).max(SPIN_SPEED),
        Sibling::Working => pair_speed(memory_share),
    }
}

/// Factor on the lines in flight and the rate cap of a streaming thread beside `sibling`.
#[inline]
pub fn stream_share(sibling: Sibling) -> f64 {
    match sibling {
        Sibling::Idle => 1.0,
        Sibling::Spinning => SPIN_SPEED,
        Sibling::Working => STREAM_SHARE,
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
