//! Latency of a random access by distance and page size (thp-and-allocation.md section 15.1).
//!
//! `T(d, s) = (L(d) + b) * (1 + k_s)`, with `k_s = 0` for huge pages. In terms of the hardware model it is `L + b +
//! t_walk + P * L(d_pt)`, with the page tables on the node of the data. The footprint is far above the TLB reach.

use crate::hw::tlb::{Accessed, TlbModel};
use numalab_nouns::machine::Machine;

/// A footprint far above the reach of base pages, for which the page tables of huge pages fit into the caches, bytes.
const FOOTPRINT_BYTES: u64 = 32 << 30;

/// Random-access latency on a machine, native or in a guest.
#[derive(Clone, Debug)]
pub struct AccessLatency<'a> {
    machine: &'a Machine,
    tlb: TlbModel,
}

impl<'a> AccessLatency<'a> {
    /// The latencies of a machine; `guest` selects two-dimensional page walks.
    pub fn new(machine: &'a Machine, guest: bool) -> Self {
        Self { machine, tlb: TlbModel::new(machine, guest) }
    }
    /// Latency of a dependent random access from a CPU of node `from` to memory of node `to`, ns.
    pub fn ns(&self, from: usize, to: usize, huge: bool) -> f64 {
        let load = self.machine.latency_ns[from][to];
        // By the fitted constants all leaf entries come from memory here; a walker says itself which lines do.
        let (l2_bytes, llc_bytes) = match self.machine.tlb.walker {
            Some(_) => (self.machine.cache.l2_bytes, self.machine.llcs.first().map_or(0, |l| l.size_bytes)),
            None => (0, 0),
        };
        let accessed = Accessed { bytes: FOOTPRINT_BYTES, alpha: 0.0, l2_bytes, llc_bytes };
        let walk = self.tlb.mean_walk(f64::from(u8::from(huge)), &accessed);
        self.tlb.random_access_ns(load, walk, load)
    }
}

#[cfg(test)]
mod tests {
    /// The acceptance model (section 15.1, vector 30), ns: idle latency `load_ns`, overhead `b_ns`, walk share `k` of
    /// base pages.
    fn fitted_ns(load_ns: f64, b_ns: f64, k: f64, huge: bool) -> f64 {
        (load_ns + b_ns) * if huge { 1.0 } else { 1.0 + k }
    }

    /// Whether a huge page at `l1_ns` is faster than a base page at `l0_ns`: the crossover of section 15.2 (vector
    /// 31).
    fn remote_huge_wins(l0_ns: f64, l1_ns: f64, b_ns: f64, k: f64) -> bool {
        (l1_ns + b_ns) / (l0_ns + b_ns) < 1.0 + k
    }

    /// Latency L by class, b, k; then the predicted and the measured ratios of D0 4k, D1 THP, D1 4k, D2 THP, D2 4k to
    /// D0 THP.
    type Row = (&'static [f64], f64, f64, &'static [f64], &'static [f64]);
    const ACCEPTANCE: [Row; 3] = [
        (&[96.0, 143.0, 233.0], 9.0, 0.42, &[1.42, 1.448, 2.056, 2.305, 3.273], &[1.43, 1.45, 2.06, 2.31, 3.24]),
        (&[65.0, 108.0], 9.0, 1.02, &[2.02, 1.581, 3.194], &[2.01, 1.58, 3.22]),
        (&[78.0, 133.0], 17.0, 1.02, &[2.02, 1.579, 3.190], &[2.01, 1.58, 3.22]),
    ];

    fn ratios(l: &[f64], b: f64, k: f64) -> Vec<f64> {
        let d0 = fitted_ns(l[0], b, k, true);
        let mut out = vec![fitted_ns(l[0], b, k, false) / d0];
        for load in &l[1..] {
            out.extend([true, false].map(|huge| fitted_ns(*load, b, k, huge) / d0));
        }
        out
    }

    #[test]
    fn acceptance_table_15() {
        for (l, b, k, predicted, measured) in ACCEPTANCE {
            for ((got, p), m) in ratios(l, b, k).iter().zip(predicted).zip(measured) {
                assert!((got - p).abs() < 0.0006, "{got}, predicted {p}");
                assert!((got / m - 1.0).abs() < 0.011, "{got}, measured {m}");
            }
        }
        let haswell = fitted_ns(140.0, 9.0, 0.321, true) / fitted_ns(90.0, 9.0, 0.321, false);
        assert!((haswell - 1.139).abs() < 0.001, "{haswell}");
    }

    #[test]
    fn vector_30_naples_latencies() {
        let t = |l, huge| fitted_ns(l, 9.0, 0.42, huge);
        let table = [t(96.0, true), t(96.0, false), t(143.0, true), t(143.0, false), t(233.0, true), t(233.0, false)];
        for (got, expected) in table.iter().zip([105.0, 149.1, 152.0, 215.84, 242.0, 343.64]) {
            assert!((got - expected).abs() < 0.001, "{got} {expected}");
        }
        let mail = [1.0, 1.43, 1.45, 2.06, 2.31, 3.24];
        assert!(table.iter().zip(mail).all(|(got, m)| (got / 105.0 / m - 1.0).abs() < 0.011));
    }

    #[test]
    fn vector_31_crossover() {
        let naples = |k| remote_huge_wins(96.0, 143.0, 9.0, k);
        assert_eq!([0.30, 0.42, 0.46].map(naples), [false, false, true]);
        assert!(remote_huge_wins(65.0, 108.0, 9.0, 1.02));
    }
}
