//! Which random accesses become faults on grains (docs/explanation/grains.md).
//!
//! A fault on a grain of n pages stands for n faults at one moment. So an access that meets the grain faults
//! with odds of 1/n: its pages then fault as often as if each had a state of its own. A read that maps a window of w
//! pages around it stands for n/w faults, and has odds of w/n. [`handle_fault`](crate::fault::handle_fault) thins once
//! more those that find the grain on its way to another node.
//!
//! Most accesses that would not fault are never drawn: the odds of a draw are those of the likeliest kind.

use crate::access::walk::Going;
use crate::fault::object_fault::pages_of_one_fault;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;

/// Share of the accesses to a pending grain that may fault in this slice: 1 where a grain is a page.
pub(crate) fn thinned(sim: &Simulation<'_>, at: &Going<'_>) -> f64 {
    let vma = sim.processes[at.process].space.vma(at.vma);
    let pages = vma.grain.pages();
    if pages == 1 {
        return 1.0;
    }
    let window = if sim.pending_counts.some_absent(at.pace.span, vma.marked_pages()) {
        (sim.cfg.mm.vm.fault_around_pages() as u64).min(pages)
    } else {
        1
    };
    window as f64 / pages as f64
}

/// Whether the access of `s` to a pending grain, one of the share `thinned`, faults.
pub(crate) fn meets_grain(sim: &mut Simulation<'_>, s: &PageSite, thinned: f64) -> bool {
    let vma = sim.processes[s.process].space.vma(s.vma);
    let pages = vma.grain.pages() as f64;
    if pages == 1.0 {
        return true;
    }
    let odds = pages_of_one_fault(sim, s) as f64 / pages;
    odds >= thinned || sim.rng.unit() * thinned < odds
}
