//! Patches that come with the program, as data in `catalog/guest/`.

/// Name (of `+patch:NAME`) and text.
pub const PATCHES: [(&str, &str); 1] =
    [("disjoint-vma-budget", include_str!("../../../../catalog/guest/disjoint-vma-budget.patch"))];

/// The text of a shipped patch.
pub fn patch(name: &str) -> Option<&'static str> {
    PATCHES.iter().find(|p| p.0 == name).map(|p| p.1)
}
