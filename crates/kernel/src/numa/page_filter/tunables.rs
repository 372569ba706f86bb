//! Parameters of page filters with a limit of mappings.

use super::parts::Shared;
use super::PageFilterKind;
use crate::numa::rules::BALANCING_ON;

const fn has_limit(kind: PageFilterKind) -> bool {
    matches!(kind.parts().shared, Shared::MappedAboveLimit)
}

numalab_base::tunables! {
    /// Parameters of `mapcount_threshold`.
    pub struct PageFilterTunables: "page_filter" {
        read when "system.numa_balancing" is BALANCING_ON;
        read when "page_filter" is numalab_base::words_where!(PageFilterKind, has_limit);

        /// T: pages mapped more often are left unmarked.
        mapcount_limit: u32 = 5, "mappings", "model", range 0..=4_294_967_295;
        /// Only private mappings that may be written are filtered.
        mapcount_limit_cow_only: bool = false, "", "model";
        /// Pages above the limit are not migrated at fault time either.
        mapcount_limit_refuses_migration: bool = false, "", "model";
    }
}
