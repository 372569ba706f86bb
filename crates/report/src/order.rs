//! Lists without repetition, in order of first appearance, so that the same data give the same report.

use std::collections::BTreeSet;

/// The items, each once, in order of first appearance.
pub fn unique<T: Ord + Clone>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_appearance_counts() {
        assert_eq!(unique(["b", "a", "b", "c", "a"]), ["b", "a", "c"]);
        assert!(unique(Vec::<u8>::new()).is_empty());
    }
}
