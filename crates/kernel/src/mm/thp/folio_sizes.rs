//! Which sizes below 2 MiB anonymous memory may have (multi-size THP, 6.8 on; `thp_vma_allowable_orders`).

use numalab_base::words;
use numalab_nouns::workload::HugeAdvice;

/// Order of the smallest size, 16 KiB.
const FIRST_ORDER: u32 = 2;

words! {
    /// Large folios of a size, for anonymous memory: for all, as `system.thp` says, for advised ranges, or for none.
    pub enum FolioSize {
        /// For all anonymous memory.
        Always = "always",
        /// As `system.thp` says.
        Inherit = "inherit",
        /// For advised ranges.
        Madvise = "madvise",
        /// For no memory.
        Never = "never",
    }
}

/// The settings of the sizes from 16 KiB to 1 MiB, the smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolioSizes(pub [FolioSize; 7]);

impl FolioSizes {
    /// No size is enabled, as the kernel boots.
    pub const NONE: Self = Self([FolioSize::Never; 7]);

    /// The orders that a mapping with this advice may have, one bit each. `huge_ok`: it may have huge pages.
    pub fn orders(&self, advice: HugeAdvice, huge_ok: bool) -> u32 {
        let may = |size: FolioSize| match size {
            _ if advice == HugeAdvice::NoHuge => false,
            FolioSize::Never => false,
            FolioSize::Always => true,
            FolioSize::Madvise => advice == HugeAdvice::Huge,
            FolioSize::Inherit => huge_ok,
        };
        (FIRST_ORDER..).zip(self.0).filter(|(_, size)| may(*size)).fold(0, |orders, (order, _)| orders | 1 << order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::MAX_FOLIO_ORDER;

    #[test]
    fn sizes_follow_their_own_setting_or_that_of_huge_pages() {
        let all = |size: FolioSize| FolioSizes([size; 7]);
        let every = ((1 << (MAX_FOLIO_ORDER + 1)) - 1) & !0b11;
        let row = |size: FolioSize, huge_ok: bool| {
            [HugeAdvice::Default, HugeAdvice::Huge, HugeAdvice::NoHuge].map(|a| all(size).orders(a, huge_ok))
        };
        assert_eq!(row(FolioSize::Always, false), [every, every, 0]);
        assert_eq!(row(FolioSize::Madvise, true), [0, every, 0]);
        assert_eq!(row(FolioSize::Inherit, true), [every, every, 0]);
        assert_eq!(row(FolioSize::Inherit, false), [0, 0, 0]);
        assert_eq!(row(FolioSize::Never, true), [0, 0, 0]);
        let mut some = FolioSizes::NONE;
        some.0[2] = FolioSize::Always;
        assert_eq!(some.orders(HugeAdvice::Default, false), 1 << 4, "64 KiB");
    }
}
