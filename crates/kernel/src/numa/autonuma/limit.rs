//! Rate limit of migrations into a node (designs-2012.md section 1.5).

/// Rate window of one destination node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MigrateWindow {
    began_ms: u64,
    used: u64,
}

impl MigrateWindow {
    /// Charges `pages`, unless the budget of the present window is used up. Returns whether it did. The charge stays
    /// even if the move fails. The window ends once more than `window_ms` have passed (`time_after`); `now_ms` is the
    /// time of the last tick, as with jiffies.
    pub fn admit(&mut self, now_ms: u64, pages: u32, window_ms: u32, budget: u32) -> bool {
        if now_ms > self.began_ms + u64::from(window_ms) {
            self.began_ms = now_ms;
            self.used = 0;
        }
        if self.used >= u64::from(budget) {
            return false;
        }
        self.used += u64::from(pages);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_1_5_ceiling_of_1_25_gib_per_second_and_node() {
        let mut w = MigrateWindow::default();
        let mut moved = 0u64;
        for ms in 0..1000 {
            while w.admit(ms, 512, 100, 32_768) {
                moved += 512;
            }
        }
        assert_eq!(moved, 327_680);
        assert_eq!(moved * 4096, (5 << 30) / 4, "1.25 GiB");
    }

    #[test]
    fn the_last_one_in_may_exceed_the_budget() {
        let mut w = MigrateWindow::default();
        assert!(w.admit(0, 32_767, 100, 32_768));
        assert!(w.admit(99, 512, 100, 32_768), "one page is left");
        assert!(!w.admit(99, 1, 100, 32_768));
        assert!(!w.admit(100, 1, 100, 32_768), "not after it yet");
        assert!(w.admit(101, 1, 100, 32_768), "next window");
    }
}
