//! Columns of a published table: the kernels that are compared.

use crate::kernel::{settings, Setting};
use crate::spec::{SpecError, Spot, Table};

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name as published.
    pub name: String,
    /// Catalog kernel that stands for it.
    pub kernel: Spot<String>,
    /// Roles and tunables that differ from those of the kernel.
    pub sets: Vec<Setting>,
    /// Workload parameters of this column.
    pub params: Vec<Setting>,
}

/// Columns of a file or block, and the index of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Columns in print order.
    pub list: Vec<Column>,
    /// Index of the column to which ratios refer.
    pub baseline: usize,
}

/// Reads the columns of a file or block, if it has any.
pub(super) fn read(t: &Table<'_>) -> Result<Option<Columns>, SpecError> {
    let list = t.tables("columns")?.into_iter().map(column).collect::<Result<Vec<_>, _>>()?;
    if list.is_empty() {
        return Ok(None);
    }
    let baseline = t.str("baseline")?;
    let baseline = index(&list, &baseline)?;
    Ok(Some(Columns { list, baseline }))
}

/// Index of a column by its name.
pub(super) fn index(columns: &[Column], name: &Spot<String>) -> Result<usize, SpecError> {
    columns.iter().position(|c| c.name == name.value).ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let e = name.error(format!("no column `{}`", name.value), format!("one of {}", names.join(", ")));
        e.near(&name.value, names)
    })
}

fn column(t: Table<'_>) -> Result<Column, SpecError> {
    let column = Column { name: t.str("name")?.value, kernel: t.str("kernel")?, sets: sets(&t)?, params: params(&t)? };
    t.finish()?;
    Ok(column)
}

pub(super) fn sets(t: &Table<'_>) -> Result<Vec<Setting>, SpecError> {
    Ok(t.opt_table("set")?.map(|t| settings(&t, true)).transpose()?.unwrap_or_default())
}

pub(super) fn params(t: &Table<'_>) -> Result<Vec<Setting>, SpecError> {
    let Some(inner) = t.opt_table("params")? else { return Ok(Vec::new()) };
    let one = |name: Spot<String>| {
        let value =
            inner.opt_expr(&name.value)?.ok_or_else(|| inner.missing(&name.value, "a number or an expression"))?;
        Ok(Setting { name, value: value.value })
    };
    inner.keys().into_iter().map(one).collect()
}
