//! A published table as a whole.

use super::blocks::{self, Block};
use super::columns::{self, Column, Columns};
use super::expect::{self, Expect};
use super::repeats::{self, Repeat};
use crate::spec::{Doc, SpecError, Spot, Table};

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Name, such as `disjoint-vma-2023`.
    pub name: Spot<String>,
    /// Another name, the number of the mail thread: `000`.
    pub alias: Option<String>,
    /// Subject of the thread.
    pub title: String,
    /// Author and date.
    pub source: String,
    /// The question of the thread, in prose.
    pub about: String,
    /// Index of the column to which ratios refer.
    pub baseline: usize,
    /// Columns in print order.
    pub columns: Vec<Column>,
    /// Groups of rows.
    pub blocks: Vec<Block>,
    /// The least score of a release that has not become worse, if the file states it.
    pub expect: Option<Expect>,
    /// Other published runs of the same tests.
    pub repeats: Vec<Repeat>,
}

impl Published {
    /// Columns of a block and the index of its baseline.
    pub fn columns_of<'a>(&'a self, block: &'a Block) -> (&'a [Column], usize) {
        match &block.columns {
            Some(c) => (&c.list, c.baseline),
            None => (&self.columns, self.baseline),
        }
    }
}

/// Parses a published table.
///
/// # Errors
/// Wrong syntax, an unknown key, a value of the wrong kind, a baseline that is no column, no row at all, a row with too
/// few or too many values, or a calibration of anything but the baseline's elapsed time.
pub fn parse(file: &str, text: &str) -> Result<Published, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let shared = columns::read(&root)?;
    let own = |t: Table<'_>| blocks::read(t, shared.as_ref());
    let blocks = root.tables("blocks")?.into_iter().map(own).collect::<Result<Vec<_>, _>>()?;
    for name in blocks.iter().flat_map(|b: &Block| &b.sum_of) {
        let groups: Vec<&str> = blocks.iter().filter(|b| b.run.is_ok()).map(|b| b.group.as_str()).collect();
        if !groups.contains(&name.value.as_str()) {
            let e = name.error(format!("no simulated group `{}`", name.value), format!("one of {}", groups.join(", ")));
            return Err(e.near(&name.value, groups));
        }
    }
    let repeat = |t: Table<'_>| repeats::read(t, shared.as_ref(), &blocks);
    let repeats = root.tables("repeats")?.into_iter().map(repeat).collect::<Result<Vec<_>, _>>()?;
    let Columns { list, baseline: index } = shared.unwrap_or(Columns { list: Vec::new(), baseline: 0 });
    let published = Published {
        name: root.str("name")?,
        alias: root.opt_str("alias")?.map(|s| s.value),
        title: root.title()?,
        source: root.str("source")?.value,
        about: root.opt_str("about")?.map(|s| s.value.trim().to_string()).unwrap_or_default(),
        baseline: index,
        columns: list,
        blocks,
        expect: root.opt_table("expect")?.map(expect::read).transpose()?,
        repeats,
    };
    if published.blocks.iter().all(|b| b.rows.is_empty()) {
        return Err(root.missing("blocks.rows", "at least one block with a row: a table without figures shows nothing"));
    }
    root.finish()?;
    Ok(published)
}
