//! What the simulator does not do with base pages of 16 or 64 KiB (`system.base_page_kb`).
//!
//! Such pages are pages like others: counters count them, a fault clears all of one, a scan marks one entry for it. A
//! chunk of 512 of them is no huge page, though: those have 2, 16, 32 or 512 MiB there. So whatever needs huge pages,
//! or reckons in pages of 4 KiB by itself, is refused.

use numalab_base::base_page::BasePage;
use numalab_kernel::damon::{DamonConfig, Schemes};
use numalab_kernel::mm::config::ZoneLayout;
use numalab_kernel::mm::thp::{FolioSizes, ThpEnabled};
use numalab_kernel::mm::MmConfig;
use numalab_kernel::numa::{Design, NumaConfig};
use numalab_kernel::userspace_balance::UserspaceTunables;
use numalab_nouns::workload::{Op, Process, RegionKind, Workload};

/// Settings of a kernel that larger base pages may not go with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<'a> {
    pub(crate) mm: &'a MmConfig,
    pub(crate) numa: &'a NumaConfig,
    pub(crate) design: &'a Design,
    pub(crate) damon: &'a DamonConfig,
    pub(crate) userspace_balance: &'a UserspaceTunables,
}

/// Whether a kernel with these base pages is modelled.
///
/// # Errors
/// The setting that does not go with them, and what to set it to.
pub(crate) fn check_kernel(s: &Settings<'_>) -> Result<(), String> {
    let page = s.mm.vm.base_page;
    if page == BasePage::Kib4 {
        return Ok(());
    }
    let huge_bytes = s.numa.scan.huge_page_bytes;
    let sized = huge_bytes.is_power_of_two() && huge_bytes > page.bytes();
    let refused = [
        (!sized, "system.huge_page_mb must be a power of two"),
        (
            s.mm.thp.enabled != ThpEnabled::Never,
            "huge pages of other sizes than 2 MiB are not modelled: set system.thp=never",
        ),
        (
            s.mm.thp.sizes != FolioSizes::NONE,
            "large folios are not modelled then: leave system.thp_16kb to system.thp_1024kb at never",
        ),
        (s.mm.vm.zones != ZoneLayout::Z1, "the DMA32 zone is one of x86: set vm.zones=z1"),
        (s.design.active(), "the designs of 2012 are for x86"),
        (s.damon.damon.schemes != Schemes::None, "DAMON is modelled with pages of 4 KiB: set damon.schemes=none"),
        (
            s.userspace_balance.interval_ms > 0,
            "the daemon of userspace_balance reckons with pages of 4 KiB: set userspace_balance.interval_ms=0",
        ),
    ];
    match refused.into_iter().find(|(is, _)| *is) {
        Some((_, why)) => Err(format!("system.base_page_kb = {}: {why}", page.word())),
        None => Ok(()),
    }
}

/// Whether a workload can be run on these base pages.
///
/// # Errors
/// The process and what it does that larger pages do not allow.
pub(crate) fn check_workload(workload: &Workload, page: BasePage) -> Result<(), String> {
    if page == BasePage::Kib4 {
        return Ok(());
    }
    let refused = |p: &Process| region(p).or_else(|| steps(p, page)).map(|why| (p.name.clone(), why));
    match workload.processes.iter().find_map(refused) {
        Some((process, why)) => Err(format!("system.base_page_kb = {}: process {process}: {why}", page.word())),
        None => Ok(()),
    }
}

fn region(p: &Process) -> Option<String> {
    let hugetlb = p.regions.iter().find(|r| r.kind == RegionKind::Hugetlb)?;
    Some(format!("region {}: hugetlb pages of 2 MiB need base pages of 4 KiB", hugetlb.name))
}

fn steps(p: &Process, page: BasePage) -> Option<String> {
    let mut all = p.prologue.iter().chain(p.threads.iter().flat_map(|t| t.ops.iter()));
    all.find_map(|op| match op {
        Op::ReadFile(r) if page.floor(r.bytes) != r.bytes => Some("a `read` must be of whole pages".to_string()),
        Op::MovePages(m) if m.nodes.len() > 1 => {
            Some("`move_pages` to several nodes goes by blocks of 2 MiB: move to one node at a time".to_string())
        }
        _ => None,
    })
}
