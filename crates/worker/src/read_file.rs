//! `read(2)` of a file through the page cache.
//!
//! The file is the one that backs the region. It lies in the folder of the backing files, not in a tmpfs: reading a
//! hole of a tmpfs gives zeros and no page.

use crate::sys;
use numalab_nouns::workload::ReadFile;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// The calls of a step.
#[derive(Clone, Debug)]
pub struct Reads {
    buffer: u64,
    read: ReadFile,
    file: Arc<OwnedFd>,
}

impl Reads {
    /// Reads of `file` into the buffer at address `buffer`, where `read.into` begins.
    ///
    /// # Safety
    /// The buffer must be mapped as long as the value is used, writable, and hold no data that other code relies on.
    pub unsafe fn new(buffer: u64, read: ReadFile, file: Arc<OwnedFd>) -> Self {
        Self { buffer, read, file }
    }

    /// Makes all calls, one after the other.
    ///
    /// # Errors
    /// The kernel's error, or a read that ended early, as a sentence.
    pub fn run(&self) -> Result<(), String> {
        let (span, mut done) = (&self.read.span, 0);
        while done < span.len_bytes {
            let bytes = self.read.bytes.min(span.len_bytes - done);
            // SAFETY: `new` asked for memory that may be written, and `bytes` is at most the buffer's.
            let got = unsafe { sys::read_at(self.file.as_raw_fd(), self.buffer, bytes, span.offset_bytes + done) };
            match got {
                Ok(n) if n == bytes => done += n,
                Ok(n) => return Err(format!("read: {n} of {bytes} bytes")),
                Err(e) => return Err(format!("read of {bytes} bytes: {e}")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_nouns::workload::Span;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn calls_follow_each_other_and_the_last_may_be_shorter() {
        let file: File = crate::backing::page_cache_file(5 * 4096).unwrap();
        file.write_all_at(&[9], 4096 + 8192).unwrap();
        let mut buffer = vec![7u8; 8192];
        let read = ReadFile {
            span: Span { region: 0, offset_bytes: 4096, len_bytes: 3 * 4096 },
            into: Span { region: 1, offset_bytes: 0, len_bytes: 8192 },
            bytes: 8192,
        };
        let file: Arc<OwnedFd> = Arc::new(file.into());
        // SAFETY: the vector outlives the reads, and nothing else uses it meanwhile.
        let mut all = |read| unsafe { Reads::new(buffer.as_mut_ptr() as u64, read, Arc::clone(&file)) }.run();
        let behind = ReadFile { span: Span { offset_bytes: 4 * 4096, len_bytes: 8192, ..read.span }, ..read };
        assert!(all(behind).unwrap_err().contains("4096 of 8192"));
        all(read).unwrap();
        assert_eq!((buffer[0], buffer[1], buffer[8191]), (9, 0, 0));
    }
}
