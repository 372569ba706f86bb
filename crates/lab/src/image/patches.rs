//! Kernel patches that are built into numalab, from `catalog/guest/`.

/// Name (as in `+patch:NAME`) and text of every patch.
pub const PATCHES: [(&str, &str); 1] = [("disjoint-vma-budget", include_str!("../../guest/disjoint-vma-budget.patch"))];

/// The text of the patch with this name, if any.
pub fn patch(name: &str) -> Option<&'static str> {
    PATCHES.iter().find(|p| p.0 == name).map(|p| p.1)
}
