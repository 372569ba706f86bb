//! Conversions between whole numbers and floats on hot paths.

/// Bytes of a cache line.
pub const LINE_BYTES: u64 = 64;

/// `n` below 2^63 as a float: the conversion of a signed number is one instruction, that of an unsigned one ten.
#[inline]
pub fn real(n: u64) -> f64 {
    debug_assert!(n >> 63 == 0);
    n as i64 as f64
}

/// The whole part of `x`, which is from 0 to below 2^63, for the same reason.
#[inline]
pub fn whole(x: f64) -> u64 {
    debug_assert!((0.0..9.2e18).contains(&x));
    x as i64 as u64
}
