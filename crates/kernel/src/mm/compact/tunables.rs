//! Tunables of compaction.

use numalab_base::words;

numalab_base::tunables! {
    /// Settings of compaction.
    pub struct CompactTunables: "compact" {
        /// Fragmentation index up to which a failed huge-page request is blamed on lack of memory.
        extfrag_threshold: u32 = 500, "1/1000", "vm.extfrag_threshold", range 0..=1000;
        /// How early kcompactd compacts without being woken; 0 for never.
        proactiveness: u32 = 20, "", "vm.compaction_proactiveness", range 0..=100;
        /// Compaction in page faults: synchronous (2011), or asynchronous first (3.3 on).
        era: CompactEra = CompactEra::AsyncFault, "", "model";
        /// Pages that asynchronous compaction finds locked or under writeback.
        async_unmovable: u32 = 1000, "1/1000000", "model", range 0..=1_000_000;
        /// Pages that synchronous compaction cannot move.
        sync_unmovable: u32 = 200, "1/1000000", "model", range 0..=1_000_000;
        /// Pageblocks after which asynchronous compaction gives up.
        async_blocks: u32 = 32, "pageblocks", "model", range 1..=1_048_576;
    }
}

words! {
    /// Which compaction page faults use.
    pub enum CompactEra {
        /// Synchronous compaction.
        Naive = "naive" ("2011"),
        /// Asynchronous compaction first.
        AsyncFault = "async_fault" ("3.3 on"),
    }
}
