//! Which mappings may have huge pages, and what a fault may do to get one (thp-and-allocation.md section 5).

use super::tunables::{ThpDefrag, ThpEffort, ThpEnabled, ThpTunables};
use crate::mm::alloc::gfp::Gfp;
use numalab_nouns::workload::HugeAdvice;

/// Whether a mapping with this advice may hold huge pages.
pub fn may_have_huge(thp: &ThpTunables, advice: HugeAdvice) -> bool {
    match (thp.enabled, advice) {
        (_, HugeAdvice::NoHuge) | (ThpEnabled::Never, _) => false,
        (ThpEnabled::Always, _) => true,
        (ThpEnabled::Madvise, advice) => advice == HugeAdvice::Huge,
    }
}

/// The orders of large folios below 2 MiB that a mapping with this advice may hold, one bit each.
pub fn folio_orders(thp: &ThpTunables, advice: HugeAdvice) -> u32 {
    thp.sizes.orders(advice, may_have_huge(thp, advice))
}

/// Request flags of a huge-page fault (`vma_thp_gfp_mask`), in a mapping that is advised or not.
pub fn fault_gfp(thp: &ThpTunables, advised: bool) -> Gfp {
    match thp.effort {
        ThpEffort::None => return Gfp::TRANSHUGE_LIGHT,
        ThpEffort::Compact => return Gfp::TRANSHUGE | Gfp::COMPACT_ONLY,
        ThpEffort::CompactReclaim => return Gfp::TRANSHUGE,
        ThpEffort::ByDefrag => {}
    }
    let full = if thp.advised_noretry { Gfp::TRANSHUGE | Gfp::NORETRY } else { Gfp::TRANSHUGE };
    match (thp.defrag, advised) {
        (ThpDefrag::Always, false) => Gfp::TRANSHUGE | Gfp::NORETRY,
        (ThpDefrag::Always | ThpDefrag::DeferMadvise | ThpDefrag::Madvise, true) => full,
        (ThpDefrag::Defer, _) | (ThpDefrag::DeferMadvise, false) => Gfp::TRANSHUGE_LIGHT | Gfp::KSWAPD_RECLAIM,
        (ThpDefrag::Madvise, false) | (ThpDefrag::Never, _) => Gfp::TRANSHUGE_LIGHT,
    }
}

/// Request flags of khugepaged, by `khugepaged/defrag`. `MADV_COLLAPSE` uses the flags with `defrag` on.
pub fn collapse_gfp(defrag: bool) -> Gfp {
    if defrag {
        Gfp::TRANSHUGE
    } else {
        Gfp::TRANSHUGE_LIGHT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::tunable::Group;

    fn thp(defrag: &str) -> ThpTunables {
        ThpTunables { defrag: ThpDefrag::parse(defrag).unwrap(), ..ThpTunables::default() }
    }

    #[test]
    fn fault_flags_by_defrag_setting() {
        let light = Gfp::TRANSHUGE_LIGHT;
        let deferred = light | Gfp::KSWAPD_RECLAIM;
        let rows = [
            ("always", Gfp::TRANSHUGE | Gfp::NORETRY, Gfp::TRANSHUGE),
            ("defer", deferred, deferred),
            ("defer+madvise", deferred, light | Gfp::DIRECT_RECLAIM),
            ("madvise", light, light | Gfp::DIRECT_RECLAIM),
            ("never", light, light),
        ];
        for (defrag, plain, advised) in rows {
            assert_eq!((fault_gfp(&thp(defrag), false), fault_gfp(&thp(defrag), true)), (plain, advised), "{defrag}");
        }
        assert_eq!(ThpTunables::default().defrag, ThpDefrag::Madvise, "default since 4.6");
        let mut old = thp("madvise");
        old.advised_noretry = true;
        assert_eq!(fault_gfp(&old, true), Gfp::TRANSHUGE | Gfp::NORETRY);
    }

    #[test]
    fn effort_is_a_knob_of_its_own() {
        let mut t = thp("always");
        t.set("effort", "none").unwrap();
        assert_eq!(fault_gfp(&t, true), Gfp::TRANSHUGE_LIGHT);
        t.set("effort", "compact").unwrap();
        assert!(fault_gfp(&t, false).has(Gfp::DIRECT_RECLAIM | Gfp::COMPACT_ONLY));
        t.set("effort", "compact_reclaim").unwrap();
        assert_eq!(fault_gfp(&t, false), Gfp::TRANSHUGE);
    }

    #[test]
    fn enabled_and_advice() {
        let mut t = ThpTunables::default();
        let mut row = |enabled: &str| {
            t.enabled = ThpEnabled::parse(enabled).unwrap();
            [HugeAdvice::Default, HugeAdvice::Huge, HugeAdvice::NoHuge].map(|a| may_have_huge(&t, a))
        };
        assert_eq!(row("always"), [true, true, false]);
        assert_eq!(row("madvise"), [false, true, false]);
        assert_eq!(row("never"), [false, false, false]);
        assert_eq!((collapse_gfp(true), collapse_gfp(false)), (Gfp::TRANSHUGE, Gfp::TRANSHUGE_LIGHT));
    }
}
