//! What an experiment varies besides its lists of kernels and workloads: columns of settings, workloads under other
//! names, and settings of one kernel, column or workload.
//!
//! ```toml
//! [[column]]
//! name = "interleave"
//! kernel = "6.12"
//! numactl = "--interleave=all"
//! set.system.numa_balancing = 0
//!
//! [[workload]]
//! name = "stream-large"
//! of = "stream"
//! params.elements = 400_000_000
//!
//! [set."6.12"]
//! scan.scan_size_mb = 512
//! ```

use super::instances::Instances;
use super::numactl::Numactl;
use super::param::{params, Param};
use super::prediction::Prediction;
use crate::kernel::{settings, settings_but, Setting};
use crate::spec::{clip, SpecError, Spot, Table};

/// Longest name of a column or workload, bytes; it becomes part of file names.
const NAME_MAX: usize = 64;

/// The further axes of an experiment; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    /// Columns beside those of the list of kernels.
    pub columns: Vec<Column>,
    /// Workloads under names of their own.
    pub workloads: Vec<Named>,
    /// Settings of one kernel, column or workload, by its name.
    pub sets: Vec<(Spot<String>, Vec<Setting>)>,
    /// Simulated machines do nothing beside the workload: no kernel threads, no daemons, and timers that fire on time.
    pub quiet_machine: bool,
    /// Whether simulated runs leave out what is left of them once they have settled. `None` leaves it to the command;
    /// whole runs are usual.
    pub until_settled: Option<bool>,
    /// Simulated runs handle each page as a step of its own.
    pub exact: bool,
    /// What the workloads stand for, if they are cut-down copies of one program. No file has it.
    pub prediction: Option<Prediction>,
}

/// A column: a kernel with settings, and how the workload is started on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in reports.
    pub name: Spot<String>,
    /// The kernel.
    pub kernel: Spot<String>,
    /// Overrides of roles and tunables.
    pub sets: Vec<Setting>,
    /// How the workload is started.
    pub numactl: Option<Numactl>,
    /// How many instances of it run, if several do.
    pub instances: Option<Instances>,
    /// Parameters of every workload that has them, in place of the values that the other columns have. A name
    /// `WORKLOAD.PARAMETER` is for one workload alone.
    pub params: Vec<Setting>,
}

/// A workload under a name of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Name in reports.
    pub name: Spot<String>,
    /// The workload of the catalog, or the path of its file.
    pub of: Spot<String>,
}

/// Reads `[[column]]`.
///
/// # Errors
/// A missing name or kernel, an unknown key, or wrong settings or options.
pub(super) fn columns(root: &Table<'_>) -> Result<Vec<Column>, SpecError> {
    let mut out = Vec::new();
    for t in root.tables("column")? {
        let numactl = t.opt_str("numactl")?.map(Numactl::parse).transpose()?;
        let instances = t.opt_expr("instances")?.map(Instances::parse).transpose()?;
        if let Some(text) = t.opt_str("numactl")?.filter(|_| instances.is_some()) {
            let what = "a column with both `numactl` and `instances`";
            return Err(text.error(what, "one of them: each instance is bound to its share of the nodes"));
        }
        let sets = t.opt_table("set")?.map(|t| settings(&t, true)).transpose()?.unwrap_or_default();
        let own = t.opt_table("params")?.map(|t| params(&t)).transpose()?.unwrap_or_default();
        let params = own.into_iter().map(scoped).collect();
        out.push(Column { name: name(&t)?, kernel: t.str("kernel")?, sets, numactl, instances, params });
        t.finish()?;
    }
    Ok(out)
}

/// The setting of a column, under the name `WORKLOAD.PARAMETER` if it is for one workload alone.
fn scoped(p: Param) -> Setting {
    let Setting { name, value } = p.setting;
    let name = match p.workload {
        Some(workload) => name.map(|n| format!("{workload}.{n}")),
        None => name,
    };
    Setting { name, value }
}

/// Settings of one kernel, column or workload, by its name.
type Scoped = Vec<(Spot<String>, Vec<Setting>)>;
/// Workloads under other names, their parameters and their settings.
pub(super) type Workloads = (Vec<Named>, Vec<Param>, Scoped);

/// Reads `[[workload]]`: the workloads, their parameters and their settings.
///
/// # Errors
/// A missing name or workload, an unknown key, or wrong settings.
pub(super) fn workloads(root: &Table<'_>) -> Result<Workloads, SpecError> {
    let (mut named, mut all, mut sets) = (Vec::new(), Vec::new(), Vec::new());
    for t in root.tables("workload")? {
        let own = Named { name: name(&t)?, of: t.str("of")? };
        let mine = t.opt_table("params")?.map(|t| params(&t)).transpose()?.unwrap_or_default();
        if let Some(p) = mine.iter().find(|p| p.workload.is_some()) {
            return Err(p.setting.name.error("a parameter of a parameter", "the name of a parameter and its value"));
        }
        all.extend(mine.into_iter().map(|p| Param { workload: Some(own.name.value.clone()), ..p }));
        if let Some(set) = t.opt_table("set")? {
            sets.push((own.name.clone(), settings(&set, true)?));
        }
        t.finish()?;
        named.push(own);
    }
    Ok((named, all, sets))
}

/// A name of one's own.
fn name(t: &Table<'_>) -> Result<Spot<String>, SpecError> {
    let name = t.str("name")?;
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._+-=".contains(&b);
    if name.value.is_empty()
        || name.value.len() > NAME_MAX
        || !name.value.bytes().all(good)
        || name.value.starts_with('-')
    {
        let expected = format!("1 to {NAME_MAX} letters, digits or . _ + - =, not - first");
        return Err(name.error(format!("the name is `{}`", clip(&name.value)), expected));
    }
    Ok(name)
}

/// Settings of an experiment: those of every run, and those of one kernel, column or workload.
pub(super) type Sets = (Vec<Setting>, Scoped);

/// Reads `[set]`. A sub-table with the name of a kernel, column or workload has its settings.
///
/// # Errors
/// Those of [`settings`].
pub(super) fn sets(table: &Table<'_>, names: &[&str]) -> Result<Sets, SpecError> {
    let mut scoped = Vec::new();
    for key in table.keys().into_iter().filter(|k| names.contains(&k.value.as_str())) {
        if let Ok(Some(inner)) = table.opt_table(&key.value) {
            scoped.push((key, settings(&inner, true)?));
        }
    }
    let others: Vec<&str> = scoped.iter().map(|(k, _)| k.value.as_str()).collect();
    let common = settings_but(table, true, &others)?;
    Ok((common, scoped))
}
