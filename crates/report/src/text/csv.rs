//! Comma-separated values in long form: one line per workload, machine, metric and kernel, unrounded.

use crate::data::Comparison;
use crate::figures::{cells, CellRow};

/// Heading of the columns.
const HEADING: &str =
    "workload,machine,metric,unit,better,kernel,n,mean,min,max,stddev,ratio,completed,timeout,failed,hmean";

/// The comparison as comma-separated values. A figure that does not exist is an empty field. Figures are of completed
/// runs; three columns count the runs of the kernel by how they ended. Lines end in a line feed.
pub fn report(c: &Comparison) -> String {
    let mut out = format!("{HEADING}\n");
    for row in cells(c) {
        out.push_str(&line(&row));
        out.push('\n');
    }
    out
}

fn line(row: &CellRow) -> String {
    let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
    let f = &row.figures;
    [
        quoted(&row.workload),
        quoted(&row.machine),
        quoted(&row.metric),
        quoted(&row.unit),
        row.better.to_string(),
        quoted(&row.kernel),
        f.n.to_string(),
        number(f.mean),
        number(f.min),
        number(f.max),
        number(f.stddev),
        number(f.ratio),
        row.runs.completed().to_string(),
        row.runs.timeout.to_string(),
        row.runs.failed.to_string(),
        // This column is the last one, so that the columns before it keep their places.
        number(f.hmean),
    ]
    .join(",")
}

/// Quotes a field that holds a comma, a quote or a line end. A field that a spreadsheet would take for a formula gets
/// an apostrophe in front, which a spreadsheet does not show.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_string() };
    if formula || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn no_field_is_a_formula() {
        for text in ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert_eq!(quoted(text), format!("\"'{text}\""));
        }
        assert_eq!(quoted("=a\"b"), "\"'=a\"\"b\"");
        assert_eq!((quoted("6.12+off").as_str(), quoted("a,b").as_str()), ("6.12+off", "\"a,b\""));
    }
}
