//! Uniform integers below a bound.

/// Uniform integer in `0..bound` from 64-bit words, without bias (Lemire's method). Returns 0 and draws nothing if
/// `bound` is 0.
#[inline]
pub(super) fn below(bound: u64, mut next_u64: impl FnMut() -> u64) -> u64 {
    if bound == 0 {
        return 0;
    }
    // The high word of the 64x64-bit product is uniform, except for `2^64 mod bound` values of the low word, which are
    // drawn again.
    let mut product = u128::from(next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let reject_below = bound.wrapping_neg() % bound;
        while (product as u64) < reject_below {
            product = u128::from(next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}
