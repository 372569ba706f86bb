//! Distances that scheduling domains are built from (06f2c90885e9, 4d6dd05d07d0: 6.19). NUMA balancing keeps the
//! firmware's table.
//!
//! On Granite Rapids and Clearwater Forest with sub-NUMA clusters and several packages the remote distances all differ.
//! Each would make a level of its own, so they are replaced by their mean.

use numalab_nouns::machine::Machine;

/// Least distance that counts as remote.
const REMOTE_DISTANCE: u32 = 20;

/// The table that domains are built from, if it is another than the machine's.
pub fn simplified(machine: &Machine) -> Option<Vec<Vec<u8>>> {
    let model = ["Granite Rapids", "Clearwater Forest"].iter().any(|m| machine.title.contains(m));
    let in_package = |s: usize| machine.cpu_nodes().filter(|n| machine.nodes[*n].socket == s).count() > 1;
    if !model || machine.sockets < 2 || !(0..machine.sockets).any(in_package) {
        return None;
    }
    let nodes: Vec<usize> = machine.cpu_nodes().collect();
    let mean = remote_mean(&machine.distance, &nodes)?;
    let one = |d: &u8| if u32::from(*d) >= REMOTE_DISTANCE { mean } else { *d };
    Some(machine.distance.iter().map(|row| row.iter().map(one).collect()).collect())
}

/// Integer mean of all distances of at least 20 between the nodes.
pub fn remote_mean(distance: &[Vec<u8>], nodes: &[usize]) -> Option<u8> {
    let all = nodes.iter().flat_map(|a| nodes.iter().map(|b| u32::from(distance[*a][*b])));
    let remote: Vec<u32> = all.filter(|d| *d >= REMOTE_DISTANCE).collect();
    let sum: u32 = remote.iter().sum();
    sum.checked_div(remote.len() as u32).map(|m| m as u8)
}
