//! The score that a published file expects.
//!
//! Problem: misses are part of the result, so nothing would fail if a later release had more of them.
//! Approach: a file may state how many predicted cells came out well when it was last scored. Fewer are a regression.

use crate::spec::{SpecError, Table};

/// Predicted cells that came out well when the file was last scored, with the runs it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Cells whose direction is the published one.
    pub direction_right: usize,
    /// Cells whose ratio is within 1.25 of the published one.
    pub within_1_25: usize,
    /// Cells whose ratio is within 2.
    pub within_2: usize,
    /// Cells whose ratio is in the band that the file states; 0 if it states none.
    pub in_band: usize,
    /// Runs of each column that were scored; `None` for the runs that the file asks for.
    pub runs: Option<u32>,
}

/// Reads `expect = { … }`; every count but `in_band` and `runs` is needed.
///
/// # Errors
/// A key that is missing or unknown, or a value that is no count.
pub(super) fn read(t: Table) -> Result<Expect, SpecError> {
    let count = |key| Ok::<_, SpecError>(t.int(key, 0..=1_000_000)?.value as usize);
    let expect = Expect {
        direction_right: count("direction_right")?,
        within_1_25: count("within_1_25")?,
        within_2: count("within_2")?,
        in_band: t.opt_int("in_band", 0..=1_000_000)?.map_or(0, |n| n.value as usize),
        runs: t.opt_int("runs", 1..=1000)?.map(|n| n.value as u32),
    };
    t.finish()?;
    Ok(expect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Kind};

    #[test]
    fn an_expected_score_is_read_whole_or_refused() {
        let catalog = Catalog::embedded();
        let file = catalog.get(Kind::Published, "shared-cow-2018").unwrap();
        let without: String =
            file.text.lines().filter(|l| !l.starts_with("expect")).map(|l| format!("{l}\n")).collect();
        let with =
            |line: &str| super::super::parse("f", &without.replacen("baseline", &format!("{line}\nbaseline"), 1));
        let want = Expect { direction_right: 2, within_1_25: 1, within_2: 0, in_band: 0, runs: None };
        let got = with("expect = { direction_right = 2, within_1_25 = 1, within_2 = 0 }").unwrap();
        assert_eq!(got.expect, Some(want));
        assert_eq!(with("").unwrap().expect, None);
        for (line, what) in [
            ("expect = { direction_right = 2, within_2 = 0 }", "within_1_25"),
            ("expect = { direction_right = -2, within_1_25 = 1, within_2 = 0 }", "0 to 1000000"),
            ("expect = { direction_right = 2, within_1_25 = 1, within_2 = 0, within_3 = 1 }", "within_3"),
        ] {
            let e = with(line).unwrap_err().to_string();
            assert!(e.contains(what), "{e}");
        }
    }
}
