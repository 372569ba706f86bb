//! The data of the charts and maps, which the script of the page reads as JSON.
//!
//! Problem: ten runs of a minute must fit in a file of 3 MB, whatever was sampled. Approach:
//! [`timeline`](super::timeline) builds this form within given [`Limits`], and [`fit`] tries finer limits first.
//! Figures keep four significant digits, as no screen can show more. `web/src/data.ts` has the same types. Invariant:
//! the same input gives the same bytes.

use serde::{Serialize, Serializer};

/// Most bytes the JSON may have.
pub const MAX_BYTES: usize = 2_000_000;

/// How finely charts and maps are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of points in time.
    pub points: usize,
    /// Number of rows of a map.
    pub rows: usize,
    /// Number of processes and columns that are drawn one by one. Other processes are added up; other columns are left
    /// out.
    pub columns: usize,
    /// Number of runs of each kernel on each workload.
    pub runs: usize,
}

/// Limits to try, from fine to coarse.
const STEPS: [Limits; 8] = [
    Limits { points: 360, rows: 256, columns: 32, runs: usize::MAX },
    Limits { points: 300, rows: 192, columns: 24, runs: usize::MAX },
    Limits { points: 240, rows: 128, columns: 16, runs: usize::MAX },
    Limits { points: 180, rows: 96, columns: 12, runs: 16 },
    Limits { points: 150, rows: 64, columns: 8, runs: 8 },
    Limits { points: 120, rows: 64, columns: 8, runs: 4 },
    Limits { points: 120, rows: 48, columns: 8, runs: 1 },
    Limits { points: 60, rows: 24, columns: 4, runs: 1 },
];

/// Builds the data with ever coarser limits until its JSON fits. The coarsest limits are used even if it does not.
pub fn fit(build: impl Fn(&Limits) -> Data) -> String {
    let mut text = String::new();
    for limits in &STEPS {
        // Serialising plain structs to memory cannot fail.
        text = serde_json::to_string(&build(limits)).unwrap_or_default();
        if text.len() <= MAX_BYTES {
            break;
        }
    }
    text
}

/// The data of all charts and maps.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Data {
    /// Names of the kernels as headings print them.
    pub kernels: Vec<String>,
    /// Index of the baseline in `kernels`.
    pub baseline: usize,
    /// Workloads that have samples.
    pub workloads: Vec<WorkloadData>,
    /// The maps that stand at the top of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
}

/// Which maps stand at the top of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// Name of the workload.
    pub workload: String,
    /// Indices of the kernels, the baseline first.
    pub kernels: Vec<usize>,
}

/// A workload: its runs share one time axis.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WorkloadData {
    /// Name.
    pub name: String,
    /// Width of a point, s.
    pub step: f64,
    /// Number of points of the longest run.
    pub points: usize,
    /// End of the longest run, s. The last point of a run ends with the run, not at a multiple of `step`.
    pub end: f64,
    /// Number of runs that were left out to keep the page small.
    pub left_out: usize,
    /// Runs, kernel by kernel.
    pub runs: Vec<RunData>,
}

/// A run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunData {
    /// Index of the kernel.
    pub kernel: usize,
    /// Number of the run among those of the kernel, from 1.
    pub run: u32,
    /// Seed as text, since it may be larger than the exact integers of a script.
    pub seed: String,
    /// `completed`, `timeout` or `failed`.
    pub status: &'static str,
    /// Number of points.
    pub points: usize,
    /// When the run ended, s.
    pub end: f64,
    /// Counters and scores as rates, per second.
    pub rates: Vec<Line>,
    /// Memory of processes on nodes, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Other series as levels.
    pub groups: Vec<Group>,
    /// Maps of nodes over time.
    pub maps: Vec<Map>,
}

/// A named line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// Name.
    pub name: String,
    /// One value per point.
    pub values: Vec<Num>,
}

/// Memory by process and node.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Memory {
    /// Processes. The last one may be the sum of the others.
    pub processes: Vec<Process>,
    /// All processes together, `once[node][point]` in MiB, with what they share counted once. `None` if the record does
    /// not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once: Option<Vec<Vec<Num>>>,
}

/// Memory of a process.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Name.
    pub name: String,
    /// `nodes[node][point]`, MiB.
    pub nodes: Vec<Vec<Num>>,
}

/// Lines with one unit.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Group {
    /// Name of the series.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Lines.
    pub lines: Vec<Line>,
    /// Number of columns that are not drawn.
    pub left_out: usize,
}

/// Which node each row was on at each point.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Map {
    /// Name of the series.
    pub name: String,
    /// Label of each row.
    pub rows: Vec<String>,
    /// One character per point ([`cell`]).
    pub cells: Vec<String>,
    /// Number of columns of the series that one row stands for.
    pub fold: usize,
}

/// The character of a node in a map; `.` is none.
pub fn cell(node: Option<usize>) -> char {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    match node {
        None => '.',
        Some(n) if n < ALPHABET.len() => char::from(ALPHABET[n]),
        Some(n) => u32::try_from(n).ok().and_then(|n| char::from_u32(0x400 + n)).unwrap_or('.'),
    }
}

/// A figure that is written with four significant digits; one that is not finite is written as `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Num(pub f64);

impl Serialize for Num {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let x = four_digits(self.0);
        // A whole number is shorter without its fraction. Below 2^53 the conversion is exact.
        if x.fract() == 0.0 && x.abs() < 9e15 {
            serializer.serialize_i64(x as i64)
        } else {
            serializer.serialize_f64(x)
        }
    }
}

fn four_digits(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    format!("{x:.3e}").parse().unwrap_or(x)
}

/// Wraps values for serialisation.
pub fn nums(values: Vec<f64>) -> Vec<Num> {
    values.into_iter().map(Num).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let list = nums(vec![0.0, 1_234_567.0, 12.345_678, -0.000_123_456, f64::NAN, f64::INFINITY, 3.0, 99_999.0]);
        let text = serde_json::to_string(&list).unwrap();
        assert_eq!(text, "[0,1235000,12.35,-0.0001235,null,null,3,100000]");
    }

    #[test]
    fn cells_are_distinct_for_every_node_a_machine_may_have() {
        let mut seen: Vec<char> = (0..1024).map(|n| cell(Some(n))).collect();
        seen.push(cell(None));
        seen.sort_unstable();
        let all = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), all);
        assert!(!seen.contains(&'<') && !seen.contains(&'"') && !seen.contains(&'\\'));
    }

    #[test]
    fn coarser_until_it_fits() {
        let build = |limits: &Limits| Data { kernels: vec!["x".repeat(limits.points * 10_000)], ..Data::default() };
        assert_eq!(fit(build).len() / 10_000, 180);
        let hopeless = |_: &Limits| Data { kernels: vec!["x".repeat(3 * MAX_BYTES)], ..Data::default() };
        assert!(fit(hopeless).len() > MAX_BYTES);
    }
}
