//! Units and the control file as bytes: what the plugin writes in C, for records that are not made by it.

use crate::format::{self, Control, Ended, Full, Unit, MAGIC, UNIT, VERSION};

/// Fields one after the other; what does not fit into a unit is left out.
struct Fields {
    bytes: [u8; UNIT],
    at: usize,
}

impl Fields {
    fn new(kind: u16, second: u16) -> Self {
        let mut out = Self { bytes: [0; UNIT], at: 0 };
        out.put(&kind.to_le_bytes()).put(&second.to_le_bytes());
        out
    }
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        let n = bytes.len().min(UNIT - self.at);
        self.bytes[self.at..self.at + n].copy_from_slice(&bytes[..n]);
        self.at += n;
        self
    }
    fn u16s(&mut self, all: &[u16]) -> &mut Self {
        for n in all {
            self.put(&n.to_le_bytes());
        }
        self
    }
    fn u32s(&mut self, all: &[u32]) -> &mut Self {
        for n in all {
            self.put(&n.to_le_bytes());
        }
        self
    }
    fn u64s(&mut self, all: &[u64]) -> &mut Self {
        for n in all {
            self.put(&n.to_le_bytes());
        }
        self
    }
}

/// The bytes of a unit.
pub fn unit(unit: &Unit) -> [u8; UNIT] {
    let mut f;
    match unit {
        Unit::Head(h) => {
            f = Fields::new(1, VERSION);
            let ended = match h.ended {
                Ended::Unsaid => 0,
                Ended::Exited => 1,
                Ended::Executed => 2,
            };
            f.u32s(&[h.pid, h.parent, ended]).u64s(&[MAGIC, h.begin_clock, 0, 0]);
            f.u32s(&[0, h.unknown_call.map_or(0, |c| c + 1)]).u64s(&[h.lost_lines]);
        }
        Unit::Cell(c) => {
            f = Fields::new(2, c.thread);
            f.u32s(&[c.slice, c.chunk, c.lines, c.writes, c.near_reads, c.near_writes, c.far_reads, c.far_writes]);
            f.u32s(&[c.forward, c.strided, c.runs, c.stride as u32, c.foreign])
                .u16s(&[c.pages, c.first, c.low, c.high]);
        }
        Unit::Slice(s) => {
            f = Fields::new(if s.is_spared { 10 } else { 3 }, s.thread);
            f.u32s(&[s.slice]).u64s(&[s.begin_clock, s.end_clock, s.insns, s.waited, s.slept_ns]);
            f.u32s(&[s.waits, s.wakes, s.sleeps, s.io]);
        }
        Unit::Born(b) => {
            f = Fields::new(4, b.thread);
            f.u32s(&[b.creator]).u64s(&[b.begin_clock, b.end_clock, b.insns, b.exited_ns]);
        }
        Unit::Mapping(m) => {
            f = Fields::new(5, m.thread);
            f.u32s(&[m.call]).u64s(&[m.clock, m.address, m.length, m.from, m.from_length]);
            f.u32s(&[m.protection, m.flags, m.text]);
        }
        Unit::Edge(e) => {
            f = Fields::new(6, e.thread);
            f.u32s(&[u32::from(e.wakes)]).u64s(&[e.address, e.count]);
        }
        Unit::Text(text) => {
            // The end of a name says more than its begin.
            let skipped = (0..text.len()).find(|&at| text.is_char_boundary(at) && text.len() - at <= UNIT - 4);
            let end = &text.as_bytes()[skipped.unwrap_or(0)..];
            f = Fields::new(7, end.len().min(UNIT - 4) as u16);
            f.put(end);
        }
        Unit::Writer(w) => {
            f = Fields::new(8, w.thread);
            f.u32s(&[0]).u64s(&[w.line, w.bytes, w.writes]);
        }
        Unit::Work(w) => {
            f = Fields::new(9, w.thread);
            f.u32s(&[w.slice, w.others, w.files, w.changes, w.sent, w.received, w.polls]);
            f.u64s(&[w.copied_bytes, w.sent_bytes]).u32s(&[w.populated, w.sleeps]).u64s(&[w.awaited]);
        }
    }
    f.bytes
}

/// The bytes of a control file.
pub fn control(c: &Control) -> Vec<u8> {
    let full = match c.full {
        Full::No => 0,
        Full::Limit => 1,
        Full::Disk => 2,
    };
    let mut out = Vec::with_capacity(format::CONTROL_BYTES);
    let fields =
        [MAGIC, c.limit_bytes, c.used_bytes, c.most_images, c.images, c.unrecorded_images, c.insns, c.lines, full];
    fields
        .iter()
        .chain([&c.foreign_execs])
        .chain(&c.costs.numbers())
        .for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
    out.resize(format::CONTROL_BYTES, 0);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::costs::Costs;
    use crate::format::tests::{written_slice, written_work};
    use crate::format::{Born, Cell, Edge, Head, Mapping, Slice, Writer};

    #[test]
    fn what_is_written_is_read() {
        let head =
            Head { pid: 2, parent: 3, ended: Ended::Exited, begin_clock: 4, unknown_call: Some(7), lost_lines: 9 };
        let units = [
            Unit::Head(head),
            Unit::Cell(Cell {
                thread: 1,
                slice: 2,
                chunk: 3,
                lines: 4,
                writes: 5,
                stride: -3,
                foreign: 6,
                pages: 7,
                high: 9,
                ..Cell::default()
            }),
            Unit::Slice(written_slice()),
            Unit::Slice(Slice { is_spared: true, ..written_slice() }),
            Unit::Born(Born { thread: 1, creator: 2, begin_clock: 3, end_clock: 4, insns: 5, exited_ns: 6 }),
            Unit::Mapping(Mapping {
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
            }),
            Unit::Edge(Edge { thread: 1, wakes: true, address: 2, count: 3 }),
            Unit::Text("abc".into()),
            Unit::Writer(Writer { thread: 1, line: 2, bytes: 3, writes: 4 }),
            Unit::Work(written_work()),
        ];
        for one in units {
            assert_eq!(format::unit(&unit(&one)), Some(one));
        }
        let long = format!("{}é{}", "x".repeat(50), "y".repeat(58));
        assert_eq!(format::unit(&unit(&Unit::Text(long))), Some(Unit::Text(format!("é{}", "y".repeat(58)))));
        let c = Control {
            limit_bytes: 1,
            used_bytes: 2,
            most_images: 3,
            images: 4,
            insns: 6,
            lines: 7,
            full: Full::Limit,
            costs: Costs::MEASURED,
            ..Control::default()
        };
        assert_eq!(format::control(&control(&c)), Some(c));
    }
}
