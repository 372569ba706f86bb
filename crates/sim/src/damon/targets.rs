//! What DAMON watches of a process: all that is mapped, without the two largest gaps (`__damon_va_three_regions`).

use crate::state::process::ProcessState;
use numalab_kernel::damon::Span;
use numalab_kernel::mm::PAGE_BYTES;

/// The spans of all processes, in order.
pub(super) fn spans(processes: &[ProcessState]) -> Vec<Span> {
    let mut out = Vec::new();
    for (number, p) in processes.iter().enumerate().filter(|(_, p)| p.started && !p.ended) {
        let mapped = (0..p.space.len()).map(|i| {
            let v = p.space.vma(p.space.id_at(i));
            (v.start / PAGE_BYTES, v.end.div_ceil(PAGE_BYTES))
        });
        three_regions(number as u32, mapped, &mut out);
    }
    out
}

/// Adds the spans of mappings in order: cut at the two largest gaps.
fn three_regions(process: u32, mapped: impl Iterator<Item = (u64, u64)>, out: &mut Vec<Span>) {
    let mapped: Vec<(u64, u64)> = mapped.filter(|m| m.0 < m.1).collect();
    let (Some(first), Some(last)) = (mapped.first(), mapped.last()) else { return };
    let mut gaps: Vec<(u64, u64)> = mapped.windows(2).map(|w| (w[0].1, w[1].0)).filter(|g| g.0 < g.1).collect();
    gaps.sort_by_key(|g| std::cmp::Reverse(g.1 - g.0));
    gaps.truncate(2);
    gaps.sort_unstable();
    let mut start = first.0;
    for (from, to) in gaps {
        out.push(Span { process, start, end: from });
        start = to;
    }
    out.push(Span { process, start, end: last.1 });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_largest_gaps_are_left_out() {
        let mut out = Vec::new();
        three_regions(3, [(0, 10), (12, 20), (100, 110), (110, 120), (500, 501)].into_iter(), &mut out);
        let span = |start, end| Span { process: 3, start, end };
        assert_eq!(out, [span(0, 20), span(100, 120), span(500, 501)]);
        out.clear();
        three_regions(3, [(5, 10)].into_iter(), &mut out);
        three_regions(3, std::iter::empty(), &mut out);
        assert_eq!(out, [span(5, 10)]);
    }
}
