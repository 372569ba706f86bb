//! What the kernel does for a program, in instructions of the kernel.
//!
//! Problem: an emulated program makes system calls, and whoever emulates it does not see what a kernel does in them. A
//! server spends most of its time there.
//! Approach: a recording counts system calls by kind, with the bytes that they copy ([`Work`]). What each kind needs was
//! measured once, with a program of its own and none that is recorded ([`Costs::MEASURED`]). An instruction of the kernel
//! counts as one of the program.
//! Not here: page faults and what else the simulator charges itself, and calls that change the address space.

use crate::format::{Slice, Work};

/// What the kernel needs for system calls, in instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A call of no other kind, that does next to nothing.
    pub call: u64,
    /// A read or write of a file in memory, of a pipe, or of a socket within the machine.
    pub file: u64,
    /// A change of what is polled.
    pub change: u64,
    /// A message that is sent over loopback (TCP), with what its arrival costs there.
    pub sent: u64,
    /// A message that is received.
    pub received: u64,
    /// A poll that finds something.
    pub poll: u64,
    /// A wait on a futex, or a wake-up through it: half of both.
    pub futex: u64,
    /// To sleep and to be woken, beside what the call costs.
    pub sleep: u64,
    /// A page of `MADV_POPULATE_READ` that is there.
    pub page: u64,
    /// 1024 bytes that are read, written or received.
    pub copied_kib: u64,
    /// 1024 bytes that are sent over loopback.
    pub sent_kib: u64,
}

impl Costs {
    /// Debian's 6.12 in a guest of timing `modelled` of one CPU, where an instruction takes 8 ns:
    /// `scripts/record-programs/calls.c`. What it printed stands in docs/log/access-fits.md, "What system calls cost".
    pub const MEASURED: Self = Self {
        call: 408,
        file: 1440,
        change: 1322,
        sent: 10_553,
        received: 2055,
        poll: 778,
        futex: 2249,
        sleep: 4170,
        page: 546,
        copied_kib: 127,
        sent_kib: 464,
    };

    /// As numbers, in the order of the file `control`.
    pub fn numbers(&self) -> [u64; 11] {
        [
            self.call,
            self.file,
            self.change,
            self.sent,
            self.received,
            self.poll,
            self.futex,
            self.sleep,
            self.page,
            self.copied_kib,
            self.sent_kib,
        ]
    }

    /// From numbers in that order.
    pub fn from_numbers(n: [u64; 11]) -> Self {
        Self {
            call: n[0],
            file: n[1],
            change: n[2],
            sent: n[3],
            received: n[4],
            poll: n[5],
            futex: n[6],
            sleep: n[7],
            page: n[8],
            copied_kib: n[9],
            sent_kib: n[10],
        }
    }

    /// Instructions of the kernel for what a slice counts.
    pub fn insns(&self, slice: &Slice, work: &Work) -> u64 {
        let times = [
            (self.call, u64::from(work.others)),
            (self.file, work.files.into()),
            (self.change, work.changes.into()),
            (self.sent, work.sent.into()),
            (self.received, work.received.into()),
            (self.poll, work.polls.into()),
            (self.futex, u64::from(slice.waits) + u64::from(slice.wakes)),
            (self.sleep, u64::from(work.sleeps) + u64::from(slice.sleeps)),
            (self.page, work.populated.into()),
        ];
        let calls = times.iter().fold(0u64, |sum, (cost, n)| sum.saturating_add(cost.saturating_mul(*n)));
        let bytes = |kib: u64, n: u64| (u128::from(kib) * u128::from(n) / 1024).min(u128::from(u64::MAX)) as u64;
        calls
            .saturating_add(bytes(self.copied_kib, work.copied_bytes))
            .saturating_add(bytes(self.sent_kib, work.sent_bytes))
    }
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
        assert_eq!(costs.insns(&slice, &work), 2 + 30 + 100 + 5 + 2000 + 7);
        assert_eq!(calls(&slice, &work), 8);
        assert_eq!(Costs::from_numbers(costs.numbers()), costs);
    }

    #[test]
    fn any_counts_are_summed_up_without_panic() {
        let costs = Costs::from_numbers([u64::MAX; 11]);
        let work = Work { others: u32::MAX, copied_bytes: u64::MAX, ..Work::default() };
        assert_eq!(costs.insns(&Slice::default(), &work), u64::MAX);
    }
}
