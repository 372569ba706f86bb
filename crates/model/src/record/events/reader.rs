//! Reading a log from a file.

use super::header::{FORMAT, VERSION};
use super::{Digest, Event, Header, Kind};
use crate::files::input::{self, InputErrorKind};
use crate::record::RecordError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest header that is read, bytes.
const HEADER_BYTES_MAX: u64 = 1 << 26;

/// Reads a log from its beginning to its end.
#[derive(Debug)]
pub struct Events {
    /// What the numbers of the entries stand for.
    pub header: Header,
    path: PathBuf,
    file: BufReader<File>,
    digest: Digest,
    read: u64,
    ended: bool,
}

impl Events {
    /// Opens the log at `path`.
    ///
    /// # Errors
    /// There is no log, or it is of another format or version.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        // A log is read event by event, so it may have any size.
        let file = input::open(path, u64::MAX).map_err(|e| match e.kind {
            InputErrorKind::Io(e) => RecordError::io(path, &e),
            kind => RecordError::damaged(path, kind.to_string()),
        })?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        file.by_ref().take(HEADER_BYTES_MAX).read_until(b'\n', &mut line).map_err(|e| RecordError::io(path, &e))?;
        let mut digest = Digest::START;
        digest.add(&line);
        let header: Header =
            serde_json::from_slice(&line).map_err(|e| RecordError::damaged(path, format!("its first line: {e}")))?;
        if header.format != FORMAT || header.format_version != VERSION {
            let what = format!("it is `{}` of version {}", header.format, header.format_version);
            return Err(RecordError::damaged(path, format!("{what}, not `{FORMAT}` of version {VERSION}")));
        }
        Ok(Self { header, path: path.into(), file, digest, read: 0, ended: false })
    }

    /// Reads a whole log and checks that it is as it was written.
    ///
    /// # Errors
    /// As [`Events::open`] and [`Events::next_event`].
    pub fn check(path: &Path) -> Result<Header, RecordError> {
        let mut log = Self::open(path)?;
        while log.next_event()?.is_some() {}
        Ok(log.header)
    }

    /// The next event, `None` after the last one.
    ///
    /// # Errors
    /// The log is cut off or damaged, or cannot be read.
    pub fn next_event(&mut self) -> Result<Option<Event>, RecordError> {
        if self.ended {
            return Ok(None);
        }
        let mut bytes = [0; Event::BYTES];
        let damaged = |what: String| RecordError::damaged(&self.path, what);
        self.file.read_exact(&mut bytes).map_err(|_| damaged(format!("it is cut off after {} events", self.read)))?;
        let event = Event::decode(&bytes).ok_or_else(|| damaged(format!("event {} is of no known kind", self.read)))?;
        if event.kind == Kind::End {
            if event.z != self.read {
                return Err(damaged(format!("it has {} events, not {}", self.read, event.z)));
            }
            if event.ns != 0 && event.ns != self.digest.with_end(&event) {
                return Err(damaged("its contents differ from their digest".into()));
            }
            self.ended = true;
            return Ok(None);
        }
        self.digest.add(&bytes);
        self.read += 1;
        Ok(Some(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::events::{Sink, NONE};
    use std::io::Write;

    #[test]
    fn a_log_that_is_cut_off_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let header = Header { format: FORMAT.into(), format_version: VERSION, ..Header::default() };
        let (a, b) = (Event::new(1, Kind::Born, 0), Event::new(2, Kind::Ended, 0));
        let write = |events: &[Event]| {
            let mut f = File::create(&path).unwrap();
            f.write_all(header.line().unwrap().as_bytes()).unwrap();
            events.iter().for_each(|e| f.write_all(&e.encode()).unwrap());
        };
        let all = || -> Result<Vec<Event>, RecordError> {
            let mut log = Events::open(&path)?;
            let mut out = Vec::new();
            while let Some(e) = log.next_event()? {
                out.push(e);
            }
            assert_eq!(log.next_event()?, None, "the end stays the end");
            Ok(out)
        };
        write(&[a, b, Event { z: 2, ..Event::new(2, Kind::End, NONE) }]);
        assert_eq!(all().unwrap(), [a, b]);
        write(&[a, b]);
        assert!(all().unwrap_err().to_string().contains("cut off after 2 events"));
        write(&[a, Event { z: 2, ..Event::new(2, Kind::End, NONE) }]);
        assert!(all().unwrap_err().to_string().contains("it has 1 events, not 2"));
        std::fs::write(&path, "{}\n").unwrap();
        assert!(Events::open(&path).is_err());
        std::fs::write(&path, [0xff, 0xfe, b'\n']).unwrap();
        assert!(Events::open(&path).unwrap_err().to_string().contains("expected an unchanged"));
    }

    #[test]
    fn every_changed_bit_of_a_log_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let header = Header {
            format: FORMAT.into(),
            format_version: VERSION,
            record: "r".into(),
            machine: "m".into(),
            ..Header::default()
        };
        let mut sink = Sink::new(&header.line().unwrap(), Box::new(File::create(&path).unwrap())).unwrap();
        for e in [Event::new(1, Kind::Born, 0), Event { x: 3, z: 9, ..Event::new(2, Kind::Scanned, 0) }] {
            sink.write(&e.encode()).unwrap();
        }
        sink.end(7).unwrap();
        assert_eq!(Events::check(&path).unwrap(), header);
        let good = std::fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).unwrap();
            assert!(Events::check(&path).is_err(), "bit {bit} of {}", good.len() * 8);
        }
    }
}
