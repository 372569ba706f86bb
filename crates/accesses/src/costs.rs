//! What the kernel needs for system calls: a table, measured once.

/// What the kernel needs for system calls, in instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A call of no other kind, that does next to nothing.
    pub call: u64,
    /// A read or write of a file in memory, or of a pipe.
    pub file: u64,
    /// A change of what is polled.
    pub change: u64,
    /// A message that is sent over loopback (TCP), with what its arrival costs there.
    pub sent: u64,
    /// A message that is received, or that goes through a socket of Unix.
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
}
