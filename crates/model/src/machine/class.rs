//! Cost classes: what kernel operations cost on a reference core, and the page-walk model.
//!
//! Problem: machines.md section 4 gives two tables (modern, 2012-15) for a 3.0 GHz core. A machine runs at another
//! clock and does more or less per cycle.
//! Approach: a class is a data file (`catalog/machines/classes/NAME.toml`). Its costs of the core (`[cpu]`) are scaled
//! by `reference_ghz / sustained_ghz * ipc`. Its costs of memory (`[memory]`) and of a TLB shoot-down (`[shootdown]`,
//! section 5) are not scaled. A machine may replace any cost in `[costs]` by a measured one, which is not scaled
//! either.
//! Units: ns, GB/s.

use super::layers::{a_number, opt_up_to, opt_within, Find, Layers};
use super::limits::{GBPS, GHZ};
use super::KernelCosts;
use super::Tlb;
use crate::spec::{clip, Doc, SpecError, Spot, Table};
use std::ops::RangeInclusive;

/// The classes that come with the program; the `find` of a caller may replace them and add others (option `--catalog`).
const CLASSES: [(&str, &str); 2] = [
    ("modern", include_str!("../../catalog/machines/classes/modern.toml")),
    ("2012-15", include_str!("../../catalog/machines/classes/2012-15.toml")),
];

/// Largest cost accepted, ns: ten seconds.
const MAX_NS: f64 = 1e10;

/// Legal times of a step of the page walk, ns.
const WALK_NS: RangeInclusive<f64> = 1e-3..=1e6;

/// Legal numbers of cache misses per walk.
const MISSES: RangeInclusive<f64> = 1e-6..=4.0;

/// Name of a cost and its place in [`KernelCosts`].
type Field = (&'static str, fn(&mut KernelCosts) -> &mut f64);

macro_rules! fields {
    ($($name:ident)*) => {
        &[$((stringify!($name), (|c| &mut c.$name) as fn(&mut KernelCosts) -> &mut f64)),*]
    };
}

/// Costs that scale with the core (machines.md section 4).
const CPU: &[Field] = fields!(
    pte_skip_ns pte_mark_ns pmd_mark_ns scan_ns scan_vma_ns exception_ns hint_fault_ns hint_page_ns minor_fault_ns
    huge_fault_ns cow_fault_ns migrate_4k_ns migrate_4k_batched_ns migrate_2m_ns split_ns collapse_ns
    khugepaged_slot_ns compact_scan_ns compact_migrate_ns reclaim_page_ns swap_out_ns swap_in_ns
    switch_same_ns switch_other_ns wake_ns tick_ns balance_cpu_ns fork_pte_ns fork_pmd_ns
);

/// Rates that memory sets. Unlike a cost, a rate must be above 0, or the operation would never end.
const RATES: &[Field] = fields!(zero_local_gbps zero_remote_gbps);

/// Costs that memory sets.
const MEMORY: &[Field] = fields!(copy_4k_local_ns copy_4k_remote_ns);

/// Costs of a TLB shoot-down (machines.md section 5).
const SHOOTDOWN: &[Field] =
    fields!(flush_base_ns flush_socket_ns flush_hop1_ns flush_hop2_ns flush_target_ns flush_refill_ns);

/// A cost class as its file states it.
pub(super) struct Class {
    doc: Doc,
}

impl Class {
    /// Finds and parses the class a machine names.
    ///
    /// # Errors
    /// No such class, with the nearest one; a syntax error in its file.
    pub(super) fn find(name: &Spot<String>, find: &Find) -> Result<Self, SpecError> {
        let embedded =
            || CLASSES.iter().find(|(n, _)| *n == name.value).map(|(n, t)| (format!("{n}.toml"), t.to_string()));
        let Some((file, text)) = find(&format!("classes/{}", name.value)).or_else(embedded) else {
            let names = CLASSES.iter().map(|(n, _)| *n);
            let listed: Vec<String> = names.clone().map(|n| format!("`{n}`")).collect();
            let expected = format!("{}, or the name of a file in machines/classes/ of --catalog", listed.join(", "));
            let e = name.error(format!("no cost class `{}`", clip(&name.value)), expected);
            return Err(e.near(&name.value, names));
        };
        Ok(Self { doc: Doc::parse(&file, &text)? })
    }

    /// The costs on a core of `ghz` whose instructions take `ipc` times the cycles of the class's core, and the
    /// page-walk model. The machine fills in `entries_*` of the TLB, which are 0 here.
    ///
    /// # Errors
    /// A missing, unknown or impossible entry of the class file.
    pub(super) fn on(&self, ghz: f64, ipc: f64) -> Result<(KernelCosts, Tlb), SpecError> {
        let root = self.doc.root();
        root.str("title")?;
        let reference = required(&root, "reference_ghz", &GHZ)?;
        let scale = reference / ghz * ipc;
        let mut costs = KernelCosts::default();
        for (section, fields, factor) in [("cpu", CPU, scale), ("memory", MEMORY, 1.0), ("shootdown", SHOOTDOWN, 1.0)] {
            let table = root.opt_table(section)?.ok_or_else(|| root.missing(section, "a table of costs"))?;
            let rates = if section == "memory" { RATES } else { &[] };
            // All keys are marked as legal first, so that the hint for a missing one names no other cost.
            fields.iter().chain(rates).for_each(|(key, _)| _ = table.has(key));
            for (key, field) in rates {
                *field(&mut costs) = required(&table, key, &GBPS)?;
            }
            for (key, field) in fields {
                let Some(x) = opt_up_to(&table, key, MAX_NS)? else { return Err(table.missing(key, "a cost")) };
                *field(&mut costs) = x * factor;
            }
            table.finish()?;
        }
        let walk = root.opt_table("tlb")?.ok_or_else(|| root.missing("tlb", "the page-walk model"))?;
        let tlb = Tlb {
            entries_4k: 0,
            entries_2m: 0,
            base_ns: required(&walk, "base_ns", &WALK_NS)?,
            walk_4k_ns: required(&walk, "walk_4k_ns", &WALK_NS)?,
            walk_4k_guest_ns: required(&walk, "walk_4k_guest_ns", &WALK_NS)?,
            leaf_miss: required(&walk, "leaf_miss", &MISSES)?,
            leaf_miss_guest: required(&walk, "leaf_miss_guest", &MISSES)?,
            nested: false,
            walker: None,
        };
        walk.finish()?;
        root.finish()?;
        Ok((costs, tlb))
    }
}

/// A number of `range` that the table must have.
fn required(t: &Table, key: &str, range: &RangeInclusive<f64>) -> Result<f64, SpecError> {
    opt_within(t, key, range)?.map(|x| x.value).ok_or_else(|| t.missing(key, &a_number(range)))
}

/// Replaces the costs that a machine states itself (`[costs]`), without scaling.
///
/// # Errors
/// An unknown key, a negative cost, or a rate below the least bandwidth.
pub(super) fn replace(costs: &mut KernelCosts, own: Layers) -> Result<(), SpecError> {
    for (key, field) in [CPU, MEMORY, SHOOTDOWN].into_iter().flatten() {
        if let Some(x) = own.opt_up_to(key, MAX_NS)? {
            *field(costs) = x;
        }
    }
    for (key, field) in RATES {
        if let Some(x) = own.opt_within(key, &GBPS)? {
            *field(costs) = x;
        }
    }
    own.finish()
}
