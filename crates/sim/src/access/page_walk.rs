//! Page walks of random accesses: what the TLB adds to the latency of memory (machines.md section 3).
//!
//! A span may be mapped by huge and by base pages at once. Each kind has its own reach and its own tables, so the
//! walk of a mean access is the mix of both by their share of the span.

use numalab_kernel::hw::reuse_window::reuse_miss;
use numalab_kernel::hw::tlb::{PageSize, TlbModel, Walk};

/// The walk of a mean access to `footprint_bytes` of which `huge` (0..=1) is mapped by huge pages, for a thread that
/// has `llc_share_bytes` of its last-level cache. Skewed accesses (`alpha` above 0) miss the TLB as they would a cache
/// of the bytes that it covers: what is used together lies together, which is what copying collectors see to.
pub fn mean_walk(tlb: &TlbModel, footprint_bytes: u64, huge: f64, llc_share_bytes: u64, alpha: f64) -> Walk {
    let part = |size: PageSize, share: f64| {
        let bytes = (footprint_bytes as f64 * share) as u64;
        let w = tlb.walk(size, bytes, llc_share_bytes);
        let share = if alpha > 0.0 { share * reuse_miss(alpha, tlb.reach_bytes(size), bytes) } else { share };
        (w.fixed_ns * share, w.leaf_miss * share)
    };
    let (small, large) = (part(PageSize::Base, 1.0 - huge), part(PageSize::Huge, huge));
    Walk { fixed_ns: small.0 + large.0, leaf_miss: small.1 + large.1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naples() -> TlbModel {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/machines/naples-2s.toml");
        TlbModel::new(&numalab_model::machine::from_toml(file, &std::fs::read_to_string(file).unwrap()).unwrap(), false)
    }

    #[test]
    fn huge_pages_need_no_walk_and_base_pages_do() {
        let (tlb, gib, share) = (naples(), 1u64 << 30, 8 << 20);
        assert_eq!(mean_walk(&tlb, 4 * gib, 1.0, share, 0.0), Walk::default());
        let small = mean_walk(&tlb, 4 * gib, 0.0, share, 0.0);
        assert!((small.ns(96.0) - 44.1).abs() < 0.1, "{small:?}");
        let half = mean_walk(&tlb, 8 * gib, 0.5, share, 0.0);
        assert!((half.ns(96.0) - small.ns(96.0) / 2.0).abs() < 1e-9, "half the accesses walk");
        assert_eq!(mean_walk(&tlb, 6 << 20, 0.0, share, 0.0), Walk::default(), "within reach");
    }
}
