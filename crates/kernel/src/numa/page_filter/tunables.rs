//! Parameters of the page filter `mapcount_threshold`.

use crate::numa::rules::BALANCING_ON;
use numalab_base::tunable::Needs;

numalab_base::tunables! {
    /// Parameters of `mapcount_threshold`.
    pub struct PageFilterTunables: "page_filter" {
        read when "system.numa_balancing" is BALANCING_ON;
        read when "page_filter" is Needs::OneOf(&["mapcount_threshold"]);

        /// T: pages mapped more often are left unmarked.
        mapcount_limit: u32 = 5, "mappings", "model", range 0..=4_294_967_295;
        /// Only private mappings that may be written are filtered.
        mapcount_limit_cow_only: bool = false, "", "model";
        /// Pages above the limit are not migrated at fault time either.
        mapcount_limit_refuses_migration: bool = false, "", "model";
    }
}
