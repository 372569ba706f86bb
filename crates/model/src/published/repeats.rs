//! Other published runs of the same tests on the same machine: how far a measurement agrees with itself.
//!
//! Problem: a cell that its own author does not measure again cannot be predicted. A score says little unless the
//! number of such cells is known.
//! Approach: a file may hold the figures of such runs for some of its columns and rows. `numalab reproduce` scores them
//! as if they were predictions.
//! Invariants: the baseline is among the columns. Every row is a predicted row of the file, and stands here once.

use super::blocks::Block;
use super::columns::{index, Columns};
use crate::spec::{SpecError, Table};

/// Published runs that repeat a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// Short name of the runs.
    pub name: String,
    /// Author and date.
    pub source: String,
    /// How the runs differ from those of the table.
    pub about: String,
    /// Indices of the columns of the file that are repeated, the baseline among them.
    pub columns: Vec<usize>,
    /// The figures.
    pub rows: Vec<RepeatedRow>,
}

/// A row's figures in these runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedRow {
    /// Group of the row.
    pub group: String,
    /// Name of the row in that group.
    pub id: String,
    /// One value per column of the repeat.
    pub values: Vec<f64>,
}

impl Repeat {
    /// The figure of a column of the file; `None` for a column that was not repeated.
    pub fn value(&self, row: &RepeatedRow, column: usize) -> Option<f64> {
        self.columns.iter().position(|&c| c == column).map(|i| row.values[i])
    }
}

/// Reads `[[repeats]]`; `shared` are the columns of the file.
///
/// # Errors
/// A key that is missing or unknown, a column or row that the file does not have or that stands twice, a missing
/// baseline, a wrong number of values, or no row.
pub(super) fn read(t: Table<'_>, shared: Option<&Columns>, blocks: &[Block]) -> Result<Repeat, SpecError> {
    let names = t.strs("columns")?;
    let Some(shared) = shared else {
        return Err(t.missing("columns", "columns of the file: those of a block cannot be repeated"));
    };
    let mut columns = Vec::new();
    for name in &names {
        let column = index(&shared.list, name)?;
        if columns.contains(&column) {
            return Err(name.error(format!("column `{}` twice", name.value), "every column once".to_string()));
        }
        columns.push(column);
    }
    if !columns.contains(&shared.baseline) {
        let baseline = &shared.list[shared.baseline].name;
        return Err(t.missing("columns", &format!("columns with the baseline `{baseline}` among them")));
    }
    let mut rows = Vec::new();
    for r in t.tables("rows")? {
        let next = row(r, columns.len(), blocks, &rows)?;
        rows.push(next);
    }
    if rows.is_empty() {
        return Err(t.missing("rows", "at least one row"));
    }
    let repeat = Repeat {
        name: t.str("name")?.value,
        source: t.str("source")?.value,
        about: t.opt_str("about")?.map(|s| s.value.trim().to_string()).unwrap_or_default(),
        columns,
        rows,
    };
    t.finish()?;
    Ok(repeat)
}

/// Reads one row; `before` are the rows above it.
fn row(t: Table<'_>, columns: usize, blocks: &[Block], before: &[RepeatedRow]) -> Result<RepeatedRow, SpecError> {
    let (group, id) = (t.str("group")?, t.str("id")?);
    let groups: Vec<&str> = blocks.iter().map(|b| b.group.as_str()).collect();
    if !groups.contains(&group.value.as_str()) {
        let e = group.error(format!("no group `{}`", group.value), format!("one of {}", groups.join(", ")));
        return Err(e.near(&group.value, groups));
    }
    let of = blocks.iter().filter(|b| b.group == group.value && b.columns.is_none());
    let ids: Vec<&str> =
        of.flat_map(|b| &b.rows).filter(|r| r.formatter_only.is_none()).map(|r| r.id.as_str()).collect();
    if !ids.contains(&id.value.as_str()) {
        let e = id.error(format!("no row `{}`", id.value), format!("one of {}", ids.join(", ")));
        return Err(e.near(&id.value, ids));
    }
    if before.iter().any(|r| r.group == group.value && r.id == id.value) {
        return Err(id.error(format!("row `{}` twice", id.value), "every row once".to_string()));
    }
    let expected = format!("{columns} numbers, one per repeated column");
    let values = t.opt_f64s("values")?.ok_or_else(|| t.missing("values", &expected))?;
    if values.value.len() != columns {
        return Err(values.error(format!("{} values", values.value.len()), expected));
    }
    let row = RepeatedRow { group: group.value, id: id.value, values: values.value };
    t.finish()?;
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Kind};
    use crate::published::{parse, Published};

    fn table(name: &str) -> Published {
        let catalog = Catalog::embedded();
        let file = catalog.get(Kind::Published, name).unwrap();
        parse(&file.label, &file.text).unwrap()
    }

    /// Change against the baseline column in percent, positive if it is better, and by how much it may differ from the
    /// printed change, as all three figures were rounded to hundredths.
    fn change(p: &Published, repeat: &str, group: &str, id: &str, column: usize) -> (f64, f64) {
        let r = p.repeats.iter().find(|r| r.name.starts_with(repeat)).unwrap();
        let row = r.rows.iter().find(|x| x.group == group && x.id == id).unwrap();
        let (v, base) = (r.value(row, column).unwrap(), r.value(row, p.baseline).unwrap());
        let higher = p.blocks.iter().flat_map(|b| &b.rows).find(|x| x.id == id).unwrap().higher_is_better;
        let rounding = 0.005 + 100.0 * 0.005 * (1.0 + v / base) / base;
        (100.0 * if higher { v / base - 1.0 } else { 1.0 - v / base }, rounding)
    }

    /// The changes that these threads print beside their figures follow from them.
    #[test]
    fn repeats_agree_with_their_printed_percentages() {
        let p = table("disjoint-vma-2023");
        for (repeat, group, id, printed) in [
            ("RFC V2", "NUMA01", "Amean syst-NUMA01", 92.51),
            ("RFC V2", "NUMA01", "Amean elsp-NUMA01", 8.07),
            ("RFC V2", "NUMA02", "Amean elsp-NUMA02", -10.21),
            ("RFC V2", "NUMA02_SMT", "Amean elsp-NUMA02_SMT", -4.08),
            ("the enhancement", "NUMA01", "Amean syst-NUMA01", 86.97),
            ("the enhancement", "NUMA01", "Amean elsp-NUMA01", 0.05),
            ("the enhancement", "NUMA02", "Amean elsp-NUMA02", -1.52),
            ("the enhancement", "NUMA02_SMT", "Amean elsp-NUMA02_SMT", 2.92),
        ] {
            let (got, rounding) = change(&p, repeat, group, id, 1);
            assert!((got - printed).abs() <= rounding, "{repeat} {id}: {got:.2} is not {printed}");
        }
        let p = table("imb-numa-nr-2021");
        for (repeat, group, id, printed) in [
            ("version 5", "STREAM", "MB/sec copy-16", 208.72),
            ("version 5", "Coremark", "Hmean Score-16", 13.60),
            ("version 5", "Coremark", "Stddev Score-16", -123.40),
            ("version 5", "SPECjbb", "Hmean tput-1", -1.74),
            ("version 5", "SPECjbb", "Hmean tput-56", -8.11),
            ("version 5", "SPECjbb", "Hmean tput-128", 1.42),
            ("version 2", "STREAM", "MB/sec triad-16", 314.98),
            ("version 2", "SPECjbb", "Hmean tput-72", 20.84),
        ] {
            let (got, rounding) = change(&p, repeat, group, id, 1);
            assert!((got - printed).abs() <= rounding, "{repeat} {id}: {got:.2} is not {printed}");
        }
    }

    #[test]
    fn wrong_repeats_are_refused() {
        let catalog = Catalog::embedded();
        let file = catalog.get(Kind::Published, "shared-cow-2018").unwrap();
        let p = parse(&file.label, &file.text).unwrap();
        let (base, group) = (&p.columns[p.baseline].name, &p.blocks[0].group);
        let (other, id) = (&p.columns[usize::from(p.baseline == 0)].name, &p.blocks[0].rows[0].id);
        let good = format!(
            "\n[[repeats]]\nname = \"again\"\nsource = \"s\"\ncolumns = [\"{base}\", \"{other}\"]\n\
             rows = [{{ group = \"{group}\", id = \"{id}\", values = [2, 3] }}]\n"
        );
        let with = |text: &str| parse("f", &format!("{}{text}", file.text));
        let got = with(&good).unwrap().repeats;
        let want = RepeatedRow { group: group.clone(), id: id.clone(), values: vec![2.0, 3.0] };
        assert_eq!((got.len(), got[0].rows.as_slice()), (1, [want].as_slice()));
        assert_eq!(got[0].value(&got[0].rows[0], p.baseline), Some(2.0));
        for (text, part) in [
            (good.replace("[2, 3]", "[2]"), "1 values; expected 2 numbers, one per repeated column"),
            (good.replace(&format!("\"{base}\", "), ""), "with the baseline"),
            (good.replace(&format!("group = \"{group}\""), "group = \"nothing\""), "no group `nothing`"),
            (good.replace(&format!("id = \"{id}\""), "id = \"nothing\""), "no row `nothing`"),
            (
                good.replace(&format!("\"{base}\", "), &format!("\"{base}\", \"{base}\", ")),
                "twice; expected every column once",
            ),
            (
                good.replace(" }]", &format!(" }}, {{ group = \"{group}\", id = \"{id}\", values = [4, 5] }}]")),
                "twice; expected every row once",
            ),
            (good.replace("source", "sauce"), "`repeats[0].source` is missing"),
            (good.replace("rows = [", "rows = []\nother = ["), "`repeats[0].rows` is missing"),
        ] {
            let e = with(&text).unwrap_err().to_string();
            assert!(e.contains(part), "{e}");
        }
    }
}
