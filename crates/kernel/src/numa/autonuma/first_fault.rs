//! What a hinting fault decides: last node and first fault (designs-2012.md section 1.4, step 4).

use super::auto_numa::AutoNuma;

/// What a fault decides about a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The page is on this node already.
    Here,
    /// The page should move to this node.
    Migrate,
    /// The last fault came from another node.
    Filtered,
}

/// Filters by the node of the last fault (`None`: the page has had no fault). Returns whether the page may move, and
/// the node to remember.
#[inline]
pub fn filter(last: Option<u32>, here: u32, allow_first: bool) -> (bool, u32) {
    match last {
        Some(node) => (node == here, here),
        None => (allow_first, here),
    }
}

impl AutoNuma {
    /// Decides on a page on `page_node`, whose last fault came from `last`, at a fault from `here`. Returns the verdict
    /// and the new last node.
    #[inline]
    pub fn decide(&self, last: Option<u32>, page_node: usize, here: usize) -> (Verdict, u32) {
        let (pass, new) = filter(last, here as u32, self.knobs.migrate_allow_first_fault);
        let verdict = match (page_node == here, pass) {
            (true, _) => Verdict::Here,
            (false, true) => Verdict::Migrate,
            (false, false) => Verdict::Filtered,
        };
        (verdict, new)
    }
    /// Records that `task` touched pages of `mm` that are now on `node`.
    pub fn account(&mut self, task: u32, mm: u32, node: usize, pages: u64) {
        let pass = self.mms[mm as usize].pass;
        self.tasks[task as usize].record(pass, node, pages);
    }
    /// Whether `pages` pages may move into `node` now. They are charged even if the move fails afterwards.
    pub fn admit(&mut self, node: usize, now_ms: u64, pages: u32) -> bool {
        let k = &self.knobs;
        self.windows[node].admit(now_ms, pages, k.migrate_sleep_millisecs, k.pages_to_migrate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numa::autonuma::AutoNumaTunables;

    #[test]
    fn section_1_4_first_fault_passes_then_two_in_a_row() {
        assert_eq!(filter(None, 2, true), (true, 2), "first-fault exception");
        assert_eq!(filter(None, 2, false), (false, 2), "without it");
        assert_eq!(filter(Some(2), 2, true), (true, 2));
        assert_eq!(filter(Some(1), 2, true), (false, 2), "recorded, and not moved");
    }

    #[test]
    fn verdicts() {
        let a = AutoNuma::new(AutoNumaTunables::default(), 4, 1);
        assert_eq!(a.decide(None, 0, 3), (Verdict::Migrate, 3));
        assert_eq!(a.decide(Some(1), 0, 3), (Verdict::Filtered, 3));
        assert_eq!(a.decide(Some(3), 0, 3), (Verdict::Migrate, 3));
        assert_eq!(a.decide(None, 3, 3), (Verdict::Here, 3));
    }

    #[test]
    fn counters_say_where_the_pages_are_not_where_the_thread_was() {
        let mut a = AutoNuma::new(AutoNumaTunables::default(), 2, 1);
        a.fork(None);
        a.account(0, 0, 1, 512);
        assert_eq!(a.tasks[0].faults, [0, 512]);
    }
}
