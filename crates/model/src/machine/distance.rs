//! Distances that a table leaves open.
//!
//! Problem: firmware reports 255 from nodes without CPUs, as expanders and GPUs are, and some sources leave out rows.
//! ACPI calls 255 unreachable; in practice it means that nothing is known.
//! Approach: an open distance is that of the opposite direction, or that of the nearest node with CPUs, or the one
//! that is most common between nodes so related. [`complete`] applies the rules in this order, the same for machine
//! files and all imports.

/// The value that means "no information" in a table (ACPI SLIT: unreachable).
pub(super) const OPEN: u8 = 255;

/// Distance of a node from itself (`LOCAL_DISTANCE`) and, where nothing is known, to another one (`REMOTE_DISTANCE`).
pub(super) const LOCAL: u8 = 10;
pub(super) const REMOTE: u8 = 20;

/// What the rules need to know about a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub socket: usize,
    pub has_cpus: bool,
}

/// A table without open distances.
pub(super) struct Completed {
    pub distance: Vec<Vec<u8>>,
    /// Pairs (from, to) of different nodes whose distance was open, in order.
    pub open: Vec<(usize, usize)>,
}

/// Fills the open distances of a table, which is square and as long as `places`.
///
/// A node is 10 from itself. Any other open distance is, in this order: that of the opposite direction; from a node
/// without CPUs, that from the nearest node with CPUs; the most common one between nodes of the same relation (on one
/// socket or not, to memory without CPUs or not); the least one within a socket and the greatest one otherwise; 20.
pub(super) fn complete(table: &[Vec<Option<u8>>], places: &[Place]) -> Completed {
    let n = places.len();
    let nearest = |i: usize| {
        let known = (0..n).filter(|&c| places[c].has_cpus).filter_map(|c| Some((table[c][i]?, c)));
        known.min().map(|(_, c)| c)
    };
    let via: Vec<Option<usize>> = (0..n).map(|i| if places[i].has_cpus { None } else { nearest(i) }).collect();
    let relation = |i: usize, j: usize| {
        usize::from(places[i].socket == places[j].socket) * 2 + usize::from(places[i].has_cpus && places[j].has_cpus)
    };
    let mut counts = [[0_u32; 256]; 4];
    let pairs = || (0..n).flat_map(|i| (0..n).filter(move |&j| j != i).map(move |j| (i, j)));
    for (i, j) in pairs() {
        if let Some(d) = table[i][j] {
            counts[relation(i, j)][usize::from(d)] += 1;
        }
    }
    let all = || (0..=255_u8).filter(|d| counts.iter().any(|c| c[usize::from(*d)] > 0));
    let (least, greatest) = (all().next(), all().next_back());
    let common = |r: usize| (0..=255_u8).rev().max_by_key(|d| counts[r][usize::from(*d)]);
    let by_relation: Vec<u8> = (0..4)
        .map(|r| match common(r).filter(|d| counts[r][usize::from(*d)] > 0) {
            Some(d) => d,
            None if r >= 2 => least.unwrap_or(REMOTE),
            None => greatest.unwrap_or(REMOTE),
        })
        .collect();
    let value = |i: usize, j: usize| {
        if i == j {
            return LOCAL;
        }
        let through = || via[i].filter(|&c| c != j).and_then(|c| table[c][j]);
        table[j][i].or_else(through).unwrap_or_else(|| by_relation[relation(i, j)])
    };
    let distance = (0..n).map(|i| (0..n).map(|j| table[i][j].unwrap_or_else(|| value(i, j))).collect()).collect();
    Completed { distance, open: pairs().filter(|&(i, j)| table[i][j].is_none()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(rows: &[&[u8]], places: &[(usize, bool)]) -> Vec<Vec<u8>> {
        let table: Vec<Vec<Option<u8>>> =
            rows.iter().map(|r| r.iter().map(|d| Some(*d).filter(|d| *d != OPEN)).collect()).collect();
        let places: Vec<Place> = places.iter().map(|&(socket, has_cpus)| Place { socket, has_cpus }).collect();
        complete(&table, &places).distance
    }

    #[test]
    fn the_opposite_direction_comes_first() {
        let rows: [&[u8]; 3] = [&[10, 32, 50], &[32, 10, 60], &[255, 255, 10]];
        assert_eq!(fill(&rows, &[(0, true), (1, true), (0, false)])[2], [50, 60, 10]);
        assert_eq!(fill(&[&[255, 50], &[255, 255]], &[(0, true), (1, true)]), [[10, 50], [50, 10]]);
    }

    #[test]
    fn memory_without_cpus_is_as_far_from_other_memory_as_its_nearest_cpus_are() {
        // Nodes 2 and 3 are GPUs of sockets 0 and 1.
        let rows: [&[u8]; 4] = [&[10, 40, 80, 120], &[40, 10, 120, 80], &[80, 120, 10, 255], &[120, 80, 255, 10]];
        let full = fill(&rows, &[(0, true), (1, true), (0, false), (1, false)]);
        assert_eq!((full[2][3], full[3][2]), (120, 120));
    }

    #[test]
    fn otherwise_the_relation_decides() {
        // Nodes 0, 1 on socket 0 and 2, 3 on socket 1; nothing is told about node 3.
        let rows: [&[u8]; 4] = [&[10, 12, 32, 255], &[12, 10, 32, 255], &[32, 32, 10, 255], &[255, 255, 255, 255]];
        let places = [(0, true), (0, true), (1, true), (1, true)];
        assert_eq!(fill(&rows, &places)[3], [32, 32, 12, 10]);
        assert_eq!(fill(&[&[10, 255], &[255, 10]], &[(0, true), (1, true)]), [[10, 20], [20, 10]]);
    }
}
