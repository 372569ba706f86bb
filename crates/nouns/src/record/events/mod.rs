//! The event log of a run: what happened when, one entry of fixed size per event.
//!
//! Problem: a trace of a long run is gigabytes, so it must be written and read in constant memory. Its writer must not
//! slow the run.
//! Approach: a log begins with one line of text, which says what the numbers stand for. Entries of [`Event::BYTES`]
//! bytes, little-endian, follow. The last entry, [`Kind::End`], holds the number of entries before it and a digest of
//! the whole log ([`Sink`]), so that a log that was cut off or changed is noticed.
//! Units: ns of run time; nodes and CPUs are dense. The meaning of every field is at [`Kind`].

mod entry;
mod sink;

pub use entry::{Event, Fate, Kind, MOVE_WORDS, NONE};
pub use sink::{Digest, Sink};
