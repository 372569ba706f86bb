//! Tunables of transparent huge pages.

use super::ladders::Ladders;
use crate::mm::thp::locality::attempt::HugeRules;
use crate::mm::thp::locality::rule::Locality;
use numalab_base::rung_list::RungList;
use numalab_base::tunable::Word;
use numalab_model::machine::Machine;

numalab_base::tunables! {
    /// Settings of transparent huge pages.
    pub struct ThpTunables: "thp" {
        /// Huge pages for all anonymous memory, for advised ranges, or for none.
        enabled: Word = "madvise", "", "sys/kernel/mm/transparent_hugepage/enabled", choices ["always", "madvise", "never"];
        /// What a fault may do to get a huge page.
        defrag: Word = "madvise", "", "sys/kernel/mm/transparent_hugepage/defrag",
            choices ["always", "defer", "defer+madvise", "madvise", "never"];
        /// Read faults on untouched ranges map one shared huge zero page.
        use_zero_page: bool = true, "", "sys/kernel/mm/transparent_hugepage/use_zero_page";
        /// A write to the huge zero page allocates a huge page (before 5.8), instead of splitting the mapping.
        zero_page_write_huge: bool = false, "", "model";
        /// `thp_fault_alloc` counts huge pages when they are allocated (before 4.3, 6b251fc96cf2), not when they are
        /// mapped. So it includes those of threads that find the range filled by another thread.
        counts_unused_alloc: bool = false, "", "model";
        /// A write to a shared huge page copies all of it (before 5.8), instead of splitting the mapping.
        cow_copies_huge: bool = false, "", "model";
        /// Where a huge page comes from when the local node has none free.
        locality: Word = "thp_two_step", "", "model",
            choices ["thp_zonelist", "thp_thisnode", "thp_relaxed", "thp_two_step_54", "thp_two_step", "mpol_huge",
                "prctl_span", "ladder_sorted", "ladder_custom"];
        /// The list of `ladder_custom`: distances and page sizes in the order in which a fault tries them.
        ladder: RungList = RungList::NONE, "", "model";
        /// Effort of a fault: by `defrag`, or fixed.
        effort: Word = "by_defrag", "", "model", choices ["by_defrag", "none", "compact", "compact_reclaim"];
        /// Faults in advised ranges give up without retrying too (4.1 to 4.7).
        advised_noretry: bool = false, "", "model";
        /// Processes are in span mode, as a launcher would set it by `prctl`.
        span: bool = true, "", "model";
        /// A policy for huge pages means its first node only (`mpol_huge`).
        huge_strict: bool = false, "", "model";
        /// A strict policy for huge pages does not reclaim that node (`mpol_huge`).
        huge_noretry: bool = false, "", "model";
        /// Farthest distance class that `prctl_span` uses.
        span_max_class: u8 = 255, "", "model", range 0..=255;
        /// The span mode of a process survives exec.
        span_over_exec: bool = true, "", "model";
        /// Huge pages are migrated in one piece (4.14 on); otherwise they are split, moved, and collapsed by
        /// khugepaged.
        native_migration: bool = true, "", "CONFIG_ARCH_ENABLE_THP_MIGRATION";
    }
}

impl ThpTunables {
    /// Rules of policies for huge pages.
    pub fn huge_rules(&self) -> HugeRules {
        HugeRules { strict: self.huge_strict, noretry: self.huge_noretry }
    }
    /// Distance classes and ladders that the locality rule needs; `guest` selects latencies as seen in a guest.
    pub fn ladders(&self, machine: &Machine, guest: bool) -> Ladders {
        match self.locality() {
            Locality::LadderSorted => Ladders::sorted(machine, guest),
            Locality::LadderCustom => Ladders::custom(machine, &self.ladder),
            _ => Ladders::classes_of(machine),
        }
    }
    /// The locality rule.
    pub fn locality(&self) -> Locality {
        // A test checks that the choices of the tunable are the words of the role.
        Locality::parse(self.locality).unwrap_or(Locality::TwoStep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::tunable::Group;

    #[test]
    fn the_tunable_offers_every_rule() {
        let decl = ThpTunables::DECLS.iter().find(|d| d.key == "locality").unwrap();
        assert_eq!(decl.choices, Locality::WORDS);
    }
}
