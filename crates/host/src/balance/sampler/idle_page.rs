//! Idle page tracking: which pages were accessed (Documentation/admin-guide/mm/idle_page_tracking.rst).
//!
//! A bit per page frame in `/sys/kernel/mm/page_idle/bitmap` marks the page idle, and the kernel takes the mark off
//! when it finds an access. `pagemap` has the frames, for programs with `CAP_SYS_ADMIN`; the bitmap is root's.
//! Each range is read and marked again in one go, so what is seen is its use since the last time. A page is accessed
//! through an entry of the page table, whose bit was cleared without a flush of the TLB: pages in the TLB may look
//! idle. Only the first frame of a huge page has a mark; `kpageflags` tells which frames are the others.

use crate::balance::machine::Shape;
use crate::balance::sampling::{Budget, Sampler, Seen, Target, Way};
use crate::balance::state::State;
use crate::balance::usage::{Bits, PAGE_BYTES};
use crate::procfs::pagemap::{words_at, Pagemap};
use crate::procfs::Roots;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The way that uses idle page tracking.
pub const WAY: Way = Way {
    name: "idle-page",
    sees: "which pages are accessed (idle page tracking)",
    only_asked: "",
    writes: true,
    open,
};

/// Bit of `kpageflags` of the frames of a larger page after its first (KPF_COMPOUND_TAIL).
const COMPOUND_TAIL: u64 = 1 << 16;

/// Idle marks of page frames.
struct IdlePage {
    roots: Roots,
    bitmap: File,
    flags: File,
    /// Ranges that were marked: process, its start, first address.
    marked: BTreeSet<(u32, u64, u64)>,
}

fn open(roots: &Roots, _: &Shape, _: Budget) -> Result<Option<Box<dyn Sampler>>, String> {
    let path = roots.sys.join("kernel/mm/page_idle/bitmap");
    let bitmap = File::options().read(true).write(true).open(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => "this kernel has no idle page tracking (CONFIG_IDLE_PAGE_TRACKING)".to_string(),
        _ => format!("{}: {e}; expected root", path.display()),
    })?;
    let path = roots.proc.join("kpageflags");
    let flags = File::open(&path).map_err(|e| format!("{}: {e}; expected root", path.display()))?;
    let sampler = IdlePage { roots: roots.clone(), bitmap, flags, marked: BTreeSet::new() };
    if !sampler.sees_frames() {
        return Err("frames of pages are hidden; expected root with CAP_SYS_ADMIN".into());
    }
    Ok(Some(Box::new(sampler)))
}

impl IdlePage {
    /// Whether `pagemap` shows frames: some page of this process has one.
    fn sees_frames(&self) -> bool {
        let text = crate::procfs::read(&self.roots.proc.join("self/maps")).unwrap_or_default();
        let Ok(own) = Pagemap::open(&self.roots.proc.join("self/pagemap")) else { return false };
        let ranges = crate::procfs::maps::parse(&text);
        let has = |at: u64| own.read(at, 1).is_ok_and(|e| e.first().is_some_and(|e| e.frame().is_some()));
        ranges.iter().any(|r| has(r.start) || has(r.end - PAGE_BYTES))
    }

    /// The frame that has the mark of each page: its own, or the first of a larger page. `None` for a page that is
    /// absent, or whose larger page begins outside the range.
    fn marked_frames(&self, target: &Target, (start, end): (u64, u64)) -> io::Result<Vec<Option<u64>>> {
        let map = Pagemap::open(&self.roots.process(target.pid).join("pagemap"))?;
        let entries = map.read(start, ((end - start) / PAGE_BYTES) as usize)?;
        let mut out: Vec<Option<u64>> = entries.iter().map(|e| e.frame()).collect();
        let mut at = 0;
        while at < out.len() {
            let Some(first) = out[at] else {
                at += 1;
                continue;
            };
            let run = out[at..].iter().enumerate().take_while(|(i, f)| **f == Some(first + *i as u64)).count();
            let flags = words_at(&self.flags, first, run)?;
            let mut head = None;
            for i in 0..run {
                match flags.get(i) {
                    Some(f) if f & COMPOUND_TAIL != 0 => out[at + i] = head,
                    Some(_) => head = out[at + i],
                    None => out[at + i] = None,
                }
            }
            at += run;
        }
        Ok(out)
    }
}

impl Sampler for IdlePage {
    fn prepare(&mut self, targets: &[Target], _: &mut State) -> Vec<String> {
        self.marked.retain(|(pid, start, _)| targets.iter().any(|t| (t.pid, t.start) == (*pid, *start)));
        Vec::new()
    }

    fn begin(&mut self, _: &Target) -> io::Result<()> {
        Ok(())
    }

    fn seen(&mut self, target: &Target, range: (u64, u64)) -> io::Result<Option<Seen>> {
        let frames = self.marked_frames(target, range)?;
        let mut sorted: Vec<u64> = frames.iter().flatten().copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut idle = BTreeSet::<u64>::new();
        for group in sorted.chunk_by(|a, b| a / 64 == b / 64) {
            let word = group[0] / 64;
            let bits = words_at(&self.bitmap, word, 1)?.first().copied().unwrap_or(0);
            idle.extend(group.iter().copied().filter(|f| bits >> (f % 64) & 1 == 1));
            let mark = group.iter().fold(0u64, |m, f| m | 1 << (f % 64));
            self.bitmap.write_all_at(&mark.to_ne_bytes(), word * 8)?;
        }
        let mut pages = Bits::default();
        let used = frames.iter().enumerate().filter(|(_, f)| f.is_some_and(|f| !idle.contains(&f)));
        used.for_each(|(i, _)| pages.set(i));
        let known = !self.marked.insert((target.pid, target.start, range.0));
        Ok(known.then_some(Seen { pages, user: None }))
    }

    /// Marks stay: they are the kernel's own, and change nothing for programs.
    fn end(&mut self, _: &mut State) {
        self.marked.clear();
    }
}
