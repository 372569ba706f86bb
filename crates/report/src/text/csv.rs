//! Comma-separated values in long form: one line per workload, machine, metric and kernel, unrounded.

use crate::data::Comparison;
use crate::figures::{cells, CellRow};

/// Heading of the columns. The last one came later, so that the columns before it keep their places.
const HEADING: [&str; 16] = [
    "workload",
    "machine",
    "metric",
    "unit",
    "better",
    "kernel",
    "n",
    "mean",
    "min",
    "max",
    "stddev",
    "ratio",
    "completed",
    "timeout",
    "failed",
    "hmean",
];

/// The comparison as comma-separated values. A figure that does not exist is an empty field. Figures are of completed
/// runs; three columns count the runs of the kernel by how they ended. Lines end in a line feed.
///
/// # Errors
/// Never in practice: every row has all columns, and memory takes any text.
pub fn report(c: &Comparison) -> Result<String, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(HEADING)?;
    for row in cells(c) {
        out.write_record(fields(&row))?;
    }
    let bytes = out.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn fields(row: &CellRow) -> [String; 16] {
    let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
    let f = &row.figures;
    [
        harmless(&row.workload),
        harmless(&row.machine),
        harmless(&row.metric),
        harmless(&row.unit),
        row.better.to_string(),
        harmless(&row.kernel),
        f.n.to_string(),
        number(f.mean),
        number(f.min),
        number(f.max),
        number(f.stddev),
        number(f.ratio),
        row.runs.completed().to_string(),
        row.runs.timeout.to_string(),
        row.runs.failed.to_string(),
        number(f.hmean),
    ]
}

/// A field that a spreadsheet would take for a formula gets an apostrophe in front, which a spreadsheet does not show.
fn harmless(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if formula {
        format!("'{text}")
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Kernel, Metric, Workload};

    #[test]
    fn no_field_is_a_formula() {
        for text in ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert_eq!(harmless(text), format!("'{text}"));
        }
        assert_eq!((harmless("6.12+off").as_str(), harmless("a,b").as_str()), ("6.12+off", "a,b"));
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let metrics = vec![Metric::new("elapsed", "s", false, vec![vec![1.5]])];
        let w = Workload { name: "a,\"b\"".into(), metrics, ..Workload::default() };
        let c = Comparison { kernels: vec![Kernel::named("=k")], workloads: vec![w], ..Comparison::default() };
        let text = report(&c).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], HEADING.join(","));
        assert!(lines[1].starts_with("\"a,\"\"b\"\"\",") && lines[1].contains(",'=k,1,1.5,"), "{text}");
        assert!(text.ends_with('\n') && !text.contains('\r'));
    }
}
