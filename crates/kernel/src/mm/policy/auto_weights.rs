//! Weights of weighted interleave that follow the bandwidth of nodes (6.16, `weighted_interleave/auto`).

/// Sum that weights are scaled to before they are reduced.
const SCALE: u64 = 32;

/// Weights from the bandwidth of each memory node, any unit; 0 if it is unknown. Before any report, all are 1.
pub fn from_bandwidth(bandwidth: &[u64]) -> Vec<u8> {
    let sum: u64 = bandwidth.iter().sum();
    let weight = |bw: &u64| if *bw != 0 && sum < SCALE * bw { SCALE * bw / sum } else { 1 };
    let weights: Vec<u64> = bandwidth.iter().map(weight).collect();
    let divisor = weights.iter().copied().fold(0, gcd).max(1);
    weights.iter().map(|w| (w / divisor) as u8).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

/// The weights of a machine, and whether they still follow reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterleaveWeights {
    weights: Vec<u8>,
    reported: Vec<u64>,
    auto: bool,
}

impl InterleaveWeights {
    /// The weights of `nodes` memory nodes before any report. `auto`: they follow reports (6.16 on).
    pub fn new(nodes: usize, auto: bool) -> Self {
        Self { weights: vec![1; nodes], reported: vec![0; nodes], auto }
    }
    /// The weights in force.
    pub fn weights(&self) -> &[u8] {
        &self.weights
    }
    /// Whether the weights follow reports.
    pub fn auto(&self) -> bool {
        self.auto
    }
    /// A report of read and write bandwidth of a node. It is kept, and applied while the weights are automatic.
    pub fn report(&mut self, node: usize, read: u64, write: u64) {
        self.reported[node] = read.min(write);
        self.apply();
    }
    /// A weight written by hand ends the automatic weights.
    pub fn write(&mut self, node: usize, weight: u8) {
        self.weights[node] = weight.max(1);
        self.auto = false;
    }
    /// Turns the automatic weights on or off.
    pub fn set_auto(&mut self, auto: bool) {
        self.auto = auto;
        self.apply();
    }
    fn apply(&mut self) {
        if self.auto {
            self.weights = from_bandwidth(&self.reported);
        }
    }
}
