//! Whether a faulting page is misplaced (designs-2012.md section 2.4).

use super::sched_numa::SchedNuma;
use super::stale_nids::MOVED;

/// Window of the optional migration limit, ms (as AutoNUMA's).
const LIMIT_WINDOW_MS: u32 = 100;

/// Verdict on a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The thread has no home yet, or a policy of its own. The page is not examined.
    NotAsked,
    /// The page may stay.
    Stay,
    /// The last fault came from another node.
    Filtered,
    /// The page should be on the faulting CPU's node.
    Misplaced,
}

impl SchedNuma {
    /// Decides on a fault from node `here` on a page of `page_node` that remembers `last` (`None`: nothing).
    /// `own_policy`: the thread or the area has a policy, which comes before the home node. Returns the verdict and
    /// what the page then remembers.
    pub fn misplaced(
        &self,
        task: u32,
        own_policy: bool,
        last: Option<u32>,
        page_node: usize,
        here: usize,
    ) -> (Verdict, Option<u32>) {
        if own_policy || self.tasks[task as usize].home.is_none() {
            return (Verdict::NotAsked, last);
        }
        let flag = last.unwrap_or(0) & MOVED;
        let seen = last.map_or_else(|| self.stale.read(page_node), |l| l & !MOVED);
        let now = Some(here as u32 | flag);
        if self.knobs.two_in_a_row && seen != here as u32 {
            return (Verdict::Filtered, now);
        }
        if page_node == here || (self.knobs.freeze && flag != 0) {
            return (Verdict::Stay, now);
        }
        (Verdict::Misplaced, now)
    }
    /// What a page remembers right after a move: its last node is not copied.
    pub fn after_move(&self) -> Option<u32> {
        self.knobs.freeze.then_some(MOVED)
    }
    /// Whether `pages` pages may move into `node` now. Without a limit they always may.
    pub fn admit(&mut self, node: usize, now_ms: u64, pages: u32) -> bool {
        let limit = self.knobs.migrate_limit_pages;
        limit == 0 || self.windows[node].admit(now_ms, pages, LIMIT_WINDOW_MS, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numa::schednuma::SchedNumaTunables;

    fn with_home() -> SchedNuma {
        let mut s = SchedNuma::new(SchedNumaTunables::default(), 4, 1);
        s.fork(0);
        s.tasks[0].home = Some(0);
        s
    }

    #[test]
    fn section_2_4_step_2_nothing_moves_without_a_home() {
        let mut s = with_home();
        s.tasks[0].home = None;
        assert_eq!(s.misplaced(0, false, Some(3), 0, 3), (Verdict::NotAsked, Some(3)));
        s.tasks[0].home = Some(0);
        assert_eq!(s.misplaced(0, true, Some(3), 0, 3), (Verdict::NotAsked, Some(3)), "a policy of its own");
    }

    #[test]
    fn section_2_4_step_2_the_target_is_the_faulting_node_not_the_home() {
        let s = with_home();
        assert_eq!(s.misplaced(0, false, Some(3), 1, 3).0, Verdict::Misplaced, "home is 0, it goes to 3");
    }

    #[test]
    fn section_2_4_step_3_two_in_a_row_and_no_first_fault_exception() {
        let mut s = with_home();
        assert_eq!(s.misplaced(0, false, None, 1, 3), (Verdict::Filtered, Some(3)), "a fresh page reads 0");
        assert_eq!(s.misplaced(0, false, Some(3), 1, 3), (Verdict::Misplaced, Some(3)));
        assert_eq!(s.misplaced(0, false, Some(3), 3, 3), (Verdict::Stay, Some(3)));
        s.stale.leave(1, 3);
        assert_eq!(s.misplaced(0, false, None, 1, 3).0, Verdict::Misplaced, "a stale field");
        s.knobs.two_in_a_row = false;
        assert_eq!(s.misplaced(0, false, Some(2), 1, 3).0, Verdict::Misplaced);
    }

    #[test]
    fn section_8_4_memory_frozen_after_its_first_migration() {
        let mut s = with_home();
        s.knobs.freeze = true;
        assert_eq!(s.misplaced(0, false, Some(3 | MOVED), 1, 3), (Verdict::Stay, Some(3 | MOVED)));
    }

    #[test]
    fn the_filter_squares_the_shares_of_the_nodes() {
        // Node 0 takes 4 of 10 faults, three others 2 each. The chance of two in a row is 0.16 against 0.04 each.
        let s = with_home();
        let order = [0, 1, 0, 2, 0, 3, 0, 1, 2, 3];
        let (mut hot, mut others) = (0, 0);
        for a in order {
            for b in order {
                let (v, _) = s.misplaced(0, false, Some(a), if b == 0 { 1 } else { 0 }, b as usize);
                if v == Verdict::Misplaced {
                    *(if b == 0 { &mut hot } else { &mut others }) += 1;
                }
            }
        }
        assert_eq!((hot, others), (16, 12));
    }
}
