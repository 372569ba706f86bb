//! Statistics per thread (at faults) and per process (at scans), designs-2012.md sections 1.3 and 1.4.

/// Weight of the whole: weights are in thousandths.
pub const WEIGHT_ONE: u64 = 1000;

/// `1000 * part / total`; 0 without data.
#[inline]
pub fn weight(part: u64, total: u64) -> u64 {
    (WEIGHT_ONE * part).checked_div(total).unwrap_or(0)
}

/// First node with the largest weight above 0 (`> task_max`, which starts at 0); `None` if all weights are 0.
pub fn heaviest(counts: &[u64], total: u64) -> Option<usize> {
    let weights = counts.iter().map(|c| weight(*c, total)).enumerate();
    weights.fold((0, None), |(most, at), (n, w)| if w > most { (w, Some(n)) } else { (most, at) }).1
}

/// First node with the largest count.
pub fn busiest(counts: &[u64]) -> usize {
    let mut best = 0;
    for (n, c) in counts.iter().enumerate() {
        if *c > counts[best] {
            best = n;
        }
    }
    best
}

/// Statistics of a thread: on which nodes the pages it touches are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStats {
    /// Pages by node.
    pub faults: Vec<u64>,
    /// Sum of `faults`, except what halving rounds away.
    pub total: u64,
    /// Pass of the process in which the counters were last halved.
    pub pass: u32,
    /// Node that the balancing hook selected and CFS prefers; `None` before the first selection.
    pub selected: Option<u32>,
}

impl TaskStats {
    /// Statistics without data.
    pub fn new(nodes: usize) -> Self {
        Self { faults: vec![0; nodes], total: 0, pass: 0, selected: None }
    }
    /// Records that pages on `node` were touched in pass `pass` of the process. The first fault of a pass halves all
    /// counters.
    pub fn record(&mut self, pass: u32, node: usize, pages: u64) {
        if self.pass != pass {
            self.pass = pass;
            self.faults.iter_mut().for_each(|f| *f /= 2);
            // The sum is halved by itself (`cpu_follow_memory_pass`), so it may exceed the sum of the counters.
            self.total /= 2;
        }
        self.faults[node] += pages;
        self.total += pages;
    }
    /// T of the reference: share of `node` in thousandths.
    #[inline]
    pub fn weight(&self, node: usize) -> u64 {
        weight(self.faults[node], self.total)
    }
}

/// Statistics of a process: on which nodes its pages are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmStats {
    /// Pages by node, of the last complete pass.
    pub faults: Vec<u64>,
    /// Sum of `faults`.
    pub total: u64,
    /// Number of passes begun.
    pub pass: u32,
    counting: Vec<u64>,
}

impl MmStats {
    /// Statistics without data.
    pub fn new(nodes: usize) -> Self {
        Self { faults: vec![0; nodes], total: 0, pass: 0, counting: vec![0; nodes] }
    }
    /// Begins a walk of the process.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
        self.counting.fill(0);
    }
    /// Counts pages on the walk.
    #[inline]
    pub fn count(&mut self, node: usize, pages: u64) {
        self.counting[node] += pages;
    }
    /// Ends the walk: its counts replace the counters, without decay. A pass that counted nothing changes nothing.
    pub fn end_pass(&mut self) {
        let total = self.counting.iter().sum();
        if total > 0 {
            self.faults.copy_from_slice(&self.counting);
            self.total = total;
        }
    }
    /// P of the reference: share of `node` in thousandths.
    #[inline]
    pub fn weight(&self, node: usize) -> u64 {
        weight(self.faults[node], self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_1_4_thread_counters_halve_on_the_first_fault_of_a_pass() {
        let mut t = TaskStats::new(2);
        t.record(1, 0, 512);
        t.record(1, 0, 512);
        assert_eq!((t.faults[0], t.total), (1024, 1024));
        t.record(2, 1, 3);
        assert_eq!((t.faults.as_slice(), t.total), ([512, 3].as_slice(), 515));
        t.record(2, 1, 1);
        assert_eq!(t.total, 516);
        assert_eq!((t.weight(0), t.weight(1)), (992, 7));
    }

    #[test]
    fn section_1_3_process_counters_are_replaced_at_the_end_of_the_walk() {
        let mut m = MmStats::new(2);
        m.begin_pass();
        m.count(0, 100);
        assert_eq!(m.total, 0, "not before the end");
        m.end_pass();
        m.begin_pass();
        m.count(1, 50);
        m.end_pass();
        assert_eq!((m.faults.as_slice(), m.total, m.pass), ([0, 50].as_slice(), 50, 2), "no decay");
        m.begin_pass();
        m.end_pass();
        assert_eq!(m.total, 50, "a pass that counts nothing keeps the old counters");
    }

    #[test]
    fn section_1_4_the_total_is_halved_as_such() {
        let mut t = TaskStats::new(3);
        (0..3).for_each(|n| t.record(1, n, 1));
        t.record(2, 0, 1);
        assert_eq!((t.faults.as_slice(), t.total), ([1, 0, 0].as_slice(), 2));
        assert_eq!(t.weight(0), 500);
    }

    #[test]
    fn section_1_7_step_2_the_busiest_node_is_by_weights_in_thousandths() {
        assert_eq!(heaviest(&[19_910, 40_040, 40_050], 100_000), Some(1), "400 and 400: the first");
        assert_eq!(heaviest(&[0, 7], 7), Some(1));
        assert_eq!(heaviest(&[0, 1], 1001), None, "less than a thousandth each");
        assert_eq!(heaviest(&[0, 0], 0), None);
    }

    #[test]
    fn ties_go_to_the_lowest_node() {
        assert_eq!(busiest(&[3, 5, 5, 1]), 1);
        assert_eq!(busiest(&[0, 0]), 0);
        assert_eq!(weight(1, 0), 0);
    }
}
