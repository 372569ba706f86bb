//! Histograms of visits in a file beside a workload: what the pattern `recorded` draws from.
//!
//! The file is an Arrow IPC file, which pandas, polars and DuckDB read too. Its columns are `visit` (number of the
//! histogram, from 0, uint32), `part` (equal parts of the span in the order of addresses, uint32) and `lines` (uint64).
//! Rows are in ascending order. Parts without lines have no row, except the last part of a visit.
//! Units: lines of 64 bytes. Invariants: a file of any content is read without panic, and costs no more than its size.

use arrow_array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_ipc::{root_as_footer, root_as_message, Block, Endianness, Field, Type};
use arrow_schema::ArrowError;
use numalab_model::access::{Histogram, MAX_HISTOGRAMS, MAX_PARTS};
use std::sync::Arc;

/// Largest file that is read, bytes.
pub const BYTES_MAX: u64 = 64 << 20;
/// Ending of such files.
pub const ENDING: &str = "arrow";
/// The file's first bytes, and its last ones.
pub const MAGIC: &[u8] = b"ARROW1";
/// Bytes behind the footer: its length and [`MAGIC`].
const TRAILER: usize = 10;
/// Names and bits of the columns.
const COLUMNS: [(&str, i32); 3] = [("visit", 32), ("part", 32), ("lines", 64)];

/// Why a file is no file of histograms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// It is no Arrow file, or it is cut off.
    #[error("it is no Arrow file, or it is cut off: {0}")]
    File(&'static str),
    /// Its columns are others.
    #[error("its columns are {0}; expected visit (uint32), part (uint32), lines (uint64)")]
    Columns(String),
    /// A row is out of order, or beyond what a workload may have.
    #[error(
        "row {row}: visit {visit}, part {part} is out of order or too large; expected ascending rows, at most \
         {MAX_HISTOGRAMS} visits of {MAX_PARTS} parts"
    )]
    Row {
        /// Number of the row, from 0.
        row: usize,
        /// The visit.
        visit: u32,
        /// The part.
        part: u32,
    },
    /// A histogram is none.
    #[error("visit {0}: {1}")]
    Visit(usize, String),
}

/// The file name of a path, as a record keeps it: letters, digits and `._+-`.
pub fn name_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    let name: String = name.trim_start_matches('.').chars().take(80).map(plain).collect();
    if name.is_empty() {
        format!("histograms.{ENDING}")
    } else {
        name
    }
}

/// The file of these histograms.
///
/// # Errors
/// None in practice: the columns are of one length, and the file is in memory.
pub fn write(all: &[Histogram]) -> Result<Vec<u8>, ArrowError> {
    let (mut visits, mut parts, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (visit, h) in (0u32..).zip(all) {
        let last = h.parts() as u32 - 1;
        for (part, n) in (0u32..).zip(h.visits()).filter(|(part, n)| *n > 0 || *part == last) {
            visits.push(visit);
            parts.push(part);
            lines.push(n);
        }
    }
    let columns: [ArrayRef; 3] =
        [Arc::new(UInt32Array::from(visits)), Arc::new(UInt32Array::from(parts)), Arc::new(UInt64Array::from(lines))];
    let named = COLUMNS.iter().zip(columns).map(|((name, _), column)| (*name, column));
    let batch = RecordBatch::try_from_iter(named)?;
    let mut out = FileWriter::try_new(Vec::new(), &batch.schema())?;
    out.write(&batch)?;
    out.into_inner()
}

/// Reads a file of histograms.
///
/// # Errors
/// It is none, is damaged, or has more than a workload may have.
pub fn read(bytes: &[u8]) -> Result<Vec<Histogram>, Damaged> {
    let body = bytes.len().checked_sub(TRAILER).filter(|_| bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
    let end = body.ok_or(Damaged::File("it does not begin and end with ARROW1"))?;
    let length = number::<4>(bytes, end).map_or(0, |b| u32::from_le_bytes(b) as usize);
    let footer = end.checked_sub(length).and_then(|begin| bytes.get(begin..end));
    let footer = footer.and_then(|b| root_as_footer(b).ok()).ok_or(Damaged::File("its footer is none"))?;
    let schema = footer.schema().ok_or(Damaged::File("it has no schema"))?;
    let fields: Vec<Field<'_>> = schema.fields().into_iter().flatten().collect();
    let named = fields.iter().map(text_of).collect::<Vec<_>>().join(", ");
    let right = fields.len() == COLUMNS.len()
        && schema.endianness() == Endianness::Little
        && fields.iter().zip(COLUMNS).all(|(f, (name, bits))| is_column(f, name, bits));
    if !right {
        return Err(Damaged::Columns(if named.is_empty() { "none".into() } else { named }));
    }
    let mut out = Visits::default();
    for block in footer.recordBatches().into_iter().flatten() {
        let rows = rows(bytes, block).ok_or(Damaged::File("a batch of rows is damaged"))?;
        rows.into_iter().try_for_each(|(visit, part, lines)| out.add(visit, part, lines))?;
    }
    out.finish()
}

/// The bytes from `at` on.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn is_column(f: &Field<'_>, name: &str, bits: i32) -> bool {
    let is_unsigned = f.type_as_int().is_some_and(|t| t.bitWidth() == bits && !t.is_signed());
    f.name() == Some(name) && f.type_type() == Type::Int && is_unsigned && f.dictionary().is_none()
}

fn text_of(f: &Field<'_>) -> String {
    let name: String = f.name().unwrap_or("?").chars().filter(|c| !c.is_control()).take(40).collect();
    match f.type_as_int() {
        Some(t) => format!("{name} ({}int{})", if t.is_signed() { "" } else { "u" }, t.bitWidth()),
        None => format!("{name} ({})", f.type_type().variant_name().unwrap_or("?")),
    }
}

/// The rows of a batch; `None` if any of it lies outside the file, is compressed, or has nulls.
fn rows(bytes: &[u8], block: &Block) -> Option<Vec<(u32, u32, u64)>> {
    let begin = usize::try_from(block.offset()).ok()?;
    let meta = begin.checked_add(usize::try_from(block.metaDataLength()).ok()?)?;
    let end = meta.checked_add(usize::try_from(block.bodyLength()).ok()?)?;
    let (head, body) = (bytes.get(begin..meta)?, bytes.get(meta..end)?);
    // A mark and the length stand before the message.
    let message = root_as_message(head.get(8..)?).ok()?;
    let batch = message.header_as_record_batch()?;
    let (nodes, buffers) = (batch.nodes()?, batch.buffers()?);
    let length = usize::try_from(batch.length()).ok()?;
    let whole = nodes.len() == COLUMNS.len() && buffers.len() == 2 * COLUMNS.len() && batch.compression().is_none();
    if !whole || nodes.iter().any(|n| n.null_count() != 0 || n.length() != batch.length()) {
        return None;
    }
    // Each column has the bits of nulls, and its numbers.
    let column = |n: usize, width: usize| {
        let buffer = buffers.get(2 * n + 1);
        let from = usize::try_from(buffer.offset()).ok()?;
        body.get(from..from.checked_add(length.checked_mul(width)?)?)
    };
    let (visits, parts, lines) = (column(0, 4)?, column(1, 4)?, column(2, 8)?);
    let row = |i: usize| {
        let (visit, part) = (number(visits, 4 * i)?, number(parts, 4 * i)?);
        Some((u32::from_le_bytes(visit), u32::from_le_bytes(part), u64::from_le_bytes(number(lines, 8 * i)?)))
    };
    (0..length).map(row).collect()
}

/// Histograms while their rows come.
#[derive(Default)]
struct Visits {
    done: Vec<Histogram>,
    open: Vec<u64>,
    row: usize,
}

impl Visits {
    fn add(&mut self, visit: u32, part: u32, lines: u64) -> Result<(), Damaged> {
        let wrong = Damaged::Row { row: self.row, visit, part };
        self.row += 1;
        if part as usize >= MAX_PARTS || visit as usize >= MAX_HISTOGRAMS {
            return Err(wrong);
        }
        if visit as usize == self.done.len() + 1 && !self.open.is_empty() {
            self.close()?;
        }
        if visit as usize != self.done.len() || (part as usize) < self.open.len() {
            return Err(wrong);
        }
        self.open.resize(part as usize, 0);
        self.open.push(lines);
        Ok(())
    }
    fn close(&mut self) -> Result<(), Damaged> {
        let of = Histogram::try_from(std::mem::take(&mut self.open));
        self.done.push(of.map_err(|e| Damaged::Visit(self.done.len(), e.to_string()))?);
        Ok(())
    }
    fn finish(mut self) -> Result<Vec<Histogram>, Damaged> {
        if !self.open.is_empty() {
            self.close()?;
        }
        Ok(self.done)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn some() -> Vec<Histogram> {
        [vec![1, 0, 7, 0], vec![5], vec![0, 0, 9]].map(|v| Histogram::try_from(v).unwrap()).into()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = write(&some()).unwrap();
        assert_eq!(read(&bytes).unwrap(), some());
        assert_eq!(read(&write(&[]).unwrap()).unwrap(), []);
        // Any reader of Arrow reads it.
        let reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
        let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 5);
    }

    fn file(rows: &[(u32, u32, u64)]) -> Vec<u8> {
        let columns: [ArrayRef; 3] = [
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.0))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.2))),
        ];
        let batch = RecordBatch::try_from_iter(COLUMNS.iter().map(|c| c.0).zip(columns)).unwrap();
        let mut out = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        out.write(&batch).unwrap();
        out.into_inner().unwrap()
    }

    #[test]
    fn wrong_rows_are_named() {
        let message = |rows: &[(u32, u32, u64)]| read(&file(rows)).unwrap_err().to_string();
        for rows in [[(0, 1, 1), (0, 1, 1)], [(0, 1, 1), (2, 0, 1)], [(1, 0, 1), (0, 0, 1)], [(0, 0, 1), (0, 5000, 1)]]
        {
            assert!(message(&rows).contains("out of order or too large"), "{rows:?}: {}", message(&rows));
        }
        assert!(message(&[(0, 3, 0)]).contains("visit 0: none of its parts"));
        assert!(message(&[(0, 0, u64::MAX), (0, 1, 1)]).contains("more than 2^64"));
        let other = RecordBatch::try_from_iter([("x", Arc::new(UInt32Array::from(vec![1])) as ArrayRef)]).unwrap();
        let mut out = FileWriter::try_new(Vec::new(), &other.schema()).unwrap();
        out.write(&other).unwrap();
        let e = read(&out.into_inner().unwrap()).unwrap_err().to_string();
        assert!(e.contains("its columns are x (uint32)"), "{e}");
    }

    #[test]
    fn damaged_files_are_refused_or_read_without_panic() {
        let whole = write(&some()).unwrap();
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            for value in [0u8, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = read(&bytes);
            }
        }
    }

    #[test]
    fn names_are_those_of_records() {
        for (path, name) in
            [("a/b/fit.arrow", "fit.arrow"), ("../.x y", "x_y"), ("", "histograms.arrow"), ("é.arrow", "_.arrow")]
        {
            assert_eq!(name_of(path), name);
        }
    }
}
