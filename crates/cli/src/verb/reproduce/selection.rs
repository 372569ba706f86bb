//! The groups of a published table that `--group` selects.

use crate::failure::Failure;
use numalab_model::published::{Block, BlockRun, Published};
use numalab_model::spec::nearest;

/// The blocks of a published table, or those of some groups.
pub struct Selection<'a> {
    published: &'a Published,
    /// Names of the groups; empty for all.
    groups: Vec<&'a str>,
}

impl<'a> Selection<'a> {
    /// Selects the groups called `names`, and the groups that a selected group sums. Without names, everything is
    /// selected.
    ///
    /// # Errors
    /// A name that no group of the table has. The message lists all groups and the nearest name.
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

    /// The blocks that are simulated, each with its runs: `iterations` for each seed and column, if a number is given.
    pub fn simulated(&self, iterations: Option<u32>) -> Vec<(&'a Block, BlockRun)> {
        let asked = |run: &BlockRun| BlockRun { iterations: iterations.unwrap_or(run.iterations), ..run.clone() };
        self.blocks().filter_map(|b| b.run.as_ref().ok().map(|r| (b, asked(r)))).collect()
    }

    /// Whether the whole table is selected.
    pub fn is_all(&self) -> bool {
        self.groups.is_empty()
    }

    /// The selected blocks, in the order of the table.
    pub fn blocks(&self) -> impl Iterator<Item = &'a Block> + '_ {
        self.published.blocks.iter().filter(|b| self.is_all() || self.groups.contains(&b.group.as_str()))
    }
}

/// The failure for an unknown group.
fn unknown(published: &Published, name: &str) -> Failure {
    let mut groups: Vec<&str> = published.blocks.iter().map(|b| b.group.as_str()).collect();
    groups.dedup();
    let hint = nearest(name, groups.iter().copied()).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    let quoted: Vec<String> = groups.iter().map(|g| format!("`{g}`")).collect();
    let expected = format!("a group of table {}: {}", published.name.value, quoted.join(", "));
    Failure::usage(format!("--group: no group `{name}`; expected {expected}{hint}"))
}
