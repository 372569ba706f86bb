//! The report of a guest on its serial line, in frames with checksums.
//!
//! A frame is a header line `NUMALAB1 kind length checksum`, the payload and a newline. A reader accepts bytes in any
//! portions. Bytes that are not a frame are never skipped: they are an error with their offset.

/// First word of a header.
const MAGIC: &str = "NUMALAB1";
/// Longest payload, bytes.
pub const MAX_PAYLOAD: usize = 256 << 20;
/// Longest header line, bytes.
const MAX_HEADER: usize = 80;

/// I/O port of QEMU's `isa-debug-exit`.
pub const EXIT_PORT: u16 = 0xf4;
/// Value for [`EXIT_PORT`] after a complete report; QEMU exits with `2·value + 1`.
pub const EXIT_REPORTED: u8 = 21;
/// Value for [`EXIT_PORT`] if the job failed or no report was possible.
pub const EXIT_BROKEN: u8 = 22;
/// Path of the job in a guest.
pub const JOB_PATH: &str = "/job.json";
/// Serial line for the report in a guest.
pub const REPORT_TTY: &str = "/dev/ttyS1";

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Process 1 has started; the payload is the kernel's release.
    Hello,
    /// A sample was taken; the payload is the time of the run in ns.
    Beat,
    /// The outcome, as JSON.
    Outcome,
    /// The worker could not run the job; the payload is the reason.
    Refused,
    /// The kernel lacks, refuses or changes a setting of the job; the payload is a
    /// [`SettingError`](crate::setting::SettingError), as JSON.
    Setting,
    /// The report is complete.
    End,
}

impl Kind {
    const ALL: [(Kind, &'static str); 6] = [
        (Kind::Hello, "hello"),
        (Kind::Beat, "beat"),
        (Kind::Outcome, "outcome"),
        (Kind::Refused, "refused"),
        (Kind::Setting, "setting"),
        (Kind::End, "end"),
    ];
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|k| k.0 == self).map_or("?", |k| k.1)
    }
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Kind.
    pub kind: Kind,
    /// Payload.
    pub payload: Vec<u8>,
}

/// Bytes that are not a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("garbage on the report channel at byte {offset}: {what}")]
pub struct Garbage {
    /// Offset of the bad frame from the start of the stream, bytes.
    pub offset: u64,
    /// What is wrong.
    pub what: String,
}

/// FNV-1a, 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// The bytes of a frame.
pub fn encode(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let header = format!("{MAGIC} {} {} {:016x}\n", kind.name(), payload.len(), checksum(payload));
    let mut out = header.into_bytes();
    out.extend_from_slice(payload);
    out.push(b'\n');
    out
}

/// Splits a stream of bytes into frames.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
    consumed: u64,
}

impl Reader {
    /// Adds bytes and returns the frames that they complete.
    ///
    /// # Errors
    /// [`Garbage`] if the next bytes cannot be a frame.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Garbage> {
        self.buffer.extend_from_slice(bytes);
        let mut frames = Vec::new();
        while let Some((frame, length)) = self.next()? {
            self.buffer.drain(..length);
            self.consumed += length as u64;
            frames.push(frame);
        }
        Ok(frames)
    }

    fn garbage(&self, what: &str) -> Garbage {
        let excerpt: String =
            String::from_utf8_lossy(&self.buffer[..self.buffer.len().min(40)]).escape_debug().collect();
        Garbage { offset: self.consumed, what: format!("{what}: `{excerpt}`") }
    }

    fn next(&self) -> Result<Option<(Frame, usize)>, Garbage> {
        let shared = self.buffer.len().min(MAGIC.len());
        if self.buffer[..shared] != MAGIC.as_bytes()[..shared] {
            return Err(self.garbage("not a frame"));
        }
        let Some(end) = self.buffer.iter().take(MAX_HEADER).position(|&b| b == b'\n') else {
            return if self.buffer.len() >= MAX_HEADER { Err(self.garbage("endless header")) } else { Ok(None) };
        };
        let header = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let mut words = header.split(' ').skip(1);
        let kind = words.next().and_then(|w| Kind::ALL.iter().find(|k| k.1 == w)).map(|k| k.0);
        let length = words.next().and_then(|w| w.parse::<usize>().ok()).filter(|&l| l <= MAX_PAYLOAD);
        let sum = words.next().and_then(|w| u64::from_str_radix(w, 16).ok());
        let (Some(kind), Some(length), Some(sum)) = (kind, length, sum) else {
            return Err(self.garbage("bad header"));
        };
        let total = end + 1 + length + 1;
        if self.buffer.len() < total {
            return Ok(None);
        }
        let payload = self.buffer[end + 1..end + 1 + length].to_vec();
        if checksum(&payload) != sum || self.buffer[total - 1] != b'\n' {
            return Err(self.garbage("wrong checksum"));
        }
        Ok(Some((Frame { kind, payload }, total)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_from_any_portions() {
        let payload: Vec<u8> = (0..=255).collect();
        let mut bytes = encode(Kind::Hello, b"6.12");
        bytes.extend(encode(Kind::Outcome, &payload));
        bytes.extend(encode(Kind::End, b""));
        for split in [1, 3, 7, 64, 1000] {
            let mut reader = Reader::default();
            let mut frames = Vec::new();
            for part in bytes.chunks(split) {
                frames.extend(reader.feed(part).unwrap());
            }
            assert_eq!(frames.len(), 3);
            assert_eq!(frames[1], Frame { kind: Kind::Outcome, payload: payload.clone() });
            assert_eq!(frames[2].kind, Kind::End);
        }
    }

    #[test]
    fn other_bytes_are_garbage_with_their_offset() {
        let good = encode(Kind::Beat, b"17");
        let mut reader = Reader::default();
        assert_eq!(reader.feed(&good).unwrap().len(), 1);
        let e = reader.feed(b"Kernel").unwrap_err();
        assert_eq!(e.offset, good.len() as u64);
        let mut flipped = good.clone();
        let last = flipped.len() - 2;
        flipped[last] ^= 1;
        assert!(Reader::default().feed(&flipped).unwrap_err().what.contains("checksum"));
        assert!(Reader::default().feed(b"NUMALAB1 beat x 0\n").unwrap_err().what.contains("header"));
        assert!(Reader::default().feed(&[b"NUMALAB1 ".to_vec(), vec![b'a'; 200]].concat()).is_err());
        assert_eq!(Reader::default().feed(b"NUMAL").unwrap(), vec![]);
    }
}
