//! Time series as CSV: `time_ns` and one column per quantity.
//!
//! Numbers are written in their shortest exact form, with an exponent below 10^-4, so reading them gives the same bits.

use crate::record::Series;
use std::fmt::Write as _;

/// Text of a series.
///
/// # Errors
/// Columns of different length, a name with a separator, or a value that is not finite, in words.
pub fn to_csv(series: &Series) -> Result<String, String> {
    let lengths_agree = series.values.iter().all(|v| v.len() == series.time_ns.len());
    if series.values.len() != series.columns.len() || !lengths_agree {
        return Err(format!("series {} has columns of different length", series.name));
    }
    let mut out = String::from("time_ns");
    for name in &series.columns {
        if name.contains([',', '"', '\n', '\r']) {
            return Err(format!("series {} has a column named {name:?}", series.name));
        }
        out.push(',');
        out.push_str(name);
    }
    out.push('\n');
    for (i, t) in series.time_ns.iter().enumerate() {
        let _ = write!(out, "{t}");
        for column in &series.values {
            let value = column[i];
            if !value.is_finite() {
                return Err(format!("series {} is {value} at {t} ns", series.name));
            }
            // A decayed load average can be so small that it would take hundreds of digits without an exponent.
            let _ =
                if value != 0.0 && value.abs() < 1e-4 { write!(out, ",{value:e}") } else { write!(out, ",{value}") };
        }
        out.push('\n');
    }
    Ok(out)
}

/// The series that a text holds.
///
/// # Errors
/// The text is not of the form that [`to_csv`] writes, in words.
pub fn from_csv(name: &str, unit: &str, text: &str) -> Result<Series, String> {
    let mut lines = text.lines();
    let mut header = lines.next().unwrap_or_default().split(',');
    if header.next() != Some("time_ns") {
        return Err("the first column is not time_ns".into());
    }
    let columns: Vec<String> = header.map(str::to_string).collect();
    let mut time_ns = Vec::new();
    let mut values = vec![Vec::new(); columns.len()];
    for (row, line) in lines.enumerate() {
        let bad = || format!("line {} is not {} numbers", row + 2, columns.len() + 1);
        let mut fields = line.split(',');
        time_ns.push(fields.next().and_then(|t| t.parse().ok()).ok_or_else(bad)?);
        for column in &mut values {
            let value = fields.next().and_then(|v| v.parse().ok()).filter(|v: &f64| v.is_finite());
            column.push(value.ok_or_else(bad)?);
        }
        if fields.next().is_some() {
            return Err(bad());
        }
    }
    Ok(Series { name: name.into(), unit: unit.into(), columns, time_ns, values })
}

/// Whether a name can be a file name on every system: 1 to 100 letters, digits, `_`, `-` or `.`, and no `.` in front.
pub fn is_plain(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 100 && name.chars().all(legal) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Series {
        Series {
            name: "node_pages".into(),
            unit: "pages".into(),
            columns: vec!["main.0/node0".into(), "main.0/node1".into()],
            time_ns: vec![0, 100_000_000],
            values: vec![vec![0.0, 1536.0], vec![0.1, 5.170927540337278e-80]],
        }
    }

    #[test]
    fn text_and_back() {
        let text = to_csv(&series()).unwrap();
        assert_eq!(text, "time_ns,main.0/node0,main.0/node1\n0,0,0.1\n100000000,1536,5.170927540337278e-80\n");
        assert_eq!(from_csv("node_pages", "pages", &text).unwrap(), series());
    }

    #[test]
    fn wrong_series_and_wrong_texts_are_refused() {
        let broken = |f: fn(&mut Series)| {
            let mut s = series();
            f(&mut s);
            to_csv(&s).unwrap_err()
        };
        assert!(broken(|s| s.values[0][1] = f64::NAN).contains("NaN at 100000000 ns"));
        assert!(broken(|s| s.columns[0] = "a,b".into()).contains("\"a,b\""));
        assert!(broken(|s| s.values[1].truncate(1)).contains("different length"));
        assert!(broken(|s| s.columns.truncate(1)).contains("different length"));
        for (text, part) in [
            ("", "time_ns"),
            ("t,a\n", "time_ns"),
            ("time_ns,a\n1\n", "line 2"),
            ("time_ns,a\n1,2\n3,x\n", "line 3"),
            ("time_ns,a\n1,2,3\n", "line 2"),
            ("time_ns,a\n1,NaN\n", "line 2 is not 2 numbers"),
            ("time_ns,a\n1,-inf\n", "line 2"),
            ("time_ns,a\n1,1e999\n", "line 2"),
        ] {
            assert!(from_csv("s", "", text).unwrap_err().contains(part), "{text:?}");
        }
    }

    #[test]
    fn plain_names() {
        assert!(is_plain("node_pages") && is_plain("a.b-c"));
        assert!(!is_plain("") && !is_plain("a/b") && !is_plain(".hidden") && !is_plain("ä"));
    }
}
