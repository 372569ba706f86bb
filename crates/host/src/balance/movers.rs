//! Moving pages of a mapping in batches, within a budget.

use super::hands::Hands;
use std::collections::BTreeMap;
use std::io;

/// Pages whose nodes are asked for at a time.
const ASK: usize = 2048;
/// Largest number of pages in one move.
const BATCH: usize = 4096;
/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// Where the search for pages goes on, by process and mapping.
#[derive(Debug, Default)]
pub(super) struct Cursors(BTreeMap<(u32, u64), u64>);

/// What a move asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// Process.
    pub pid: u32,
    /// First address of the mapping, and the first after it.
    pub range: (u64, u64),
    /// Ids of the nodes.
    pub from: u32,
    /// See `from`.
    pub to: u32,
    /// Number of pages.
    pub pages: u64,
}

/// Which pages may move.
pub(super) trait Chooser {
    /// The first page at or after `at` that may; the end of the mapping, or an address beyond, if there is none.
    fn next(&self, wish: &Wish, at: u64) -> u64;
    /// A page has moved.
    fn moved(&mut self, wish: &Wish, page: u64);
}

/// Every page may.
pub(super) struct Any;

impl Chooser for Any {
    fn next(&self, _: &Wish, at: u64) -> u64 {
        at
    }
    fn moved(&mut self, _: &Wish, _: u64) {}
}

/// What came of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Pages that moved.
    pub moved: u64,
    /// Pages that the kernel refused, such as those that another process maps.
    pub refused: u64,
}

impl Cursors {
    /// Moves pages that `chooser` names. The search begins where the last one of the mapping ended, and goes once
    /// around. `goes_on` is asked before each batch.
    ///
    /// # Errors
    /// The process has ended, or its pages may not be moved. What has moved by then stays.
    pub fn carry_out(
        &mut self,
        hands: &mut dyn Hands,
        chooser: &mut dyn Chooser,
        wish: &Wish,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> io::Result<Moved> {
        let (start, end) = wish.range;
        let mut at = self.0.get(&(wish.pid, start)).copied().filter(|a| (start..end).contains(a)).unwrap_or(start);
        let mut left = (end - start) / PAGE_BYTES;
        let mut out = Moved::default();
        let (mut nodes, mut found) = (Vec::new(), Vec::new());
        while left > 0 && out.moved + out.refused + (found.len() as u64) < wish.pages && goes_on() {
            let begin = at;
            let limit = end.min(at + left * PAGE_BYTES);
            let mut pages = Vec::with_capacity(ASK);
            while pages.len() < ASK && at < limit {
                at = chooser.next(wish, at).min(limit);
                if at < limit {
                    pages.push(at);
                    at += PAGE_BYTES;
                }
            }
            left -= (at - begin) / PAGE_BYTES;
            if !pages.is_empty() {
                hands.page_nodes(wish.pid, &pages, &mut nodes)?;
                let here = pages.iter().zip(&nodes).filter(|(_, &n)| i64::from(n) == i64::from(wish.from));
                found.extend(here.map(|(p, _)| *p));
            }
            if at >= end {
                at = start;
            }
            if found.len() >= BATCH {
                move_batch(hands, chooser, wish, &mut found, &mut out)?;
            }
        }
        move_batch(hands, chooser, wish, &mut found, &mut out)?;
        self.0.insert((wish.pid, start), at);
        Ok(out)
    }

    /// Forgets processes for which `lives` does not hold.
    pub fn forget(&mut self, lives: impl Fn(u32) -> bool) {
        self.0.retain(|(pid, _), _| lives(*pid));
    }
}

fn move_batch(
    hands: &mut dyn Hands,
    chooser: &mut dyn Chooser,
    wish: &Wish,
    found: &mut Vec<u64>,
    out: &mut Moved,
) -> io::Result<()> {
    let room = wish.pages.saturating_sub(out.moved + out.refused) as usize;
    found.truncate(room);
    let mut status = Vec::new();
    for batch in found.chunks(BATCH) {
        hands.move_pages(wish.pid, batch, wish.to, &mut status)?;
        for (page, s) in batch.iter().zip(&status) {
            if i64::from(*s) == i64::from(wish.to) {
                out.moved += 1;
                chooser.moved(wish, *page);
            } else if *s < 0 && *s != -libc::ENOENT {
                // A page that has gone meanwhile is neither moved nor refused.
                out.refused += 1;
            }
        }
    }
    found.clear();
    Ok(())
}
