//! The fallback order of nodes (`build_zonelists`, `find_next_best_node`; thp-and-allocation.md section 1.2).
//!
//! Also the distance classes D0, D1, ... of huge-page ladders.

use numalab_base::node_mask::NodeMask;

/// Weight of distance against load. The kernel multiplies by `MAX_NUMNODES`; older kernels multiplied by their
/// product.
const DISTANCE_WEIGHT: u64 = 1024;

/// Input of the fallback orders.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeShape<'a> {
    /// Distances (SLIT), one row per node.
    pub distance: &'a [Vec<u8>],
    /// Nodes with memory.
    pub memory: NodeMask,
    /// Nodes with CPUs.
    pub cpus: NodeMask,
}

/// The fallback order of every node: all nodes with memory, the node itself first if it has memory.
pub fn fallback_orders(shape: &NodeShape) -> Vec<Vec<u16>> {
    let nodes = shape.distance.len();
    let mut load = vec![0u64; nodes];
    (0..nodes).map(|local| order_of(local, shape, &mut load)).collect()
}

fn order_of(local: usize, shape: &NodeShape, load: &mut [u64]) -> Vec<u16> {
    let row = &shape.distance[local];
    let score = |m: usize| {
        let penalty = u64::from(m < local) + u64::from(shape.cpus.contains(m));
        (u64::from(row[m]) + penalty) * DISTANCE_WEIGHT + load[m]
    };
    // Load grows on nodes that have their place already, so `find_next_best_node` in a loop is a sort: the node itself,
    // then by score and number.
    let place = |m: usize| u64::from(m != local) << 63 | score(m) << 16 | m as u64;
    let mut places: Vec<u64> = shape.memory.iter().map(place).collect();
    places.sort_unstable();
    let order: Vec<u16> = places.iter().map(|place| *place as u16).collect();
    let mut previous = local;
    for next in order.iter().map(|&m| usize::from(m)) {
        // The first node of each distance class gets load, so that the list of another node begins with another node.
        if row[next] != row[previous] {
            load[next] += 1;
        }
        previous = next;
    }
    order
}

/// Nodes with memory by distance class of one node: D0 is the node itself, D1 the nearest others, and so on. A node
/// without memory has an empty D0.
pub fn distance_classes(local: usize, row: &[u8], memory: NodeMask) -> Vec<NodeMask> {
    let mut distances: Vec<u8> = memory.iter().filter(|n| *n != local).map(|n| row[n]).collect();
    distances.sort_unstable();
    distances.dedup();
    let own = NodeMask::of(memory.contains(local).then_some(local));
    let class = |d: &u8| NodeMask::of(memory.iter().filter(|n| *n != local && row[*n] == *d));
    std::iter::once(own).chain(distances.iter().map(class)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(nodes: usize, far: impl Fn(usize, usize) -> u8) -> Vec<Vec<u8>> {
        (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { far(a, b) }).collect()).collect()
    }

    fn orders(distance: &[Vec<u8>], cpus: usize) -> Vec<String> {
        let n = distance.len();
        let shape = NodeShape { distance, memory: NodeMask::of(0..n), cpus: NodeMask::of(0..cpus) };
        let text = |o: &Vec<u16>| o.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        fallback_orders(&shape).iter().map(text).collect()
    }

    #[test]
    fn naples_and_snc4_and_vector_9() {
        let expected = [
            "0 1 2 3 4 5 6 7",
            "1 2 3 0 5 6 7 4",
            "2 3 0 1 6 7 4 5",
            "3 0 1 2 7 4 5 6",
            "4 5 6 7 0 1 2 3",
            "5 6 7 4 1 2 3 0",
            "6 7 4 5 2 3 0 1",
            "7 4 5 6 3 0 1 2",
        ];
        assert_eq!(orders(&table(8, |a, b| if a / 4 == b / 4 { 16 } else { 32 }), 8), expected);
        assert_eq!(orders(&table(8, |a, b| if a / 4 == b / 4 { 12 } else { 21 }), 8), expected);
    }

    #[test]
    fn flat_four_nodes() {
        assert_eq!(orders(&table(4, |_, _| 20), 4), ["0 1 2 3", "1 2 3 0", "2 3 0 1", "3 0 1 2"]);
    }

    #[test]
    fn cxl_expanders_are_ordinary_targets_and_vector_9() {
        let d = vec![vec![10, 21, 14, 24], vec![21, 10, 24, 14], vec![14, 24, 10, 34], vec![24, 14, 34, 10]];
        assert_eq!(orders(&d, 2), ["0 2 1 3", "1 3 0 2", "2 0 1 3", "3 1 0 2"]);
    }

    #[test]
    fn ring_of_eight() {
        let near = |a: usize, b: usize| matches!((a + 8 - b) % 8, 1 | 4 | 7);
        let expected = ["0 1 4 7 2 3 5 6", "1 5 2 0 3 4 6 7", "2 6 3 1 4 7 5 0", "3 7 4 2 5 6 0 1"];
        assert_eq!(orders(&table(8, |a, b| if near(a, b) { 21 } else { 31 }), 8)[..4], expected);
    }

    #[test]
    fn nodes_without_memory_are_left_out_and_start_with_their_nearest() {
        let d = table(4, |a, b| if a / 2 == b / 2 { 12 } else { 20 });
        let shape = NodeShape { distance: &d, memory: NodeMask::of([0, 2]), cpus: NodeMask::of(0..4) };
        assert_eq!(fallback_orders(&shape), [[0, 2], [0, 2], [2, 0], [2, 0]]);
    }

    #[test]
    fn classes_are_distinct_distances() {
        let d = table(8, |a, b| if a / 4 == b / 4 { 16 } else { 32 });
        let classes = distance_classes(5, &d[5], NodeMask::of(0..8));
        assert_eq!(classes, [NodeMask::of([5]), NodeMask::of([4, 6, 7]), NodeMask::of(0..4)]);
        assert!(distance_classes(0, &d[0], NodeMask::of(1..8))[0].is_empty());
    }
}
