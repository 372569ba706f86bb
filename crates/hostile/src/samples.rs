//! Inputs that are made: bytes that no file of text holds.

use numalab_job::frame::{encode, Kind};

/// A report of a guest.
pub(crate) fn frames() -> Vec<u8> {
    let all = [(Kind::Hello, &b"6.12.0"[..]), (Kind::Beat, b"1000"), (Kind::Outcome, b"{}"), (Kind::End, b"")];
    all.iter().flat_map(|(kind, payload)| encode(*kind, payload)).collect()
}

/// What a worker is told.
pub(crate) fn job() -> Vec<u8> {
    let region = numalab_job::samples::region("r", 1 << 20);
    let op = numalab_model::workload::Op::Access(numalab_job::samples::access(0, 0, 1 << 20, 0.5));
    let process = numalab_job::samples::process("p", vec![region], vec![op]);
    numalab_job::samples::job(vec![process]).to_bytes().unwrap_or_default()
}

/// A package in the form of Debian's: an `ar` archive with an empty, uncompressed `data.tar`.
pub(crate) fn deb() -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, size) in [("debian-binary", 4_usize), ("data.tar", 1_024)] {
        out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
        out.extend(if size == 4 { b"2.0\n".to_vec() } else { vec![0; size] });
    }
    out
}

/// A record of accesses: manifest, control file and an image with a gap between two recorded slices.
pub(crate) fn accesses() -> Vec<u8> {
    use numalab_accesses::format::{Born, Cell, Ended, Head, Slice, Unit};
    let head = Head { pid: 1, parent: 0, ended: Ended::Exited, begin_clock: 0, unknown_call: None, lost_lines: 0 };
    let slice = |slice: u32, is_spared| {
        let begin_clock = u64::from(slice) * 100;
        Unit::Slice(Slice { slice, begin_clock, insns: 100, is_spared, ..Slice::default() })
    };
    let cell = |slice| Unit::Cell(Cell { slice, chunk: slice, lines: 9, pages: 1, ..Cell::default() });
    let born = Born { insns: 400, ..Born::default() };
    let units = [
        Unit::Head(head),
        Unit::Born(born),
        slice(1, false),
        cell(1),
        slice(2, false),
        cell(2),
        slice(3, true),
        slice(4, false),
    ];
    let mark = [0xff, 0, 0xff, 0];
    let manifest =
        br#"{"format": 1, "numalab": "0", "command": ["a"], "name": "a", "qemu": "8", "near_bytes": 1, "far_bytes": 1,
        "slice_insns": 1, "began_unix_ms": 1, "wall_s": 1.0, "cpu_s": 1.0, "ending": {"exit": 0}}"#;
    let mut control = vec![0; numalab_accesses::format::CONTROL_BYTES];
    for (field, value) in [numalab_accesses::format::MAGIC, 1 << 20, 0, 1, 1].into_iter().enumerate() {
        control[8 * field..8 * field + 8].copy_from_slice(&value.to_le_bytes());
    }
    let image: Vec<u8> = units.iter().flat_map(numalab_accesses::encode::unit).collect();
    [&manifest[..], &mark, &control, &mark, &image].concat()
}

/// A file of two histograms.
pub(crate) fn histograms() -> Vec<u8> {
    use numalab_model::access::Histogram;
    let all: Vec<Histogram> = [vec![1, 0, 7, 0], vec![5]].into_iter().flat_map(Histogram::try_from).collect();
    numalab_accesses::histograms::write(&all).unwrap_or_default()
}
