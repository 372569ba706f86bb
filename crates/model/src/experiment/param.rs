//! Values for the parameters of workloads, as an experiment writes them.

use crate::kernel::Setting;
use crate::spec::{SpecError, Spot, Table};

/// A value for a workload parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The workload to which it applies; `None` for every workload that has the parameter.
    pub workload: Option<String>,
    /// Parameter and expression.
    pub setting: Setting,
}

/// Reads `[params]`, with sub-tables for single workloads.
pub(crate) fn params(table: &Table<'_>) -> Result<Vec<Param>, SpecError> {
    let mut out = Vec::new();
    let mut read = |t: &Table<'_>, name: Spot<String>, workload: Option<&str>| {
        let value = t.opt_expr(&name.value)?.ok_or_else(|| t.missing(&name.value, "a number or an expression"))?.value;
        // Names of parameters have no dots, so `"first-touch.workers" = 3` means `first-touch.workers = 3`.
        let quoted = name.value.rsplit_once('.').filter(|_| workload.is_none());
        let (workload, key) = match quoted {
            Some((workload, key)) => (Some(workload.to_string()), key.to_string()),
            None => (workload.map(str::to_string), name.value.clone()),
        };
        out.push(Param { workload, setting: Setting { name: name.map(|_| key), value } });
        Ok::<(), SpecError>(())
    };
    for name in table.keys() {
        match table.opt_table(&name.value) {
            Ok(Some(inner)) => {
                for key in inner.keys() {
                    read(&inner, key, Some(name.value.as_str()))?;
                }
            }
            _ => read(table, name, None)?,
        }
    }
    Ok(out)
}
