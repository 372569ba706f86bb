//! Whether the simulator holds the counters of a real kernel: of each column, its median beside the kernel's own range
//! of minimum to maximum, widened by [`CLOSE`] at both ends.
//!
//! [`sides`](crate::sides) asks whether both change in one direction; this asks how far they are apart.

use crate::data::Comparison;
use crate::format::significant;
use numalab_model::counters::BALANCING;
use numalab_stats::describe;

/// Largest factor outside the kernel's own range at which a figure counts as held.
pub const CLOSE: f64 = 1.25;

/// Distance of a value from the range `low..=high`: 1 inside it, else the factor to its nearer end; infinite from or to
/// 0.
pub fn off_by(low: f64, high: f64, value: f64) -> f64 {
    if (low..=high).contains(&value) {
        return 1.0;
    }
    let end = if value < low { low } else { high };
    let (small, large) = if end < value { (end, value) } else { (value, end) };
    if small > 0.0 {
        large / small
    } else {
        f64::INFINITY
    }
}

/// One of the four counters of NUMA balancing in one column on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Smallest of the kernel's runs.
    pub min: f64,
    /// Largest of the kernel's runs.
    pub max: f64,
    /// Median of the simulator's runs.
    pub simulated: f64,
}

impl Cell {
    /// Whether the simulator holds it.
    pub fn is_held(&self) -> bool {
        off_by(self.min, self.max, self.simulated) <= CLOSE
    }

    fn text(&self) -> String {
        let shown = |x: f64| if x == x.trunc() { format!("{x:.0}") } else { significant(x) };
        let range = match self.min == self.max {
            true => shown(self.min),
            false => format!("{} to {}", shown(self.min), shown(self.max)),
        };
        let how = match off_by(self.min, self.max, self.simulated) {
            d if d <= CLOSE => "held".to_string(),
            d if d.is_finite() => format!("off by {d:.2}"),
            _ => "off".to_string(),
        };
        format!("{range}; {}: {how}", shown(self.simulated))
    }
}

/// The cells of a column, in the order of [`BALANCING`]; `None` where a side has no figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Workload, with the machine if there are several.
    pub workload: String,
    /// Column.
    pub name: String,
    /// Completed runs of the kernel and of the simulator.
    pub runs: (usize, usize),
    /// The cells.
    pub cells: Vec<Option<Cell>>,
}

/// The columns that have runs on both sides, the baselines included.
pub fn columns(kernel: &Comparison, simulator: &Comparison) -> Vec<Column> {
    let mut out = Vec::new();
    for w in &kernel.workloads {
        let Some(other) = simulator.workloads.iter().find(|o| o.name == w.name) else { continue };
        for (k, column) in kernel.kernels.iter().enumerate() {
            let Some(s) = simulator.kernels.iter().position(|o| o.name == column.name) else { continue };
            let mut runs = (0, 0);
            let mut cell = |name: &str| -> Option<Cell> {
                let (a, b) = (w.counter(name)?.of(k), other.counter(name)?.of(s));
                runs = (a.len(), b.len());
                Some(Cell { min: describe::min(a)?, max: describe::max(a)?, simulated: describe::median(b)? })
            };
            let cells: Vec<Option<Cell>> = BALANCING.iter().map(|name| cell(name)).collect();
            if cells.iter().any(Option::is_some) {
                out.push(Column { workload: w.name.clone(), name: column.name.clone(), runs, cells });
            }
        }
    }
    out
}

/// How many cells are held, and how many there are.
pub fn count(columns: &[Column]) -> (usize, usize) {
    let cells = || columns.iter().flat_map(|c| &c.cells).flatten();
    (cells().filter(|c| c.is_held()).count(), cells().count())
}

/// "The simulator holds 14 of 16 counters (88 %).".
pub fn sentence(columns: &[Column]) -> String {
    let (held, all) = count(columns);
    let percent = if all == 0 { 0.0 } else { 100.0 * held as f64 / all as f64 };
    format!("The simulator holds {held} of {all} counters ({percent:.0} %).")
}

/// The columns as a table of Markdown, with the sentence below it.
pub fn markdown(columns: &[Column]) -> String {
    let mut out = format!("| workload | column | runs | {} |\n|---|---|--:|", BALANCING.join(" | "));
    out += &"---|".repeat(BALANCING.len());
    out.push('\n');
    for c in columns {
        let cells: Vec<String> =
            c.cells.iter().map(|cell| cell.as_ref().map_or_else(|| "–".to_string(), Cell::text)).collect();
        let (workload, name) = (c.workload.replace('|', "\\|"), c.name.replace('|', "\\|"));
        let runs = format!("{} and {}", c.runs.0, c.runs.1);
        out += &format!("| {workload} | {name} | {runs} | {} |\n", cells.join(" | "));
    }
    format!("{out}\n{}\n", sentence(columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counter, Kernel, Workload};

    #[test]
    fn the_kernels_own_spread_is_no_miss() {
        assert_eq!(off_by(10.0, 20.0, 20.0), 1.0);
        assert_eq!(off_by(10.0, 20.0, 40.0), 2.0);
        assert_eq!(off_by(10.0, 20.0, 5.0), 2.0);
        assert_eq!(off_by(0.0, 0.0, 0.0), 1.0);
        assert_eq!(off_by(0.0, 0.0, 5.0), f64::INFINITY);
        assert_eq!(off_by(4.0, 6.0, 0.0), f64::INFINITY);
        let held = |simulated: f64| Cell { min: 80.0, max: 100.0, simulated }.is_held();
        assert_eq!([64.0, 63.0, 125.0, 126.0].map(held), [true, false, true, false]);
    }

    fn comparison(columns: &[&str], samples: &[Vec<f64>]) -> Comparison {
        let counter = |name: &str| Counter { name: name.into(), samples: samples.to_vec() };
        let counters = vec![counter("numa_pte_updates"), counter("numa_pages_migrated")];
        let w = Workload { name: "w".into(), counters, ..Workload::default() };
        let kernels = columns.iter().map(|n| Kernel::named(n)).collect();
        Comparison { kernels, workloads: vec![w], ..Comparison::default() }
    }

    #[test]
    fn every_column_of_both_sides_is_judged_and_the_baseline_too() {
        let kernel = comparison(&["base", "a=1", "a=2"], &[vec![80.0, 100.0], vec![10.0], vec![]]);
        let simulator = comparison(&["base", "a=2", "a=1"], &[vec![90.0], vec![1.0], vec![12.0, 14.0, 13.0]]);
        let columns = columns(&kernel, &simulator);
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["base", "a=1"], "a column without runs has no cells");
        assert_eq!((count(&columns), columns[0].runs, columns[1].runs), ((2, 4), (2, 1), (1, 3)));
        let page = markdown(&columns);
        assert!(page.contains("| w | base | 2 and 1 | 80 to 100; 90: held | – | – | 80 to 100; 90: held |"), "{page}");
        assert!(page.contains("| w | a=1 | 1 and 3 | 10; 13: off by 1.30 |"), "{page}");
        assert!(page.ends_with("The simulator holds 2 of 4 counters (50 %).\n"), "{page}");
    }
}
