//! Shoot-downs and cache hits: the cost formulas that depend on who runs where.

use numalab_model::machine::{KernelCosts, Machine};

/// A TLB flush on the own CPU only, ns (machines.md section 5).
pub const LOCAL_FLUSH_NS: u64 = 200;

/// CPUs that a shoot-down interrupts, by distance from its initiator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushTargets {
    /// On the initiator's socket.
    pub socket: u32,
    /// One hop away.
    pub hop1: u32,
    /// Farther.
    pub hop2: u32,
}

impl FlushTargets {
    /// Counts the targets of a flush from `node` where `running[n]` CPUs of node `n` run the process, the
    /// initiator's own among them.
    pub fn count(machine: &Machine, node: usize, running: &[u16]) -> Self {
        let mut t = Self::default();
        for (n, &cpus) in running.iter().enumerate() {
            let cpus = u32::from(cpus);
            if machine.nodes[n].socket == machine.nodes[node].socket {
                t.socket += cpus;
            } else if machine.hop[node][n] <= first_socket_hop(machine, node) {
                t.hop1 += cpus;
            } else {
                t.hop2 += cpus;
            }
        }
        t.socket = t.socket.saturating_sub(1);
        t
    }
    /// Number of CPUs interrupted.
    pub fn total(&self) -> u32 {
        self.socket + self.hop1 + self.hop2
    }
    /// Time of the initiator, ns (machines.md section 5).
    pub fn initiator_ns(&self, c: &KernelCosts) -> f64 {
        c.flush_base_ns
            + c.flush_socket_ns * f64::from(self.socket)
            + c.flush_hop1_ns * f64::from(self.hop1)
            + c.flush_hop2_ns * f64::from(self.hop2)
    }
}

/// Smallest hop class from a node to another socket.
fn first_socket_hop(machine: &Machine, node: usize) -> u8 {
    let other = |n: &usize| machine.nodes[*n].socket != machine.nodes[node].socket;
    (0..machine.node_count()).filter(other).map(|n| machine.hop[node][n]).min().unwrap_or(u8::MAX)
}

/// Share of a cyclic sweep that hits the LLC when the working sets of its running threads sum to
/// `load_bytes`: all below 90 % of the capacity, none above 120 % (machines.md section 7).
pub fn sweep_hit_share(load_bytes: f64, capacity_bytes: f64) -> f64 {
    (1.0 - (load_bytes - 0.9 * capacity_bytes) / (0.3 * capacity_bytes)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_8_4_vector_15_cyclic_sweeps() {
        let c = 32.0 * 1024.0 * 1024.0;
        assert_eq!(sweep_hit_share(0.75 * c, c), 1.0);
        assert_eq!(sweep_hit_share(1.5 * c, c), 0.0);
    }
}
