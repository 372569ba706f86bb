//! `pagemap` of a process: one word for each page of its address space (Documentation/admin-guide/mm/pagemap.rst).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;
/// Bytes of a word.
pub const WORD_BYTES: usize = 8;

/// The word of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(pub u64);

impl Entry {
    /// It is in memory.
    pub fn is_present(self) -> bool {
        self.0 >> 63 & 1 == 1
    }
    /// It was written since its bits were cleared last (`clear_refs`). Never set on kernels without
    /// `CONFIG_MEM_SOFT_DIRTY`.
    pub fn is_soft_dirty(self) -> bool {
        self.0 >> 55 & 1 == 1
    }
    /// Number of its page frame; `None` if it is absent, or may not be seen (`CAP_SYS_ADMIN`).
    pub fn frame(self) -> Option<u64> {
        let frame = self.0 & ((1 << 55) - 1);
        (self.is_present() && frame != 0).then_some(frame)
    }
}

/// An open `pagemap`.
#[derive(Debug)]
pub struct Pagemap(File);

impl Pagemap {
    /// Opens the file of a process.
    ///
    /// # Errors
    /// The process has ended, belongs to somebody else, or the kernel has no such file (`CONFIG_PROC_PAGE_MONITOR`).
    pub fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// The words of `pages` pages from the address `start` on. The file may end before.
    ///
    /// # Errors
    /// It can no longer be read.
    pub fn read(&self, start: u64, pages: usize) -> io::Result<Vec<Entry>> {
        words_at(&self.0, start / PAGE_BYTES, pages).map(|w| w.into_iter().map(Entry).collect())
    }
}

/// Up to `count` words of a file from its word `first` on, as this machine stores them. Fewer at its end.
///
/// # Errors
/// It cannot be read.
pub fn words_at(file: &File, first: u64, count: usize) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; count * WORD_BYTES];
    let mut have = 0;
    while have < bytes.len() {
        match file.read_at(&mut bytes[have..], first.saturating_mul(WORD_BYTES as u64) + have as u64) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let word = |chunk: &[u8]| u64::from_ne_bytes(std::array::from_fn(|i| chunk[i]));
    Ok(bytes[..have / WORD_BYTES * WORD_BYTES].chunks_exact(WORD_BYTES).map(word).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_say_where_a_page_is_and_whether_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pagemap");
        let words = [0u64, 1 << 63 | 1 << 55 | 77, 1 << 62 | 5, 1 << 63];
        std::fs::write(&path, words.map(u64::to_ne_bytes).concat()).unwrap();
        let read = Pagemap::open(&path).unwrap().read(4096, 9).unwrap();
        assert_eq!(read.len(), 3, "the file ends");
        assert!(read[0].is_present() && read[0].is_soft_dirty() && read[0].frame() == Some(77));
        assert!(!read[1].is_present() && read[1].frame().is_none(), "swapped out");
        assert!(read[2].is_present() && read[2].frame().is_none(), "frames are hidden without CAP_SYS_ADMIN");
    }

    #[test]
    fn memory_of_this_process_is_present() {
        let memory = vec![1u8; 1 << 16];
        let Ok(map) = Pagemap::open(Path::new("/proc/self/pagemap")) else { return };
        let pages = map.read(memory.as_ptr() as u64 + 4096, 8).unwrap();
        assert!(pages.iter().all(|p| p.is_present()), "{pages:?}");
        assert!(memory.iter().all(|&b| b == 1));
    }
}
