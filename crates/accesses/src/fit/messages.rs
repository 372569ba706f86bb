//! Who waits for whom: addresses on which threads of one kind wait, and through which those of another wake them.

use super::classes::Class;
use crate::format::Edge;
use std::collections::BTreeMap;

/// Two kinds of threads that take turns, member by member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Number of the kind that goes first.
    pub first: usize,
    /// Number of the other kind.
    pub second: usize,
    /// How often each of the first kind woke its partner.
    pub rounds: u64,
    /// How often its partner woke it beyond that: parts that were free at first.
    pub ahead: u64,
}

/// Pairs of kinds of which every thread has a partner: they share a region that nobody else uses, and wake each other.
pub fn turns(classes: &[Class], edges: &[Edge]) -> Vec<Turns> {
    let mut out: Vec<Turns> = Vec::new();
    let mut taken = vec![false; classes.len()];
    for first in 0..classes.len() {
        for second in 0..classes.len() {
            if first == second || taken[first] || taken[second] || !are_partners(&classes[first], &classes[second]) {
                continue;
            }
            let there = wakes(&classes[first], &classes[second], edges);
            let back = wakes(&classes[second], &classes[first], edges);
            if there.max(back) > 0 {
                taken[first] = true;
                taken[second] = true;
                let rounds = if there > 0 { there } else { back };
                out.push(Turns { first, second, rounds, ahead: back.saturating_sub(rounds).max(1) });
            }
        }
    }
    out
}

/// Whether thread by thread both use the same member of a region, the first writes it, and the second finds what the
/// first has written.
fn are_partners(first: &Class, second: &Class) -> bool {
    if first.threads.len() != second.threads.len() || first.members.is_empty() || first.members != second.members {
        return false;
    }
    let writes = first.phases.iter().flat_map(|p| &p.visits).any(|v| v.write_share > 0.5);
    let reads = second.phases.iter().flat_map(|p| &p.visits).any(|v| v.write_share < 0.5 && v.foreign > 0.2);
    writes && reads
}

/// Whether two kinds are created by turns: the first thread of one, its partner, the next of the first, and so on.
pub fn are_woven(first: &Class, second: &Class) -> bool {
    let next = |pair: (&u16, &u16)| u32::from(*pair.1) == u32::from(*pair.0) + 1;
    let after = |w: &[u16]| u32::from(w[1]) == u32::from(w[0]) + 2;
    first.threads.iter().zip(&second.threads).all(next) && first.threads.windows(2).all(after)
}

/// Mean number of wake-ups from a thread to its partner. A message to a thread that is awake may need none, so it is a
/// lower bound.
fn wakes(from: &Class, to: &Class, edges: &[Edge]) -> u64 {
    let mut of = BTreeMap::<(u16, bool, u64), u64>::new();
    for e in edges {
        *of.entry((e.thread, e.wakes, e.address)).or_default() += e.count;
    }
    let between = |from: u16, to: u16| -> u64 {
        let woke = of.range((from, true, 0)..=(from, true, u64::MAX));
        woke.filter(|((_, _, address), _)| of.contains_key(&(to, false, *address))).map(|(_, n)| *n).max().unwrap_or(0)
    };
    let sum: u64 = from.threads.iter().zip(&to.threads).map(|(a, b)| between(*a, *b)).sum();
    sum / from.threads.len().max(1) as u64
}

/// How often threads of a kind meet at a barrier: they wait on one address, about equally often, and few wake-ups end
/// many waits.
pub fn meetings(class: &Class, edges: &[Edge]) -> u64 {
    let n = class.threads.len();
    if n < 3 {
        return 0;
    }
    let mut waits = BTreeMap::<u64, BTreeMap<u16, u64>>::new();
    let mut wakes = BTreeMap::<u64, u64>::new();
    for e in edges.iter().filter(|e| class.threads.contains(&e.thread)) {
        if e.wakes {
            *wakes.entry(e.address).or_default() += e.count;
        } else {
            *waits.entry(e.address).or_default().entry(e.thread).or_default() += e.count;
        }
    }
    let met = |(address, of): (&u64, &BTreeMap<u16, u64>)| {
        let all: u64 = of.values().sum();
        let woken = wakes.get(address).copied().unwrap_or(0);
        let is_barrier = of.len() + 1 >= n && woken > 0 && all as f64 >= 0.6 * (n - 1) as f64 * woken as f64;
        if is_barrier {
            woken
        } else {
            0
        }
    };
    waits.iter().map(met).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(thread: u16, wakes: bool, address: u64, count: u64) -> Edge {
        Edge { thread, wakes, address, count }
    }

    #[test]
    fn partners_that_are_created_by_turns_are_woven() {
        let of = |threads: &[u16]| Class { threads: threads.to_vec(), ..Class::default() };
        assert!(are_woven(&of(&[0, 2, 4]), &of(&[1, 3, 5])));
        assert!(!are_woven(&of(&[0, 1, 2]), &of(&[3, 4, 5])));
        assert!(!are_woven(&of(&[0, 4, 2]), &of(&[1, 5, 3])));
    }

    #[test]
    fn a_barrier_is_where_all_wait_and_one_wakes() {
        let class = Class { threads: vec![1, 2, 3, 4], ..Class::default() };
        let mut edges: Vec<Edge> = (1..=4).map(|t| edge(t, false, 8, 30)).collect();
        edges.push(edge(2, true, 8, 40));
        assert_eq!(meetings(&class, &edges), 40);
        // A lock: each wait is ended by its own wake-up.
        edges.push(edge(1, true, 8, 80));
        assert_eq!(meetings(&class, &edges), 0);
    }
}
