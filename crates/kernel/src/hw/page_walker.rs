//! Page walks by what makes them: TLB entries, paging-structure caches, and where the lines of page tables lie
//! (machines.md section 3.1).
//!
//! Problem: what a walk costs depends on the footprint, on the caches and on the page size. Approach: a random access
//! to `F` bytes misses a TLB that covers `R` of them with chance `1 - R/F`. Its walk reads one line of each table
//! below the level that the paging-structure caches hold:
//!
//! | table | bytes | read by |
//! |---|---|---|
//! | page table | `F/512` | every walk to a 4 KiB page |
//! | page directory | `F/512^2` | every walk to a 2 MiB page; to a 4 KiB page where the PDE cache misses |
//!
//! An entry of the PDE cache covers 2 MiB. Base pages of 16 and 64 KiB have tables of 16 and 64 KiB, with 2048 and
//! 8192 entries: the tables of `F` bytes take `F/2048` and `F/8192`, and an entry of the PDE cache covers 32 and 512
//! MiB. Higher levels are a line for each 8 GiB, and stay in the first-level cache.
//! Data and tables are read at one rate. So they share L2 and LLC evenly; what does not fill its part leaves the rest
//! to the others. In a guest every address of this walk, and that of the data, is translated by a second walk over the
//! tables of the host. With `n` levels in the guest and `m` in the host that a walk reads, this is up to
//! `(n + 1)(m + 1) - 1` lines. The TLB then holds the smaller of the two page sizes.
//!
//! Units: bytes, ns.

use super::reuse_window::reuse_miss;
use numalab_base::base_page::BasePage;
use numalab_nouns::machine::{Machine, Walker};

/// 4 KiB.
pub const BASE_PAGE_BYTES: u64 = 4096;
/// 2 MiB.
pub const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// A table of base pages of 4 KiB maps 512 times its own size.
pub(super) const TABLE_SPAN: u64 = 512;
/// Data, two tables of a guest, and two tables of the host for each of these.
const MAX_SETS: usize = 9;

/// Page size of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// A base page, mapped by a PTE.
    Base,
    /// 2 MiB, mapped by a PMD.
    Huge,
}

/// Mean cost of translating an access: `tlb_ns + fixed_ns + leaf_miss * latency of the table's node`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Walk {
    /// Time in the second level of the TLB, ns.
    pub tlb_ns: f64,
    /// Part of the walk that does not depend on the node of the table, ns.
    pub fixed_ns: f64,
    /// Lines of tables fetched from memory per access; may exceed 1 in a guest.
    pub leaf_miss: f64,
}

impl Walk {
    /// Time that translation adds to one random access, ns; `table_ns` is the latency from the CPU to the node of the
    /// table.
    pub fn ns(&self, table_ns: f64) -> f64 {
        self.tlb_ns + self.walk_ns(table_ns)
    }
    /// The part of it in which a walker is busy, ns.
    pub fn walk_ns(&self, table_ns: f64) -> f64 {
        self.fixed_ns + self.leaf_miss * table_ns
    }
    /// `share` of this walk.
    pub fn part(self, share: f64) -> Self {
        Self { tlb_ns: self.tlb_ns * share, fixed_ns: self.fixed_ns * share, leaf_miss: self.leaf_miss * share }
    }
    /// The mean of accesses of two kinds, each already weighed.
    pub fn and(self, other: Self) -> Self {
        Self {
            tlb_ns: self.tlb_ns + other.tlb_ns,
            fixed_ns: self.fixed_ns + other.fixed_ns,
            leaf_miss: self.leaf_miss + other.leaf_miss,
        }
    }
}

/// Memory that a thread accesses at random.
#[derive(Clone, Copy, Debug)]
pub struct Accessed {
    /// Its size, bytes.
    pub bytes: u64,
    /// Exponent of skewed accesses ([`reuse_miss`]); 0 where all lines are as likely. What is used together then lies
    /// together, so that skewed accesses miss a TLB as they would a cache of the bytes that it covers.
    pub alpha: f64,
    /// Part of the L2 that the thread can use, bytes.
    pub l2_bytes: u64,
    /// Part of its LLC that this memory holds, bytes.
    pub llc_bytes: u64,
}

impl Accessed {
    /// Share of the accesses outside the `held` bytes that were used last.
    fn misses(&self, held: u64) -> f64 {
        if self.alpha > 0.0 {
            return reuse_miss(self.alpha, held, self.bytes);
        }
        if held >= self.bytes {
            return 0.0;
        }
        1.0 - held as f64 / self.bytes as f64
    }
}

/// Lines that walks read: the bytes of a table, how often a walk reads it, and the memory that a byte of it maps.
#[derive(Clone, Copy, Debug, Default)]
struct Table {
    bytes: u64,
    odds: f64,
    span: u64,
}

/// The page walker of a machine's cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageWalker {
    hardware: Walker,
    entries_4k: u32,
    entries_2m: u32,
    page: BasePage,
    nested: bool,
    tlb_ns: f64,
    l2_ns: f64,
    llc_ns: f64,
}

impl PageWalker {
    /// The walker of `machine`, if it states one, for these base pages; `nested` selects two-dimensional walks.
    pub fn new(machine: &Machine, nested: bool, page: BasePage) -> Option<Self> {
        let hardware = machine.tlb.walker?;
        let ghz = machine.clock.sustained_ghz;
        Some(Self {
            hardware,
            entries_4k: machine.tlb.entries_4k,
            entries_2m: machine.tlb.entries_2m,
            page,
            nested,
            tlb_ns: hardware.l2_cycles / ghz,
            l2_ns: machine.cache.l2_cycles / ghz,
            llc_ns: machine.cache.llc_latency_ns,
        })
    }

    /// Walks that a core has under way at the same time.
    pub fn walkers(&self) -> u32 {
        self.hardware.walkers
    }

    /// Memory that the first level and the whole TLB cover with pages of this size, bytes. In a guest on base pages of
    /// the host, an entry of any size covers a base page.
    pub fn reach_bytes(&self, size: PageSize) -> (u64, u64) {
        let (first, second, page) = match size {
            PageSize::Base => (self.hardware.l1_4k, self.entries_4k, self.page.bytes()),
            PageSize::Huge if self.nested && !self.hardware.host_huge => {
                (self.hardware.l1_4k, self.entries_4k, self.page.bytes())
            }
            PageSize::Huge => (self.hardware.l1_2m, self.entries_2m, HUGE_PAGE_BYTES),
        };
        (u64::from(first) * page, u64::from(first.max(second)) * page)
    }

    /// Mean cost of translating an access to memory in pages of this size.
    pub fn walk(&self, size: PageSize, a: &Accessed) -> Walk {
        let (first, second) = self.reach_bytes(size);
        let missed = a.misses(second);
        let mut walk = Walk { tlb_ns: a.misses(first) * self.tlb_ns, ..Walk::default() };
        if missed <= 0.0 {
            return walk;
        }
        let mut tables = [Table::default(); MAX_SETS];
        // The data themselves take part in sharing the caches, and are no table.
        tables[0] = Table { bytes: a.bytes, odds: 0.0, span: 1 };
        let mut count = 1;
        let mut add = |bytes: u64, odds: f64| {
            if odds > 0.0 && bytes > 0 {
                tables[count] = Table { bytes, odds, span: a.bytes.div_ceil(bytes) };
                count += 1;
            }
        };
        self.levels(size, a, &mut add);
        let tables = &tables[..count];
        let (in_l2, in_llc) = (part_of_each(tables, a.l2_bytes), part_of_each(tables, a.llc_bytes));
        for t in &tables[1..] {
            let beyond = |part: u64| {
                let held = t.bytes.min(part);
                let skewed = a.alpha > 0.0;
                if skewed {
                    (a.misses(held * t.span) / missed).min(1.0)
                } else {
                    1.0 - held as f64 / t.bytes as f64
                }
            };
            let (past_l2, past_llc) = (beyond(in_l2), beyond(in_llc.max(in_l2)));
            walk.fixed_ns += missed * t.odds * ((1.0 - past_l2) * self.l2_ns + (past_l2 - past_llc) * self.llc_ns);
            walk.leaf_miss += missed * t.odds * past_llc;
        }
        walk
    }

    /// Calls `add` with bytes and odds of every table that a walk reads.
    fn levels(&self, size: PageSize, a: &Accessed, add: &mut impl FnMut(u64, f64)) {
        let table = |bytes: u64| (bytes / self.page.table_entries()).max(1);
        let directory = |bytes: u64| table(table(bytes));
        let pdes = u64::from(self.hardware.pde_entries) * self.page.table_bytes();
        let past_pdes = |bytes: u64| if pdes >= bytes { 0.0 } else { 1.0 - pdes as f64 / bytes as f64 };
        let own = match size {
            PageSize::Base => [(table(a.bytes), 1.0), (directory(a.bytes), a.misses(pdes))],
            PageSize::Huge => [(directory(a.bytes), 1.0), (0, 0.0)],
        };
        own.iter().for_each(|&(bytes, odds)| add(bytes, odds));
        if !self.nested {
            return;
        }
        // Data miss in any case. A table of the guest is data to the host, and the TLB holds its pages too.
        let (_, reach) = self.reach_bytes(if self.hardware.host_huge { PageSize::Huge } else { PageSize::Base });
        let past_tlb = |bytes: u64| if reach >= bytes { 0.0 } else { 1.0 - reach as f64 / bytes as f64 };
        let translated = [(a.bytes, 1.0), (own[0].0, past_tlb(own[0].0)), (own[1].0, own[1].1 * past_tlb(own[1].0))];
        for (bytes, odds) in translated {
            if self.hardware.host_huge {
                add(directory(bytes), odds);
            } else {
                add(table(bytes), odds);
                add(directory(bytes), odds * past_pdes(bytes));
            }
        }
    }
}

/// What each of `sets` that does not fit has of a cache of `capacity` bytes. All are read at one rate, so they have
/// equal parts; what a small one leaves goes to the others.
fn part_of_each(sets: &[Table], capacity: u64) -> u64 {
    let mut part = capacity / sets.len() as u64;
    for _ in 0..sets.len() {
        let (mut left, mut large) = (capacity, 0);
        for s in sets {
            if s.bytes <= part {
                left -= s.bytes;
            } else {
                large += 1;
            }
        }
        if large == 0 {
            return capacity;
        }
        let next = left / large;
        if next == part {
            break;
        }
        part = next;
    }
    part
}
