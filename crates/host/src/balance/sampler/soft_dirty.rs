//! Soft-dirty bits: which pages were written (Documentation/admin-guide/mm/soft-dirty.rst).
//!
//! `4` in `clear_refs` of a process clears the bit of each of its pages and makes them read-only; the first write sets
//! it again, after a fault. `pagemap` shows the bit to everyone who may read it.
//! It needs no privilege for own processes and no special kernel option beyond `CONFIG_MEM_SOFT_DIRTY`. But it sees
//! writes only, each costs the program a fault, and a program such as CRIU that uses the bits itself is disturbed.
//! Hence it must be asked for.

use crate::balance::machine::Shape;
use crate::balance::sampling::{Budget, Sampler, Seen, Target, Way};
use crate::balance::state::State;
use crate::balance::usage::{Bits, PAGE_BYTES};
use crate::procfs::pagemap::Pagemap;
use crate::procfs::{maps, read, Roots};
use std::collections::BTreeMap;
use std::io;

/// The way that reads soft-dirty bits.
pub const WAY: Way = Way {
    name: "soft-dirty",
    sees: "which pages are written (soft-dirty bits)",
    only_asked: "it sees writes only, and each costs the program a fault; --sampler soft-dirty asks for it",
    writes: true,
    open,
};

/// Soft-dirty bits of processes.
struct SoftDirty {
    roots: Roots,
    /// Processes whose bits were cleared: their start.
    cleared: BTreeMap<u32, u64>,
}

fn open(roots: &Roots, _: &Shape, _: Budget) -> Result<Option<Box<dyn Sampler>>, String> {
    if is_supported(roots)? {
        return Ok(Some(Box::new(SoftDirty { roots: roots.clone(), cleared: BTreeMap::new() })));
    }
    Err("this kernel has no soft-dirty bits (CONFIG_MEM_SOFT_DIRTY)".into())
}

/// Whether pages have the bit: those of a new process do, among them the first page of this one's stack, which holds
/// its environment.
fn is_supported(roots: &Roots) -> Result<bool, String> {
    let path = roots.proc.join("self/pagemap");
    let wrong = |e: io::Error| format!("{}: {e}; expected CONFIG_PROC_PAGE_MONITOR", path.display());
    let text = read(&roots.proc.join("self/maps")).map_err(wrong)?;
    let own = Pagemap::open(&path).map_err(wrong)?;
    for range in maps::parse(&text).iter().filter(|r| r.name == "[stack]" || r.name == "[heap]") {
        for at in [range.start, range.end - PAGE_BYTES] {
            if own.read(at, 1).map_err(wrong)?.iter().any(|e| e.is_soft_dirty()) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl Sampler for SoftDirty {
    fn prepare(&mut self, targets: &[Target], _: &mut State) -> Vec<String> {
        self.cleared.retain(|pid, start| targets.iter().any(|t| (t.pid, t.start) == (*pid, *start)));
        Vec::new()
    }

    fn begin(&mut self, target: &Target) -> io::Result<()> {
        std::fs::OpenOptions::new()
            .write(true)
            .open(self.roots.process(target.pid).join("clear_refs"))
            .and_then(|mut f| io::Write::write_all(&mut f, b"4"))?;
        self.cleared.insert(target.pid, target.start);
        Ok(())
    }

    fn seen(&mut self, target: &Target, (start, end): (u64, u64)) -> io::Result<Option<Seen>> {
        if self.cleared.get(&target.pid) != Some(&target.start) {
            return Ok(None);
        }
        let map = Pagemap::open(&self.roots.process(target.pid).join("pagemap"))?;
        let entries = map.read(start, ((end - start) / PAGE_BYTES) as usize)?;
        let mut pages = Bits::default();
        let written = entries.iter().enumerate().filter(|(_, e)| e.is_present() && e.is_soft_dirty());
        written.for_each(|(i, _)| pages.set(i));
        Ok(Some(Seen { pages, user: None }))
    }

    /// The bits stay as they are: they cost nothing, and the next program that uses them clears them itself.
    fn end(&mut self, _: &mut State) {
        self.cleared.clear();
    }
}
