//! Whether a page is accessed within a short time, as DAMON samples it (`damon_va_mkold`, `damon_va_young`).
//!
//! The kernel clears the accessed bit and notes in the folio that it was set, so reclaim does not notice. Here the
//! noted accesses of the chunk are put aside for the time of the sample, and put back after it.

use super::access_runs::runs;
use super::chunk::ChunkKind;
use super::mapping::Vma;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::rng::Rng;

/// What was noted of a chunk before a sample began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessSample {
    runs: u8,
    random: f64,
}

impl Vma {
    /// Begins a sample of a chunk.
    pub fn begin_access_sample(&mut self, chunk: usize) -> AccessSample {
        let random = self.random_accesses_so_far(chunk);
        AccessSample { runs: std::mem::take(&mut self.chunks[chunk].touched), random }
    }
    /// Whether a page, or the huge page, was accessed since the sample began.
    pub fn accessed_since(&self, chunk: usize, page: usize, since: &AccessSample, rng: &mut Rng) -> bool {
        let c = &self.chunks[chunk];
        let swept = match c.kind {
            ChunkKind::Empty => return false,
            ChunkKind::Huge => c.touched != 0,
            ChunkKind::Small => {
                if !self.blocks[c.index as usize].present.get(page) {
                    return false;
                }
                c.touched & runs(page, page + 1) != 0
            }
        };
        let pages = if c.kind == ChunkKind::Huge { CHUNK_PAGES as f64 } else { 1.0 };
        let random = (self.random_accesses_so_far(chunk) - since.random).max(0.0) * pages;
        swept || random > 0.0 && rng.unit() < 1.0 - numalab_base::math::exp(-random)
    }
    /// Ends a sample: what was noted before it counts again.
    pub fn end_access_sample(&mut self, chunk: usize, since: &AccessSample) {
        let c = &mut self.chunks[chunk];
        if c.kind != ChunkKind::Empty {
            c.touched |= since.runs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::pageblock::frame::Frame;
    use crate::mm::vma::kind::VmaKind;

    #[test]
    fn a_sample_sees_accesses_since_it_began_and_leaves_no_trace() {
        let mut v = Vma::new(0, 4 << 20, VmaKind::PrivateAnon, true, 2);
        let mut rng = Rng::new(5);
        (0..512).for_each(|p| v.populate(0, p, 0, Frame(3)));
        v.populate_huge(1, 0, Frame(4));
        for chunk in [0, 1] {
            let s = v.begin_access_sample(chunk);
            assert!(!v.accessed_since(chunk, 7, &s, &mut rng), "born used, but not used since");
            v.touch(chunk, 0, 64);
            assert!(v.accessed_since(chunk, 7, &s, &mut rng));
            assert_eq!(v.accessed_since(chunk, 100, &s, &mut rng), chunk == 1, "a huge entry has one bit");
            v.end_access_sample(chunk, &s);
            v.update_young(chunk, &mut rng);
            assert!(v.test_clear_young(chunk, 500), "reclaim still finds what was used before");
        }
        let s = v.begin_access_sample(0);
        let span = v.random_span(0, 2 << 20);
        v.note_random_accesses(span, 512 * 50);
        assert!(v.accessed_since(0, 3, &s, &mut rng));
        let s = v.begin_access_sample(0);
        assert!(!v.accessed_since(0, 3, &s, &mut rng));
    }
}
