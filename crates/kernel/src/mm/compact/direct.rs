//! Compaction in the allocating task, and in one zone for the kernel daemons.

use super::attempt::{Mode, Status};
use super::scan::{CompactWork, Outcome};
use super::suitable;
use crate::mm::alloc::request::{AllocatedPage, Request};
use crate::mm::alloc::take_page::Mark;
use crate::mm::kernel_work::Work;
use crate::mm::pageblock::fragmentation::fragmentation_index;
use crate::mm::physical_memory::PhysicalMemory;

/// The only order that compaction works for.
const HUGE_ORDER: u8 = 9;

impl PhysicalMemory {
    /// Compacts the zones of the zonelist for a huge page, nearest first, until one has a free block
    /// (`try_to_compact_pages`).
    ///
    /// # Errors
    /// The greatest status of the zones.
    pub(in crate::mm) fn direct_compact(
        &mut self,
        req: &Request,
        mode: Mode,
        work: &mut Work,
    ) -> Result<AllocatedPage, Status> {
        let mut reached = Status::Skipped;
        for i in 0..self.zonelists[req.preferred].len() {
            let zone = usize::from(self.zonelists[req.preferred][i]);
            if !req.allows(self.zones[zone].node) {
                continue;
            }
            let status = if self.zones[zone].compaction.defer.deferred(HUGE_ORDER) {
                Status::Deferred
            } else {
                self.compact_zone(zone, mode, work)
            };
            if status == Status::Success && self.zones[zone].pageblocks.empty_blocks() > 0 {
                self.events.compact_stall += 1;
                self.events.compact_success += 1;
                // The caller takes what compaction freed, even if the zone is below its watermark.
                return Ok(self.take_page(req, zone));
            }
            reached = reached.max(status);
        }
        if reached > Status::Deferred {
            self.events.compact_stall += 1;
            self.events.compact_fail += 1;
        }
        Err(reached)
    }

    /// Whether compaction may run in a zone.
    pub(in crate::mm) fn compaction_suitable(&self, zone: usize) -> bool {
        let (z, facts) = (&self.zones[zone], &self.facts[zone]);
        let index = fragmentation_index(facts.free_pages, z.pageblocks.buddies(), z.pageblocks.empty_blocks());
        let mark = self.mark_of(zone, Mark::Low);
        suitable(facts.free_pages, mark, facts.lowmem_reserve, index, self.cfg.compact.extfrag_threshold)
    }
    /// Compacts a zone until it has a free block, unless a huge page can be allocated already.
    pub(in crate::mm) fn compact_zone(&mut self, zone: usize, mode: Mode, work: &mut Work) -> Status {
        if self.zone_ok(zone, true, Mark::Min) {
            return Status::Success;
        }
        if !self.compaction_suitable(zone) {
            return Status::Skipped;
        }
        self.compact_zone_further(zone, mode, work)
    }
    /// Compacts a zone until it has one more free block.
    pub(in crate::mm) fn compact_zone_further(&mut self, zone: usize, mode: Mode, work: &mut Work) -> Status {
        let z = &mut self.zones[zone];
        let (odds, blocks) = match mode {
            Mode::Async => (&self.async_odds, self.cfg.compact.async_blocks),
            Mode::SyncLight => (&self.sync_odds, u32::MAX),
        };
        let mut done = CompactWork::default();
        let scanners = &mut z.compaction.scanners;
        let outcome = scanners.run(&mut z.pageblocks, odds, blocks, &mut self.rng[z.node], &mut done);
        work.compact_scanned += done.migrate_scanned + done.free_scanned;
        work.compact_moved += done.moved;
        let e = &mut self.events;
        e.compact_migrate_scanned += done.migrate_scanned;
        e.compact_free_scanned += done.free_scanned;
        e.compact_isolated += done.moved + done.failed;
        e.pgmigrate_success += done.moved;
        e.pgmigrate_fail += done.failed;
        match outcome {
            Outcome::Emptied(_) => {
                z.compaction.defer.succeeded(HUGE_ORDER);
                Status::Success
            }
            Outcome::Met | Outcome::Budget => {
                if mode == Mode::SyncLight {
                    z.compaction.defer.failed(HUGE_ORDER);
                }
                Status::Failed
            }
        }
    }
}
