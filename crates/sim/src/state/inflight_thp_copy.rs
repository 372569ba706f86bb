//! Huge pages that schednuma is copying to another node (designs-2012.md section 2.4).
//!
//! schednuma does not replace the entry before it copies. The entry keeps its mark meanwhile, so other threads fault on
//! it too. A thread that finds the page well placed restores access; the copier then finds the entry changed and throws
//! its copy away.

use numalab_kernel::mm::Frame;

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InflightThpCopy {
    /// Task that copies.
    pub task: u32,
    /// Process.
    pub process: usize,
    /// Mapping.
    pub vma: usize,
    /// Chunk.
    pub chunk: usize,
    /// Node it comes from.
    pub from: usize,
    /// Node it goes to.
    pub to: usize,
    /// Where the copy lies.
    pub frame: Frame,
    /// When it is done, ns.
    pub until_ns: u64,
    /// The entry was changed meanwhile.
    pub lost: bool,
}

/// All copies in progress. There is at most one per thread, so this is a plain list.
#[derive(Clone, Debug, Default)]
pub struct InflightThpCopies(Vec<InflightThpCopy>);

impl InflightThpCopies {
    /// Nothing is being copied.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// A copy begins.
    pub fn begin(&mut self, copy: InflightThpCopy) {
        self.0.push(copy);
    }
    /// All copies in progress.
    pub fn iter(&self) -> impl Iterator<Item = &InflightThpCopy> {
        self.0.iter()
    }
    /// The copy of a process that ends last: when it ends, ns, and the task that makes it.
    pub fn last_cpupid(&self, process: usize) -> Option<(u64, u32)> {
        self.0.iter().filter(|c| c.process == process).map(|c| (c.until_ns, c.task)).max()
    }
    /// The copy of a chunk.
    pub fn of_chunk(&mut self, process: usize, vma: usize, chunk: usize) -> Option<&mut InflightThpCopy> {
        self.0.iter_mut().find(|c| (c.process, c.vma, c.chunk) == (process, vma, chunk))
    }
    /// Takes the copy of a chunk off the list.
    pub fn end_of_chunk(&mut self, process: usize, vma: usize, chunk: usize) -> Option<InflightThpCopy> {
        let at = self.0.iter().position(|c| (c.process, c.vma, c.chunk) == (process, vma, chunk))?;
        Some(self.0.remove(at))
    }
    /// Takes the copy of a thread off the list.
    pub fn end_of_task(&mut self, task: u32) -> Option<InflightThpCopy> {
        let at = self.0.iter().position(|c| c.task == task)?;
        Some(self.0.remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_found_by_page_and_by_thread() {
        let copy = |task, chunk| InflightThpCopy {
            task,
            process: 0,
            vma: 1,
            chunk,
            from: 0,
            to: 1,
            frame: Frame(5),
            until_ns: 9,
            lost: false,
        };
        let mut c = InflightThpCopies::default();
        c.begin(copy(3, 7));
        c.begin(copy(4, 8));
        assert_eq!((c.last_cpupid(0), c.last_cpupid(1)), (Some((9, 4)), None));
        c.of_chunk(0, 1, 8).unwrap().lost = true;
        assert_eq!(c.end_of_task(4).map(|c| c.lost), Some(true));
        assert_eq!(c.end_of_chunk(0, 1, 8), None);
        assert_eq!(c.end_of_chunk(0, 1, 7).map(|c| c.task), Some(3));
        assert!(c.is_empty());
    }
}
