//! A lock as a server that one CPU uses at a time: the cache line of its word, and what is done while it is held.
//!
//! Problem: slices are planned ahead, so the uses of a lock are not met in the order of time. A plain "free again at"
//! would make a thread wait for uses that lie behind its own.
//! Approach: time is cut into *bins*, as for [`pipes`](crate::hardware::pipes). Each bin knows how long the lock is in
//! use in it, and no bin gives more time than it has. A use that finds its bin full waits for the next one with room.
//! So threads get through one after the other, as fast as the line goes round and no faster. Inside a bin nobody
//! waits: the model leaves out queues shorter than [`BIN_NS`].
//!
//! An atomic instruction on a line that another CPU has changed fetches it from that CPU's cache. Who had it last is
//! drawn from the recent uses by node: the time of a transfer is the mean over them. A CPU that was there last itself
//! finds the line, and pays nothing that an uncontended fault does not cost.
//!
//! Units: ns of model time.

use crate::hardware::access_rates::EPOCH_NS;

/// Length of a bin, ns: about a hundred transfers of a line.
pub const BIN_NS: u64 = 16_000;

/// Bins from now on that are kept: longer than the longest slice, the tick of 100 Hz.
const ROWS: usize = 1024;

/// Size of a lock on a machine of so many nodes, bytes.
pub fn bytes_of_line(nodes: usize) -> usize {
    size_of::<LockLine>() + ROWS * size_of::<u16>() + nodes * size_of::<f32>()
}

/// Uses below which nobody counts as having been there.
const NOBODY: f32 = 0.5;

/// Uses of a lock by one CPU or thread, which forgets as the lock itself does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnUses {
    /// Which lock they are of.
    line: u32,
    epoch: u32,
    uses: f32,
}

/// One use of a lock.
#[derive(Clone, Copy, Debug)]
pub struct LockUse<'a> {
    /// Number of the lock among those of its kind.
    pub line: u32,
    /// Present instant, ns.
    pub now_ns: u64,
    /// When it is asked for, ns.
    pub at_ns: u64,
    /// Node of the CPU.
    pub node: usize,
    /// Atomic instructions on the line.
    pub times: f32,
    /// How long it is held otherwise, ns.
    pub hold_ns: f64,
    /// Latency of a line to this node from each node, ns.
    pub from_ns: &'a [f64],
}

/// What a use takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LockTime {
    /// Wait until it is free, ns.
    pub wait_ns: u64,
    /// Transfers of its line, ns.
    pub transfer_ns: u64,
}

/// The use of one lock in the near future, and who used it lately.
#[derive(Clone, Debug)]
pub struct LockLine {
    /// Time in use of each bin, ns; the bins come round.
    busy_ns: Box<[u16]>,
    /// The first bin that is kept.
    first: u64,
    /// Bins that are known to be full: the first, and the one behind the last.
    full: (u64, u64),
    /// Recent uses by node; they halve with every epoch.
    by_node: Box<[f32]>,
    uses: f32,
    epoch: u32,
}

impl LockLine {
    /// A lock that nobody has used, on a machine of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            busy_ns: vec![0; ROWS].into(),
            first: 0,
            full: (0, 0),
            by_node: vec![0.0; nodes].into(),
            uses: 0.0,
            epoch: 0,
        }
    }
    /// Uses the lock, and tells what that takes. `own` are the earlier uses of whoever uses it.
    pub fn take(&mut self, u: &LockUse<'_>, own: &mut OwnUses) -> LockTime {
        let transfer_ns = self.transfer_ns(u, own);
        let service_ns = (transfer_ns + u.hold_ns) as u64;
        if service_ns == 0 {
            return LockTime::default();
        }
        LockTime { wait_ns: self.wait_ns(u.now_ns, u.at_ns, service_ns), transfer_ns: transfer_ns as u64 }
    }
    /// Whether the bin of an instant is at least half in use.
    pub fn is_pressed(&self, at_ns: u64) -> bool {
        let bin = at_ns / BIN_NS;
        bin < self.first + ROWS as u64 && u64::from(self.busy_ns[bin as usize % ROWS]) >= BIN_NS / 2
    }
    /// Mean time for the line to come from those who used it lately, for each of the uses; counts them.
    fn transfer_ns(&mut self, u: &LockUse<'_>, own: &mut OwnUses) -> f64 {
        let epoch = (u.now_ns / EPOCH_NS) as u32;
        let left = halved(epoch - self.epoch);
        self.epoch = epoch;
        if left < 1.0 {
            self.by_node.iter_mut().for_each(|n| *n *= left);
            self.uses *= left;
        }
        if own.line != u.line {
            *own = OwnUses { line: u.line, epoch, uses: 0.0 };
        }
        own.uses *= halved(epoch - own.epoch);
        own.epoch = epoch;
        let others = self.uses - own.uses;
        let mut sum = 0.0;
        if others > NOBODY {
            for (node, &uses) in self.by_node.iter().enumerate() {
                let mine = if node == u.node { own.uses } else { 0.0 };
                sum += f64::from((uses - mine).max(0.0)) * u.from_ns[node];
            }
            sum /= f64::from(self.uses);
        }
        self.by_node[u.node] += u.times;
        self.uses += u.times;
        own.uses += u.times;
        sum * f64::from(u.times)
    }
    /// Enters a use of `service_ns` at `at_ns` or later; returns how much later, ns.
    fn wait_ns(&mut self, now_ns: u64, at_ns: u64, service_ns: u64) -> u64 {
        self.forget(now_ns / BIN_NS);
        let (asked, end) = (at_ns / BIN_NS, self.first + ROWS as u64);
        let known = asked >= self.full.0 && asked < self.full.1;
        let mut bin = if known { self.full.1 } else { asked };
        while bin < end && u64::from(self.busy_ns[bin as usize % ROWS]) >= BIN_NS {
            bin += 1;
        }
        if bin > asked {
            self.full = if known { (self.full.0, bin) } else { (asked, bin) };
        }
        let begins = bin;
        let mut left = service_ns;
        while left > 0 && bin < end {
            let busy = &mut self.busy_ns[bin as usize % ROWS];
            let part = left.min(BIN_NS.saturating_sub(u64::from(*busy)));
            *busy += part as u16;
            left -= part;
            bin += 1;
        }
        (begins * BIN_NS).saturating_sub(at_ns)
    }
    /// Bins before `bin` are over.
    fn forget(&mut self, bin: u64) {
        let gone = (bin.saturating_sub(self.first)).min(ROWS as u64);
        for old in self.first..self.first + gone {
            self.busy_ns[old as usize % ROWS] = 0;
        }
        self.first = self.first.max(bin);
    }
    /// Checks that no bin is longer in use than it is.
    ///
    /// # Errors
    /// A sentence that names the first one.
    pub fn check(&self) -> Result<(), String> {
        match self.busy_ns.iter().position(|&ns| u64::from(ns) > BIN_NS) {
            Some(row) => Err(format!("a lock is in use {} ns of a bin of {BIN_NS} ns", self.busy_ns[row])),
            None => Ok(()),
        }
    }
}

/// What is left of a count after so many epochs.
fn halved(epochs: u32) -> f32 {
    if epochs == 0 {
        return 1.0;
    }
    if epochs > 60 {
        return 0.0;
    }
    1.0 / (1u64 << epochs) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn use_at(at_ns: u64, node: usize, from_ns: &[f64]) -> LockUse<'_> {
        LockUse { line: 1, now_ns: 0, at_ns, node, times: 2.0, hold_ns: 0.0, from_ns }
    }

    #[test]
    fn a_lone_user_pays_nothing() {
        let (mut line, mut own) = (LockLine::new(2), OwnUses::default());
        for i in 0..100 {
            assert_eq!(line.take(&use_at(i * 100, 0, &[50.0, 100.0]), &mut own), LockTime::default());
        }
    }

    /// Of two users that take turns each finds the line with the other every second time.
    #[test]
    fn the_line_comes_from_whoever_had_it() {
        let (mut line, mut own) = (LockLine::new(2), [OwnUses::default(); 2]);
        let mut last = [0; 2];
        for i in 0..2000 {
            let node = i % 2;
            let from_ns = if node == 0 { [50.0, 100.0] } else { [100.0, 50.0] };
            last[node] = line.take(&use_at(0, node, &from_ns), &mut own[node]).transfer_ns;
        }
        // Two instructions, half of them behind the other CPU, at 100 ns.
        assert!(last.iter().all(|ns| (99..=100).contains(ns)), "{last:?}");
    }

    /// Exact serialisation: n users get through at one transfer each, whoever is planned first.
    #[test]
    fn uses_beyond_what_a_bin_has_come_later() {
        let mut line = LockLine::new(1);
        let hold = |at_ns| LockUse { hold_ns: 100.0, times: 0.0, ..use_at(at_ns, 0, &[0.0]) };
        let bins = 7;
        let per_bin = BIN_NS / 100;
        let mut ends = Vec::new();
        for _ in 0..bins * per_bin {
            ends.push(line.take(&hold(0), &mut OwnUses::default()).wait_ns);
        }
        assert_eq!(*ends.last().unwrap(), (bins - 1) * BIN_NS);
        assert_eq!(line.take(&hold(0), &mut OwnUses::default()).wait_ns, bins * BIN_NS);
        // One that comes when all that is over does not wait.
        assert_eq!(line.take(&hold((bins + 1) * BIN_NS), &mut OwnUses::default()).wait_ns, 0);
        assert_eq!(line.check(), Ok(()));
        line.busy_ns[3] = BIN_NS as u16 + 1;
        assert_eq!(line.check().unwrap_err(), "a lock is in use 16001 ns of a bin of 16000 ns");
    }

    #[test]
    fn bins_that_are_over_are_empty_again() {
        let (mut line, mut own) = (LockLine::new(1), OwnUses::default());
        let hold = |now_ns| LockUse { hold_ns: BIN_NS as f64, times: 0.0, now_ns, ..use_at(now_ns, 0, &[0.0]) };
        for round in 0..3 * ROWS as u64 {
            assert_eq!(line.take(&hold(round * BIN_NS), &mut own).wait_ns, 0);
        }
        assert!(line.is_pressed((3 * ROWS as u64 - 1) * BIN_NS) && !line.is_pressed(3 * ROWS as u64 * BIN_NS));
    }
}
