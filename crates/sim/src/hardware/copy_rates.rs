//! What the kernel copies and clears, as rates between nodes, over the epochs that each copy takes.
//!
//! Problem: a machine of 1,024 nodes has a million pairs of them, and in an epoch few copy anything.
//! Approach: a list of the pairs that do. The others are 0, and nobody looks at them.

use numalab_kernel::hw::contention::PageCopy;

/// Epochs over which the traffic of one copy can be spread; a slower one is taken to be done by then.
const COPY_EPOCHS: usize = 16;

/// Rates of copies and clears between all pairs of nodes.
#[derive(Debug)]
pub(super) struct CopyRates {
    nodes: usize,
    /// Length of an epoch, ns.
    epoch_ns: f64,
    /// Bytes that are copied and, after all of those, cleared: `[from][to][epoch]`, where the current epoch is `epoch`
    /// and the next ones follow.
    bytes: Vec<f64>,
    epoch: usize,
    /// Pairs with bytes or a rate: ascending, but for the last ones since the epoch began.
    live: Vec<u32>,
    is_live: Vec<bool>,
    /// Rate of each pair in the last epoch, GB/s.
    gbps: Vec<f64>,
    /// The pairs with a rate, ascending.
    rates: Vec<PageCopy>,
}

impl CopyRates {
    /// No copies between so many nodes; an epoch takes `epoch_ns`.
    pub(super) fn new(nodes: usize, epoch_ns: f64) -> Self {
        let pairs = 2 * nodes * nodes;
        Self {
            nodes,
            epoch_ns,
            bytes: vec![0.0; pairs * COPY_EPOCHS],
            epoch: 0,
            live: Vec::new(),
            is_live: vec![false; pairs],
            gbps: vec![0.0; pairs],
            rates: Vec::new(),
        }
    }
    /// Number of the pair that copies from one node to another.
    #[inline]
    pub(super) fn copying(&self, from: usize, to: usize) -> usize {
        from * self.nodes + to
    }
    /// Number of the pair of a CPU of `cpu_node` that clears memory of a node.
    #[inline]
    pub(super) fn clearing(&self, cpu_node: usize, node: usize) -> usize {
        (self.nodes + cpu_node) * self.nodes + node
    }
    /// What a pair does at a rate.
    #[inline]
    pub(super) fn copy_of(&self, pair: usize, gbps: f64) -> PageCopy {
        let (from, to_node) = (pair / self.nodes, (pair % self.nodes) as u32);
        PageCopy { from_node: (from % self.nodes) as u32, to_node, gbps, clears: from >= self.nodes }
    }
    /// The rates of the last epoch that are not 0, by pair.
    pub(super) fn rates(&self) -> &[PageCopy] {
        &self.rates
    }
    /// Spreads the traffic of a copy over the `ns` that it takes.
    #[inline]
    pub(super) fn spread(&mut self, pair: usize, bytes: u64, ns: f64) {
        if !self.is_live[pair] {
            self.is_live[pair] = true;
            self.live.push(pair as u32);
        }
        let epochs = ((ns / self.epoch_ns) as usize + 1).min(COPY_EPOCHS);
        let pair = pair * COPY_EPOCHS;
        for later in 0..epochs {
            self.bytes[pair + (self.epoch + later) % COPY_EPOCHS] += bytes as f64 / epochs as f64;
        }
    }
    /// Ends an epoch of `epoch_ns`, and finds its rates. Returns whether they are those of the epoch before.
    pub(super) fn end_epoch(&mut self, epoch_ns: f64) -> bool {
        let mut same = true;
        self.rates.clear();
        self.live.sort_unstable();
        let mut live = std::mem::take(&mut self.live);
        live.retain(|&pair| {
            let pair = pair as usize;
            let epochs = &mut self.bytes[pair * COPY_EPOCHS..][..COPY_EPOCHS];
            let gbps = std::mem::take(&mut epochs[self.epoch]) / epoch_ns;
            let is_live = gbps != 0.0 || epochs.iter().any(|bytes| *bytes != 0.0);
            same &= std::mem::replace(&mut self.gbps[pair], gbps) == gbps;
            if gbps != 0.0 {
                self.rates.push(self.copy_of(pair, gbps));
            }
            self.is_live[pair] = is_live;
            is_live
        });
        self.live = live;
        self.epoch = (self.epoch + 1) % COPY_EPOCHS;
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH_NS: f64 = 4e6;

    #[test]
    fn pairs_are_listed_as_long_as_they_copy() {
        let mut rates = CopyRates::new(3, EPOCH_NS);
        let (far, near) = (rates.clearing(2, 1), rates.copying(0, 2));
        rates.spread(far, 4_000_000, 0.0);
        rates.spread(near, 8_000_000, 1.5 * EPOCH_NS);
        let listed = |rates: &CopyRates| -> Vec<_> {
            rates.rates().iter().map(|c| (c.from_node, c.to_node, c.clears, c.gbps)).collect()
        };
        assert!(!rates.end_epoch(EPOCH_NS));
        assert_eq!(listed(&rates), [(0, 2, false, 1.0), (2, 1, true, 1.0)], "in the order of pairs");
        assert!(!rates.end_epoch(EPOCH_NS));
        assert_eq!(listed(&rates), [(0, 2, false, 1.0)]);
        assert!(!rates.end_epoch(EPOCH_NS));
        assert!(rates.end_epoch(EPOCH_NS) && rates.rates().is_empty() && rates.live.is_empty());
    }
}
