//! The facts about a page that marking, faults and migration read.

use super::state::LastCpupid;

/// Number of references above which a small page may be pinned for DMA (`GUP_PIN_COUNTING_BIAS`).
pub(crate) const PIN_BIAS: u32 = 1024;
/// Base pages of a huge page, where they have 4 KiB.
pub const HPAGE_PAGES: u32 = 512;

/// A page (or folio) as one of its entries shows it. The caller fills it from its page tables. A fault may change `nid`
/// and `last`, which the caller writes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFacts {
    /// Node of the page.
    pub nid: usize,
    /// CPU and task of the last fault.
    pub last: LastCpupid,
    /// Number of base pages: 1, 512 for a huge page, or the size of a PTE-mapped large folio.
    pub pages: u32,
    /// Pages like this one that the entry stands for, 1 unless it is a grain of base pages: each faults and moves by
    /// itself.
    pub grain: u32,
    /// It is mapped by a huge (PMD) entry here.
    pub huge: bool,
    /// Number of page-table mappings by all processes.
    pub mapcount: u32,
    /// Number of references.
    pub refcount: u32,
    /// Number of DMA pins. Only large folios have it; small pages count pins in `refcount`.
    pub pincount: u32,
    /// Number of mappings by huge entries (large folios only).
    pub entire_mapcount: u32,
    /// Number of mappings of the first base page (large folios only).
    pub first_mapcount: u32,
    /// The restored entry would be writable (§9.1 step 2).
    pub writable: bool,
    /// The mapping is shared (`VM_SHARED`).
    pub shared_mapping: bool,
    /// Stores to the shared mapping are notified to its file system, so clean entries are write-protected.
    pub write_notify: bool,
    /// The mapping may become writable (`VM_MAYWRITE`).
    pub may_write: bool,
    /// It is a page-cache page on the file LRU, not anonymous and not shmem.
    pub file_lru: bool,
    /// The page is dirty.
    pub dirty: bool,
    /// The VMA is executable.
    pub exec_vma: bool,
    /// It is not a normal page: zero page, special mapping, device memory, KSM.
    pub special: bool,
}

impl PageFacts {
    /// An exclusive anonymous base page of a private writable mapping, without a fault so far.
    pub fn private_anon(nid: usize) -> Self {
        Self {
            nid,
            last: LastCpupid::UNSET,
            pages: 1,
            grain: 1,
            huge: false,
            mapcount: 1,
            refcount: 1,
            pincount: 0,
            entire_mapcount: 0,
            first_mapcount: 1,
            writable: true,
            shared_mapping: false,
            write_notify: false,
            may_write: true,
            file_lru: false,
            dirty: true,
            exec_vma: false,
            special: false,
        }
    }
    /// Like [`Self::private_anon`], a huge page mapped by one huge entry.
    pub fn private_anon_huge(nid: usize) -> Self {
        Self { pages: HPAGE_PAGES, huge: true, entire_mapcount: 1, ..Self::private_anon(nid) }
    }
    /// Like [`Self::private_anon`], a large folio of `pages` base pages, each mapped by an entry of its own.
    pub fn private_anon_folio(nid: usize, pages: u32) -> Self {
        Self { pages, mapcount: pages, refcount: pages, ..Self::private_anon(nid) }
    }
    /// The facts of an exclusive anonymous page of so many base pages: a base page, a large folio, or a huge page.
    pub fn private_anon_of(nid: usize, pages: u32) -> Self {
        match pages {
            1 => Self::private_anon(nid),
            HPAGE_PAGES => Self::private_anon_huge(nid),
            pages => Self::private_anon_folio(nid, pages),
        }
    }
    /// Base pages of all that the entry stands for.
    #[inline]
    pub fn base_pages(&self) -> u32 {
        self.pages * self.grain
    }
    /// Whether the mapping is private and may become writable, whether or not it is writable now.
    #[inline]
    pub fn is_cow(&self) -> bool {
        !self.shared_mapping && self.may_write
    }
    /// Whether it may be pinned for DMA (`folio_maybe_dma_pinned`).
    #[inline]
    pub fn maybe_dma_pinned(&self) -> bool {
        if self.pages == 1 {
            self.refcount >= PIN_BIAS
        } else {
            self.pincount > 0
        }
    }
    /// An estimate of whether more than one address space maps it (`folio_likely_mapped_shared`).
    #[inline]
    pub fn likely_mapped_shared(&self) -> bool {
        if self.pages == 1 || self.mapcount <= 1 {
            return self.mapcount > 1;
        }
        if self.entire_mapcount > 0 || self.mapcount > self.pages {
            return true;
        }
        self.first_mapcount > 1
    }
}
