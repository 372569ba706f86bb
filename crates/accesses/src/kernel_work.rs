//! What the kernel does for a program, in instructions of the kernel.
//!
//! Problem: an emulated program makes system calls, and whoever emulates it does not see what a kernel does in them. A
//! server spends most of its time there.
//! Approach: a recording counts system calls by kind, with the bytes that they copy ([`Work`]). What each kind needs
//! was measured once, with a program of its own and none that is recorded ([`Costs::MEASURED`]). An instruction of the
//! kernel counts as one of the program.
//! Not here: page faults and what else the simulator charges itself, and calls that change the address space.

use crate::costs::Costs;
use crate::format::{Slice, Work};

/// Instructions of the kernel for what a slice counts.
pub fn insns(costs: &Costs, slice: &Slice, work: &Work) -> u64 {
    let times = [
        (costs.call, u64::from(work.others)),
        (costs.file, work.files.into()),
        (costs.change, work.changes.into()),
        (costs.sent, work.sent.into()),
        (costs.received, work.received.into()),
        (costs.poll, work.polls.into()),
        (costs.futex, u64::from(slice.waits) + u64::from(slice.wakes)),
        (costs.sleep, u64::from(work.sleeps) + u64::from(slice.sleeps)),
        (costs.page, work.populated.into()),
    ];
    let calls = times.iter().fold(0u64, |sum, (cost, n)| sum.saturating_add(cost.saturating_mul(*n)));
    let bytes = |kib: u64, n: u64| (u128::from(kib) * u128::from(n) / 1024).min(u128::from(u64::MAX)) as u64;
    calls
        .saturating_add(bytes(costs.copied_kib, work.copied_bytes))
        .saturating_add(bytes(costs.sent_kib, work.sent_bytes))
}

/// System calls that a slice counts.
pub fn calls(slice: &Slice, work: &Work) -> u64 {
    let of = [work.others, work.files, work.changes, work.sent, work.received, work.polls];
    let futexes = [slice.waits, slice.wakes, slice.sleeps];
    of.iter().chain(&futexes).map(|n| u64::from(*n)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_cost() {
        let costs = Costs { call: 1, file: 10, sent: 100, sent_kib: 1024, sleep: 1000, futex: 7, ..Costs::default() };
        let work = Work { others: 2, files: 3, sent: 1, sent_bytes: 5, sleeps: 1, ..Work::default() };
        let slice = Slice { waits: 1, sleeps: 1, ..Slice::default() };
        assert_eq!(insns(&costs, &slice, &work), 2 + 30 + 100 + 5 + 2000 + 7);
        assert_eq!(calls(&slice, &work), 8);
        assert_eq!(Costs::from_numbers(costs.numbers()), costs);
    }

    #[test]
    fn any_counts_are_summed_up_without_panic() {
        let costs = Costs::from_numbers([u64::MAX; 11]);
        let work = Work { others: u32::MAX, copied_bytes: u64::MAX, ..Work::default() };
        assert_eq!(insns(&costs, &Slice::default(), &work), u64::MAX);
    }
}
