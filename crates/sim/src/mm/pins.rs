//! Who holds a page against migration: devices that read or write it (`get_user_pages`, `pin_user_pages`).

use crate::state::pins::{page_number, Mapping, Pins};
use crate::state::simulation::Simulation;
use numalab_kernel::mm::AddressSpace;

/// A mapping as the list of pins names it.
pub(crate) fn mapping(space: &AddressSpace, process: usize, vma: usize) -> Mapping {
    let v = space.vma(vma);
    let object = if v.kind.is_shared() { v.objects.first().copied() } else { None };
    Mapping { process: process as u32, vma: vma as u32, object }
}

/// Whether any of the `pages` aligned pages around a page of a mapping is pinned at `at_ns`. A pin of one base page
/// holds its huge page or folio.
#[inline]
pub(crate) fn is_pinned(
    sim: &Simulation<'_>,
    (process, vma): (usize, usize),
    (chunk, page): (usize, usize),
    pages: u64,
    at_ns: u64,
) -> bool {
    pins_hold(&sim.mm.pins, &sim.processes[process].space, (process, vma), (chunk, page), pages, at_ns)
}

/// As [`is_pinned`], from the list of pins and the address space of the process.
#[inline]
pub(crate) fn pins_hold(
    pins: &Pins,
    space: &AddressSpace,
    (process, vma): (usize, usize),
    (chunk, page): (usize, usize),
    pages: u64,
    at_ns: u64,
) -> bool {
    if pins.is_empty() {
        return false;
    }
    let first = page_number(chunk, page) / pages * pages;
    pins.holds(mapping(space, process, vma), (first, first + pages), at_ns)
}
