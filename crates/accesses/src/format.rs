//! The files that the plugin writes: `control`, and one file of units for every program image.
//!
//! A unit has 64 bytes and begins with its kind. All numbers are little-endian. `plugin/recorder.h` has the same
//! layouts as C structures, and says what each field counts; a test holds both against each other.

use crate::costs::Costs;
use crate::fields::Fields;

/// Bytes of a unit.
pub const UNIT: usize = 64;
/// First number of `control` and of the head of a file: "NLACCS1".
pub const MAGIC: u64 = 0x31_5343_4341_4c4e;
/// Version of the head that this reads.
pub const VERSION: u16 = 1;
/// Bytes of the file `control`.
pub const CONTROL_BYTES: usize = 4096;
/// Bytes that a cell stands for.
pub const CHUNK_BYTES: u64 = 2 << 20;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;

/// What all processes of a record share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Most bytes of all files together.
    pub limit_bytes: u64,
    /// Bytes used.
    pub used_bytes: u64,
    /// Most program images that are recorded.
    pub most_images: u64,
    /// Program images that began: at the start, after a fork, after an exec.
    pub images: u64,
    /// Those that are not recorded, for want of room.
    pub unrecorded_images: u64,
    /// Instructions of all images.
    pub insns: u64,
    /// Lines visited by all images.
    pub lines: u64,
    /// Why no more is recorded.
    pub full: Full,
    /// Executed programs that QEMU could not follow.
    pub foreign_execs: u64,
    /// What the kernel needs for system calls, as the recording took it.
    pub costs: Costs,
}

/// Whether the room for a record was enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Full {
    /// It was.
    #[default]
    No,
    /// The record has its largest size.
    Limit,
    /// The disk is full.
    Disk,
}

/// How an image ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It did not say: it runs, or a signal ended it.
    Unsaid,
    /// It exited.
    Exited,
    /// It executed another program.
    Executed,
}

/// The head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Process.
    pub pid: u32,
    /// The process that forked it, or 0.
    pub parent: u32,
    /// How it ended.
    pub ended: Ended,
    /// Model instructions when it began.
    pub begin_clock: u64,
    /// The last system call that QEMU does not have.
    pub unknown_call: Option<u32>,
    /// Lines visited for which there was no room.
    pub lost_lines: u64,
}

/// What a thread did in 2 MiB during a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Number of the thread in its image.
    pub thread: u16,
    /// Number of the slice of this thread, from 1.
    pub slice: u32,
    /// Address divided by 2 MiB.
    pub chunk: u32,
    /// Lines visited.
    pub lines: u32,
    /// Those of them that were written.
    pub writes: u32,
    /// Reads beyond the modelled private cache.
    pub near_reads: u32,
    /// Writes beyond it.
    pub near_writes: u32,
    /// Reads beyond the modelled share of the last-level cache.
    pub far_reads: u32,
    /// Writes beyond it.
    pub far_writes: u32,
    /// Visits of the line after the last one.
    pub forward: u32,
    /// Visits at the same distance as the last one.
    pub strided: u32,
    /// All other visits, the first one too.
    pub runs: u32,
    /// The distance of strided visits, lines.
    pub stride: i32,
    /// Visits of lines that another thread wrote last.
    pub foreign: u32,
    /// Distinct pages of 4 KiB.
    pub pages: u16,
    /// Pages that no thread had touched before.
    pub first: u16,
    /// First page, 0 to 511.
    pub low: u16,
    /// Last page, 0 to 511.
    pub high: u16,
}

/// A stretch of a thread's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Number of the thread.
    pub thread: u16,
    /// Number of the slice, from 1.
    pub slice: u32,
    /// Model time at its begin, instructions.
    pub begin_clock: u64,
    /// Model time at its end.
    pub end_clock: u64,
    /// Instructions of the thread.
    pub insns: u64,
    /// Instructions that others ran while it waited.
    pub waited: u64,
    /// Sleep asked for, ns.
    pub slept_ns: u64,
    /// Futex waits.
    pub waits: u32,
    /// Futex wake-ups.
    pub wakes: u32,
    /// Sleeps.
    pub sleeps: u32,
    /// Reads, writes, polls of files and sockets.
    pub io: u32,
    /// Whether its accesses were not recorded.
    pub is_spared: bool,
}

/// A thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Born {
    /// Its number.
    pub thread: u16,
    /// Number of its creator; its own: none.
    pub creator: u32,
    /// Model time at its begin.
    pub begin_clock: u64,
    /// Model time at its end.
    pub end_clock: u64,
    /// Its instructions.
    pub insns: u64,
    /// When it ended by itself, in ns of the recording machine since its process began; 0 if it did not.
    pub exited_ns: u64,
}

/// A change of the address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Number of the thread.
    pub thread: u16,
    /// Number of the system call.
    pub call: u32,
    /// Model time.
    pub clock: u64,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// First byte of what mremap replaces.
    pub from: u64,
    /// Bytes of it.
    pub from_length: u64,
    /// Protection of mmap; advice of madvise, mode of mbind.
    pub protection: u32,
    /// Flags of mmap.
    pub flags: u32,
    /// Number of the unit with the name of the file; 0: none.
    pub text: u32,
}

/// How often a thread waited on an address, or woke others through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Number of the thread.
    pub thread: u16,
    /// Whether it woke others; else it waited.
    pub wakes: bool,
    /// The address.
    pub address: u64,
    /// How often.
    pub count: u64,
}

/// What a thread writes of a line that several write by turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Number of the thread.
    pub thread: u16,
    /// Address divided by 64.
    pub line: u64,
    /// Which of its 64 bytes, the lowest bit first.
    pub bytes: u64,
    /// Writes since the line was known to be such a one.
    pub writes: u64,
}

/// What the kernel does for a thread during a slice. Futexes and sleeps are counted in the slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of the thread.
    pub thread: u16,
    /// Number of the slice, from 1.
    pub slice: u32,
    /// System calls of no other kind.
    pub others: u32,
    /// Reads and writes of files, of pipes and of sockets within the machine.
    pub files: u32,
    /// Changes of what is polled (`epoll_ctl`).
    pub changes: u32,
    /// Messages of the network that were sent.
    pub sent: u32,
    /// Messages of the network that were received, and all that went through sockets of Unix.
    pub received: u32,
    /// Polls.
    pub polls: u32,
    /// Bytes of files, pipes and received messages.
    pub copied_bytes: u64,
    /// Bytes of sent messages.
    pub sent_bytes: u64,
    /// Pages that madvise filled or looked at.
    pub populated: u32,
    /// Sleeps for messages that were not there yet, by model time.
    pub sleeps: u32,
    /// Model instructions that others ran until those were sent.
    pub awaited: u64,
}

/// A unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// First of a file.
    Head(Head),
    /// Counts of lines.
    Cell(Cell),
    /// Time of a thread.
    Slice(Slice),
    /// A thread.
    Born(Born),
    /// A change of the address space.
    Mapping(Mapping),
    /// Waits or wake-ups.
    Edge(Edge),
    /// The end of a file's name.
    Text(String),
    /// Writes to a line that several threads write by turns.
    Writer(Writer),
    /// What the kernel does.
    Work(Work),
}

/// The control file; `None` if it is none.
pub fn control(bytes: &[u8]) -> Option<Control> {
    let mut f = Fields(bytes);
    if bytes.len() < 80 || f.u64() != MAGIC {
        return None;
    }
    Some(Control {
        limit_bytes: f.u64(),
        used_bytes: f.u64(),
        most_images: f.u64(),
        images: f.u64(),
        unrecorded_images: f.u64(),
        insns: f.u64(),
        lines: f.u64(),
        full: match f.u64() {
            0 => Full::No,
            1 => Full::Limit,
            _ => Full::Disk,
        },
        foreign_execs: f.u64(),
        costs: Costs::from_numbers(std::array::from_fn(|_| f.u64())),
    })
}

/// A fresh control file.
pub fn new_control(limit_bytes: u64, most_images: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(CONTROL_BYTES);
    for number in [MAGIC, limit_bytes, 0, most_images, 0, 0, 0, 0, 0, 0].iter().chain(&Costs::MEASURED.numbers()) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.resize(CONTROL_BYTES, 0);
    out
}

/// A unit; `None` if it is empty or of an unknown kind.
pub fn unit(bytes: &[u8]) -> Option<Unit> {
    let mut f = Fields(bytes);
    let (kind, thread) = (f.u16(), f.u16());
    Some(match kind {
        1 => head(thread, f)?,
        2 => Unit::Cell(cell(thread, f)),
        3 | 10 => Unit::Slice(slice(thread, kind == 10, f)),
        4 => Unit::Born(Born {
            thread,
            creator: f.u32(),
            begin_clock: f.u64(),
            end_clock: f.u64(),
            insns: f.u64(),
            exited_ns: f.u64(),
        }),
        5 => Unit::Mapping(Mapping {
            thread,
            call: f.u32(),
            clock: f.u64(),
            address: f.u64(),
            length: f.u64(),
            from: f.u64(),
            from_length: f.u64(),
            protection: f.u32(),
            flags: f.u32(),
            text: f.u32(),
        }),
        6 => Unit::Edge(Edge { thread, wakes: f.u32() != 0, address: f.u64(), count: f.u64() }),
        7 => {
            // The second field is the length.
            let length = usize::from(thread).min(f.0.len());
            Unit::Text(String::from_utf8_lossy(&f.0[..length]).into_owned())
        }
        8 => {
            let _spare = f.u32();
            Unit::Writer(Writer { thread, line: f.u64(), bytes: f.u64(), writes: f.u64() })
        }
        9 => Unit::Work(Work {
            thread,
            slice: f.u32(),
            others: f.u32(),
            files: f.u32(),
            changes: f.u32(),
            sent: f.u32(),
            received: f.u32(),
            polls: f.u32(),
            copied_bytes: f.u64(),
            sent_bytes: f.u64(),
            populated: f.u32(),
            sleeps: f.u32(),
            awaited: f.u64(),
        }),
        _ => return None,
    })
}

fn head(version: u16, mut f: Fields<'_>) -> Option<Unit> {
    let (pid, parent) = (f.u32(), f.u32());
    let ended = match f.u32() {
        1 => Ended::Exited,
        2 => Ended::Executed,
        _ => Ended::Unsaid,
    };
    if version != VERSION || f.u64() != MAGIC {
        return None;
    }
    let begin_clock = f.u64();
    let (_start_code, _end_code, _threads) = (f.u64(), f.u64(), f.u32());
    let unknown_call = f.u32().checked_sub(1);
    Some(Unit::Head(Head { pid, parent, ended, begin_clock, unknown_call, lost_lines: f.u64() }))
}

fn slice(thread: u16, is_spared: bool, mut f: Fields<'_>) -> Slice {
    Slice {
        thread,
        slice: f.u32(),
        begin_clock: f.u64(),
        end_clock: f.u64(),
        insns: f.u64(),
        waited: f.u64(),
        slept_ns: f.u64(),
        waits: f.u32(),
        wakes: f.u32(),
        sleeps: f.u32(),
        io: f.u32(),
        is_spared,
    }
}

fn cell(thread: u16, mut f: Fields<'_>) -> Cell {
    Cell {
        thread,
        slice: f.u32(),
        chunk: f.u32(),
        lines: f.u32(),
        writes: f.u32(),
        near_reads: f.u32(),
        near_writes: f.u32(),
        far_reads: f.u32(),
        far_writes: f.u32(),
        forward: f.u32(),
        strided: f.u32(),
        runs: f.u32(),
        stride: f.u32() as i32,
        foreign: f.u32(),
        pages: f.u16(),
        first: f.u16(),
        low: f.u16().min(511),
        high: f.u16().min(511),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::plugin::SOURCES;
    use std::process::Command;

    /// Every field is its own number, in the order of the structures.
    const WRITER: &str = r#"#include "recorder.h"
#include <stdio.h>
int main(void)
{
    struct control c = {0x31534343414c4e, 1, 2, 3, 4, 5, 6, 7, 2, 9, {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, {0}};
    struct head h = {HEAD, 1, 2, 3, EXECUTED, 0x31534343414c4e, 4, 5, 6, 7, 8, 9};
    struct cell l = {CELL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -13, 14, 15, 16, 17, 18};
    struct slice s = {SLICE, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct born b = {THREAD, 1, 2, 3, 4, 5, 6, {0}};
    struct mapping m = {MAPPING, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct edge e = {EDGE, 1, 1, 2, 3, {0}};
    struct text t = {TEXT, 3, "abc"};
    struct writer w = {WRITER, 1, 2, 3, 4, 5, {0}};
    struct work k = {WORK, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    fwrite(&h, 64, 1, stdout), fwrite(&l, 64, 1, stdout), fwrite(&s, 64, 1, stdout), fwrite(&b, 64, 1, stdout);
    fwrite(&m, 64, 1, stdout), fwrite(&e, 64, 1, stdout), fwrite(&t, 64, 1, stdout);
    fwrite(&w, 64, 1, stdout), fwrite(&k, 64, 1, stdout), fwrite(&c, sizeof c, 1, stdout);
    return 0;
}
"#;

    /// What the writer writes.
    fn written_cell() -> Cell {
        Cell {
            thread: 1,
            slice: 2,
            chunk: 3,
            lines: 4,
            writes: 5,
            near_reads: 6,
            near_writes: 7,
            far_reads: 8,
            far_writes: 9,
            forward: 10,
            strided: 11,
            runs: 12,
            stride: -13,
            foreign: 14,
            pages: 15,
            first: 16,
            low: 17,
            high: 18,
        }
    }

    /// What the writer writes.
    pub(crate) fn written_slice() -> Slice {
        Slice {
            thread: 1,
            slice: 2,
            begin_clock: 3,
            end_clock: 4,
            insns: 5,
            waited: 6,
            slept_ns: 7,
            waits: 8,
            wakes: 9,
            sleeps: 10,
            io: 11,
            is_spared: false,
        }
    }

    /// What the writer writes.
    pub(crate) fn written_work() -> Work {
        Work {
            thread: 1,
            slice: 2,
            others: 3,
            files: 4,
            changes: 5,
            sent: 6,
            received: 7,
            polls: 8,
            copied_bytes: 9,
            sent_bytes: 10,
            populated: 11,
            sleeps: 12,
            awaited: 13,
        }
    }

    #[test]
    fn the_layouts_are_those_of_the_plugin() {
        let compiler = numalab_lab::plugin::compiler();
        if Command::new(&compiler).arg("--version").output().is_err() {
            eprintln!("skipped: no C compiler");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in SOURCES.iter().filter(|s| s.0.ends_with(".h")) {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        std::fs::write(dir.path().join("w.c"), WRITER).unwrap();
        let built = Command::new(&compiler).args(["-std=gnu11", "-o", "w", "w.c"]).current_dir(dir.path()).output();
        let built = built.unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let bytes = Command::new(dir.path().join("w")).output().unwrap().stdout;
        let units: Vec<Unit> = bytes[..9 * UNIT].chunks(UNIT).filter_map(unit).collect();
        let head =
            Head { pid: 2, parent: 3, ended: Ended::Executed, begin_clock: 4, unknown_call: Some(7), lost_lines: 9 };
        let mapping = Mapping {
            thread: 1,
            call: 2,
            clock: 3,
            address: 4,
            length: 5,
            from: 6,
            from_length: 7,
            protection: 8,
            flags: 9,
            text: 10,
        };
        assert_eq!(
            units,
            [
                Unit::Head(head),
                Unit::Cell(written_cell()),
                Unit::Slice(written_slice()),
                Unit::Born(Born { thread: 1, creator: 2, begin_clock: 3, end_clock: 4, insns: 5, exited_ns: 6 }),
                Unit::Mapping(mapping),
                Unit::Edge(Edge { thread: 1, wakes: true, address: 2, count: 3 }),
                Unit::Text("abc".into()),
                Unit::Writer(Writer { thread: 1, line: 3, bytes: 4, writes: 5 }),
                Unit::Work(written_work()),
            ]
        );
        let read = control(&bytes[9 * UNIT..]).unwrap();
        assert_eq!((read.limit_bytes, read.used_bytes, read.most_images, read.images), (1, 2, 3, 4));
        assert_eq!((read.unrecorded_images, read.insns, read.lines, read.full), (5, 6, 7, Full::Disk));
        assert_eq!(read.foreign_execs, 9);
        assert_eq!(read.costs.numbers(), [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
        assert_eq!(control(&new_control(5, 6)).map(|c| (c.limit_bytes, c.most_images, c.images)), Some((5, 6, 0)));
    }

    #[test]
    fn any_bytes_are_read() {
        for kind in 0..12u16 {
            for length in [0, 2, 3, 17, 63, 64] {
                let mut bytes = vec![0xff; length];
                kind.to_le_bytes().iter().zip(&mut bytes).for_each(|(b, to)| *to = *b);
                let read = unit(&bytes);
                assert!((1..=10).contains(&kind) || read.is_none() || length < 2, "{kind} {length}");
            }
        }
        assert_eq!((control(&[]), control(&[0; 80])), (None, None));
    }
}
