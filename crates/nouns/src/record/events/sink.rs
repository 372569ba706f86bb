//! Writing a log, and the digest that guards it against damage.

use super::{Event, Kind, NONE};
use std::io::{self, Write};

/// A digest of the bytes of a log in their order. It shows damage; it is no protection against forgery.
///
/// Gigabytes pass through it during a run, so it takes words of eight bytes. Each step has an inverse, so a change of
/// one word always changes the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Offset basis of FNV-1a: the digest of an empty log.
    pub const START: Self = Self(0xcbf2_9ce4_8422_2325);
    /// Prime of FNV-1a.
    const PRIME: u64 = 0x0100_0000_01b3;

    /// Adds bytes; a last word that is not full is filled with zeros.
    pub fn add(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(Self::PRIME);
            self.0 ^= self.0 >> 29;
        }
    }
    /// The digest of a log that ends with `end`, taken without its own place in `end`. It is never 0, which means none.
    pub fn with_end(mut self, end: &Event) -> u64 {
        self.add(&Event { ns: 0, ..*end }.encode());
        self.0.max(1)
    }
}

/// Writes a log.
pub struct Sink {
    to: Box<dyn Write + Send>,
    digest: Digest,
    events: u64,
}

impl Sink {
    /// Writes the first line of a log to `to`, with its line feed.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn new(line: &str, mut to: Box<dyn Write + Send>) -> io::Result<Self> {
        to.write_all(line.as_bytes())?;
        let mut digest = Digest::START;
        digest.add(line.as_bytes());
        Ok(Self { to, digest, events: 0 })
    }
    /// Writes whole entries; the last entry is written by [`Sink::end`].
    ///
    /// # Errors
    /// The entries cannot be written.
    pub fn write(&mut self, entries: &[u8]) -> io::Result<()> {
        self.digest.add(entries);
        self.events += (entries.len() / Event::BYTES) as u64;
        self.to.write_all(entries)
    }
    /// Writes the last entry of the log of a run that ended at `end_ns`.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn end(mut self, end_ns: u64) -> io::Result<()> {
        let end = Event { z: self.events, ..Event::new(end_ns, Kind::End, NONE) };
        self.to.write_all(&Event { ns: self.digest.with_end(&end), ..end }.encode())?;
        self.to.flush()
    }
}
