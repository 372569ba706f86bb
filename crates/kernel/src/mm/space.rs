//! An address space: mappings in ascending address order.

use super::node_memory::NodeMemory;
use super::vma::Vma;

/// The mappings of one process.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    vmas: Vec<Vma>,
}

impl AddressSpace {
    /// Inserts a mapping, keeping address order; returns its position.
    pub fn insert(&mut self, vma: Vma) -> usize {
        let at = self.vmas.partition_point(|v| v.start < vma.start);
        self.vmas.insert(at, vma);
        at
    }
    /// Number of mappings.
    pub fn len(&self) -> usize {
        self.vmas.len()
    }
    /// Whether there is no mapping.
    pub fn is_empty(&self) -> bool {
        self.vmas.is_empty()
    }
    /// A mapping.
    #[inline]
    pub fn vma(&self, i: usize) -> &Vma {
        &self.vmas[i]
    }
    /// A mapping, to change.
    #[inline]
    pub fn vma_mut(&mut self, i: usize) -> &mut Vma {
        &mut self.vmas[i]
    }
    /// First mapping that ends above `addr`.
    pub fn first_above(&self, addr: u64) -> usize {
        self.vmas.partition_point(|v| v.end <= addr)
    }
    /// All mappings.
    pub fn iter(&self) -> impl Iterator<Item = &Vma> {
        self.vmas.iter()
    }
    /// Resident pages.
    pub fn rss_pages(&self) -> u64 {
        self.vmas.iter().map(Vma::rss_pages).sum()
    }
    /// Adds the pages on each node to `out`.
    pub fn add_pages_on_node(&self, out: &mut [u64]) {
        for v in &self.vmas {
            for (o, p) in out.iter_mut().zip(v.pages_on_node()) {
                *o += p;
            }
        }
    }
    /// Frees everything (exit).
    pub fn release(&mut self, memory: &mut NodeMemory) {
        for v in &mut self.vmas {
            let (start, end) = (v.start, v.end);
            v.discard(start, end, |node, pages| memory.release(node, pages));
        }
        self.vmas.clear();
    }
    /// Checks the invariants of every mapping and their order.
    ///
    /// # Errors
    /// A sentence naming the first violated one.
    pub fn check(&self) -> Result<(), String> {
        for (i, v) in self.vmas.iter().enumerate() {
            v.check().map_err(|e| format!("mapping {i}: {e}"))?;
            if i > 0 && self.vmas[i - 1].end > v.start {
                return Err(format!("mappings {} and {i} overlap", i - 1));
            }
        }
        Ok(())
    }
}
