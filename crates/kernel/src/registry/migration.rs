//! How page migration itself differs between releases (machines.md section 5).

crate::tunables! {
    /// Page migration, beside what NUMA balancing decides.
    pub struct Migration: "numa" {
        /// Migrating a page flushes the TLB although its entry was inaccessible (6.3 and 6.4 only).
        migrate_flush_inaccessible: bool = false, "", "model";
    }
}
