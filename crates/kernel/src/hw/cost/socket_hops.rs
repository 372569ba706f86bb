//! Number of hops between the sockets of two nodes.

use numalab_nouns::machine::Machine;

/// Hops between the sockets of two nodes: 0 on the same socket, 1 between nearest sockets, 2 for all others.
#[derive(Clone, Debug)]
pub(super) struct SocketHops {
    pub(super) by_pair: Vec<u8>,
}

impl SocketHops {
    pub(super) fn new(machine: &Machine) -> Self {
        let n = machine.node_count();
        let same = |i: usize, j: usize| machine.nodes[i].socket == machine.nodes[j].socket;
        let pairs = || (0..n * n).map(|p| (p / n, p % n));
        // Hop classes also distinguish nodes of one socket, so one hop is the smallest class between sockets.
        let nearest = pairs().filter(|(i, j)| !same(*i, *j)).map(|(i, j)| machine.hop[i][j]).min();
        let hops = |(i, j): (usize, usize)| match nearest {
            _ if same(i, j) => 0,
            Some(least) if machine.hop[i][j] > least => 2,
            _ => 1,
        };
        Self { by_pair: pairs().map(hops).collect() }
    }
}
