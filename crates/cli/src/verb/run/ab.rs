//! `numalab run --ab NAME=VALUE`: every column as it is, and beside it one with a setting.

use crate::context::named;
use crate::failure::Failure;
use crate::options::stem;
use numalab_model::experiment::{Column, Experiment};
use numalab_model::kernel::Setting;
use numalab_model::spec::Spot;

/// Option of the command line, the place in messages.
const OPTION: &str = "--ab";

/// Adds a column for each kernel and column of the experiment and each value of `text`, `NAME=VALUE,…`. Columns of
/// other settings stay as they are.
///
/// # Errors
/// No setting with a value, or a value that is given twice.
pub(super) fn add(experiment: &mut Experiment, text: &str) -> Result<(), Failure> {
    let settings = settings(text)?;
    let plain: Vec<Column> = experiment.kernels.iter().map(|k| of_kernel(experiment, k)).collect();
    // What an earlier `--ab` added is a comparison of its own.
    let own = experiment.axes.columns.iter().filter(|c| !c.name.file.starts_with(OPTION)).cloned();
    let columns: Vec<Column> = plain.into_iter().chain(own).collect();
    for column in columns {
        for setting in &settings {
            let mut sets = column.sets.clone();
            sets.retain(|old| old.name.value != setting.name.value);
            sets.push(setting.clone());
            let name = name(&column.name.value, setting);
            experiment.axes.columns.push(Column { name: named(OPTION, &name), sets, ..column.clone() });
        }
    }
    Ok(())
}

/// A setting for each value of `NAME=VALUE,…`.
fn settings(text: &str) -> Result<Vec<Setting>, Failure> {
    let (key, values) = text.split_once('=').unwrap_or((text, ""));
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    let twice = values.iter().enumerate().find(|(i, v)| values[..*i].contains(v));
    if let Some((_, value)) = twice {
        return Err(Failure::usage(format!("{OPTION} {text}: `{value}` is given twice; expected each value once")));
    }
    if values.iter().any(|v| v.is_empty()) {
        let expected =
            "NAME=VALUE or NAME=VALUE,VALUE, such as vma_filter=off (`numalab list roles`, `numalab list tunables`)";
        return Err(Failure::usage(format!("{OPTION} {text}: a value is missing; expected {expected}")));
    }
    let one = |v: &&str| Ok(Setting::from_argument(OPTION, &format!("{}={v}", key.trim()))?);
    values.iter().map(one).collect()
}

/// A kernel of the list as a column, with the settings that the experiment has for it alone.
fn of_kernel(experiment: &Experiment, kernel: &Spot<String>) -> Column {
    let sets = experiment.axes.sets.iter().filter(|(of, _)| of.value == kernel.value);
    let sets = sets.flat_map(|(_, sets)| sets.iter().cloned()).collect();
    let (name, kernel) = (kernel.clone(), kernel.clone());
    Column { name, kernel, sets, numactl: None, instances: None, params: Vec::new() }
}

/// Name of a column with a setting, such as `6.3[vma_filter=off]`, as `--set` names such a kernel. A kernel in a file
/// goes by the name of the file.
fn name(column: &str, setting: &Setting) -> String {
    format!("{}[{}={}]", stem(column), setting.name.value, setting.value)
}
