//! Direct I/O: transfers between memory and a file past the page cache (`O_DIRECT`).
//!
//! The file lies in the folder of the backing files, has no name, and is written once before the run, so that reads
//! reach the device. One file serves all steps of a process and what is forked from it.

use crate::access::Draw;
use crate::backing;
use crate::sys;
use numalab_nouns::workload::{DirectIo, IoDirection};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Bytes that are written at a time while the file is made.
const FILL_BYTES: usize = 1 << 20;

/// A file of `bytes` bytes on a device, open for direct I/O.
///
/// # Errors
/// No folder, no room, or a file system without direct I/O (ramfs, as in guests), as a sentence.
pub fn device(bytes: u64) -> Result<File, String> {
    let mut file = backing::page_cache_file(bytes).map_err(|e| format!("backing file of {bytes} bytes: {e}"))?;
    sys::set_direct(&file).map_err(|e| {
        let next = "set TMPDIR to a folder on a disk, or use the simulator";
        format!("the file system of the backing files has none ({e}): {next}")
    })?;
    fill(&mut file, bytes).map_err(|e| format!("filling the backing file of {bytes} bytes: {e}"))?;
    Ok(file)
}

/// Writes the whole file, from a buffer that is aligned as direct I/O asks.
fn fill(file: &mut File, bytes: u64) -> io::Result<()> {
    let page = DirectIo::UNIT_BYTES as usize;
    let buffer = vec![1u8; FILL_BYTES + page];
    let start = buffer.as_ptr().align_offset(page);
    let mut left = bytes;
    while left > 0 {
        let n = left.min(FILL_BYTES as u64) as usize;
        file.write_all(&buffer[start..start + n])?;
        left -= n as u64;
    }
    file.sync_data()
}

/// The transfers of a step.
#[derive(Clone, Debug)]
pub struct Transfers {
    address: u64,
    io: DirectIo,
    device: Arc<File>,
}

impl Transfers {
    /// Transfers of the memory at `address`, where the span of `io` begins.
    ///
    /// # Safety
    /// The span must be mapped as long as the value is used. If the transfers read into it, it must be writable and
    /// hold no data that other code relies on.
    pub unsafe fn new(address: u64, io: DirectIo, device: Arc<File>) -> Self {
        Self { address, io, device }
    }

    /// Carries out all transfers, one after the other.
    ///
    /// # Errors
    /// The kernel's error, or a transfer that ended early, as a sentence.
    pub fn run(&self, draw: &mut Draw) -> Result<(), String> {
        let io = &self.io;
        for n in 0..io.ios {
            let place = if io.random { (draw.unit() * io.places() as f64) as u64 } else { n };
            let (offset, bytes) = io.transfer(place);
            let from = offset - io.span.offset_bytes;
            let fd = self.device.as_raw_fd();
            let done = match io.direction {
                // SAFETY: `new` asked for memory that may be written.
                IoDirection::Read => unsafe { sys::read_at(fd, self.address + from, bytes, from) },
                // SAFETY: `new` asked for memory that is mapped.
                IoDirection::Write => unsafe { sys::write_at(fd, self.address + from, bytes, from) },
            };
            match done {
                Ok(n) if n == bytes => {}
                Ok(n) => return Err(format!("direct I/O: {n} of {bytes} bytes")),
                Err(e) => return Err(format!("direct I/O of {bytes} bytes: {e}")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_nouns::workload::Span;

    #[test]
    fn bytes_go_to_the_file_and_come_back() {
        // Some machines that build this have no file system with direct I/O; there it says so.
        let file = match device(16384) {
            Ok(file) => Arc::new(file),
            Err(e) => {
                assert!(e.contains("TMPDIR"), "{e}");
                return;
            }
        };
        let mut memory = vec![7u8; 16384 + 4096];
        let start = memory.as_ptr().align_offset(4096);
        let address = memory[start..].as_mut_ptr() as u64;
        let span = Span { region: 0, offset_bytes: 4096, len_bytes: 16384 };
        let io = DirectIo { span, direction: IoDirection::Write, random: false, bytes: 8192, ios: 1, latency_ns: 1 };
        // SAFETY: the vector outlives the transfers, and nothing else uses it meanwhile.
        let run = |io| unsafe { Transfers::new(address, io, Arc::clone(&file)) }.run(&mut Draw::new(1, 0)).unwrap();
        run(io);
        run(DirectIo { direction: IoDirection::Read, ios: 2, ..io });
        assert_eq!((memory[start], memory[start + 8191], memory[start + 8192]), (7, 7, 1));
    }
}
