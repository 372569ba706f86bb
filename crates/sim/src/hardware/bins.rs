//! The bins that time is cut into where the model counts what a pipe lets through.

/// Length of a bin, ns. An epoch has a whole number of them.
pub const BIN_NS: u64 = 250_000;

/// End of the bin that `ns` lies in, ns.
#[inline]
pub fn bin_end_ns(ns: u64) -> u64 {
    (ns / BIN_NS + 1) * BIN_NS
}

/// The fullest of some bins, at least 0.
#[inline]
pub(crate) fn fullest(fill: &[f64]) -> f64 {
    // Four at a time, so that no maximum waits for the one before.
    let (fours, rest) = fill.as_chunks::<4>();
    let mut most = [0.0_f64; 4];
    for four in fours {
        most = std::array::from_fn(|i| if four[i] > most[i] { four[i] } else { most[i] });
    }
    rest.iter().chain(&most).fold(0.0, |most, &fill| if fill > most { fill } else { most })
}
