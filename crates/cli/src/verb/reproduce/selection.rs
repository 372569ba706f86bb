//! The groups of a published table that are asked for.

use crate::failure::Failure;
use numalab_model::published::{Block, Published};
use numalab_model::spec::nearest;

/// Blocks of a table: all of them, or those of some groups.
pub struct Selection<'a> {
    published: &'a Published,
    /// Names of the groups; none stands for all.
    groups: Vec<&'a str>,
}

impl<'a> Selection<'a> {
    /// The groups called `names`, and for a group of sums those it sums; everything without names.
    ///
    /// # Errors
    /// A name that no group of the table has: the nearest one, or all of them.
    pub fn new(published: &'a Published, names: &'a [String]) -> Result<Self, Failure> {
        let mut groups: Vec<&str> = Vec::new();
        for name in names {
            let mut found = published.blocks.iter().filter(|b| b.group == *name).peekable();
            if found.peek().is_none() {
                return Err(unknown(published, name));
            }
            groups.push(name);
            groups.extend(found.flat_map(|b| b.sum_of.iter().map(|s| s.value.as_str())));
        }
        Ok(Self { published, groups })
    }

    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.groups.is_empty()
    }

    /// The blocks, in the order of the table.
    pub fn blocks(&self) -> impl Iterator<Item = &'a Block> + '_ {
        self.published.blocks.iter().filter(|b| self.is_all() || self.groups.contains(&b.group.as_str()))
    }
}

fn unknown(published: &Published, name: &str) -> Failure {
    let mut groups: Vec<&str> = published.blocks.iter().map(|b| b.group.as_str()).collect();
    groups.dedup();
    let hint = nearest(name, groups.iter().copied()).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    let quoted: Vec<String> = groups.iter().map(|g| format!("`{g}`")).collect();
    let expected = format!("a group of table {}: {}", published.name.value, quoted.join(", "));
    Failure::usage(format!("--group: no group `{name}`; expected {expected}{hint}"))
}
