//! Options that several verbs share.

use crate::failure::Failure;
use clap::ValueEnum;
use numalab_host::procfs::scope::Scope;
use numalab_host::procfs::{process, Roots};
use numalab_model::experiment::SEED_MAX;
use numalab_report::StarRule;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rule by which a cell gets a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Star {
    /// p < 0.10, as in mmtests from 2018 to 2024
    B,
    /// Intervals of mean ± 1.96 standard deviations do not overlap, as in mmtests since November 2024
    C,
    /// Welch's test, p < 0.05
    Welch,
}

impl From<Star> for StarRule {
    fn from(star: Star) -> Self {
        match star {
            Star::B => StarRule::GenB,
            Star::C => StarRule::GenC,
            Star::Welch => StarRule::Welch,
        }
    }
}

/// Number of runs at a time: `asked`, or one per CPU of this host.
pub fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Directory of the records: `asked`, or `out/NAME`.
pub fn directory(asked: Option<&Path>, name: &str) -> PathBuf {
    asked.map_or_else(|| Path::new("out").join(name), Path::to_path_buf)
}

/// Reads the value of `--iterations`: 1 to [`numalab_model::experiment::ITERATIONS_MAX`].
///
/// # Errors
/// What was expected, if the text is no whole number of the range.
pub fn iterations(text: &str) -> Result<u32, String> {
    let max = numalab_model::experiment::ITERATIONS_MAX;
    match text.parse::<u32>() {
        Ok(n) if (1..=max).contains(&n) => Ok(n),
        _ => Err(format!("a whole number from 1 to {max}")),
    }
}

/// Reads the value of `--jobs`: 1 to 1024.
///
/// # Errors
/// What was expected, if the text is no whole number of the range.
pub fn job_count(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(n) if n.get() <= 1024 => Ok(n),
        _ => Err("a whole number from 1 to 1024".into()),
    }
}

/// Reads the value of `--seed`: 0 to [`SEED_MAX`].
///
/// # Errors
/// What was expected, if the text is no whole number of the range.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse::<u64>().ok().filter(|s| *s <= SEED_MAX).ok_or_else(|| format!("a whole number from 0 to {SEED_MAX}"))
}

/// Reads a time such as `90s`, `1.5m` or `2h`, in s.
///
/// # Errors
/// What was expected, if the text is no such time, or not above 0 and at most a week.
pub fn seconds(text: &str) -> Result<f64, String> {
    const WEEK_S: f64 = 7.0 * 24.0 * 3600.0;
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let one = |(unit, s): (&str, f64)| text.strip_suffix(unit)?.parse::<f64>().ok().map(|n| n * s);
    let found = units.into_iter().find_map(one).filter(|s| *s > 0.0 && *s <= WEEK_S);
    found.ok_or_else(|| "a time such as 90s, 10m or 2h, of at most a week".into())
}

/// Reads a percentage above 0 and at most 100.
///
/// # Errors
/// What was expected, if the text is no such number.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse::<f64>().ok().filter(|n| *n > 0.0 && *n <= 100.0);
    number.ok_or_else(|| "a number above 0 and at most 100".into())
}

/// Reads a text file given on the command line.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> Result<String, Failure> {
    Ok(numalab_model::machine::read_text(path)?)
}

/// Reads `NAME=VALUE`.
///
/// # Errors
/// What was expected.
pub fn variable(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("NAME=VALUE")?;
    Ok((name.into(), value.into()))
}

/// Reads a time such as `500ms`, `10s`, `5m` or `2h`; from 1 ms to 30 days.
///
/// # Errors
/// What was expected.
pub fn time_option(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "a time from 1ms to 720h, such as 500ms, 10s, 5m or 2h";
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| EXPECTED.to_string())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" | "" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(EXPECTED.into()),
    };
    if (0.001..=720.0 * 3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(EXPECTED.into())
    }
}

/// The processes that `--pid` or `--cgroup` names; `None` without either.
///
/// # Errors
/// There is no such process, or no such control group.
pub fn scope(roots: &Roots, pid: Option<u32>, cgroup: Option<&str>) -> Result<Option<Scope>, Failure> {
    let scope = match (pid, cgroup) {
        (Some(pid), _) if process::stat(roots, pid).is_none() => {
            let what = format!("--pid {pid}: no such process; expected the id of one that runs (`pgrep NAME`)");
            return Err(Failure::usage(what));
        }
        (Some(pid), _) => Scope::Tree(pid),
        (None, Some(name)) => Scope::Cgroup(name.into()),
        (None, None) => return Ok(None),
    };
    if let Scope::Cgroup(_) = &scope {
        scope.processes(roots).map_err(|e| Failure::usage(format!("--cgroup: {e}")))?;
    }
    Ok(Some(scope))
}

/// Name of a file without its folder and `.toml`.
pub fn stem(name: &str) -> String {
    let file = Path::new(name).file_name().map_or_else(|| name.into(), |f| f.to_string_lossy().into_owned());
    file.strip_suffix(".toml").map(str::to_string).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let ms = |text| time_option(text).map(|t| t.as_millis());
        assert_eq!(
            (ms("500ms"), ms("1.5s"), ms("2m"), ms("1h"), ms("3")),
            (Ok(500), Ok(1500), Ok(120_000), Ok(3_600_000), Ok(3000))
        );
        for bad in ["", "s", "0s", "-1s", "1x", "721h", "1e9s", "NaN", "1..2s"] {
            assert!(time_option(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_scope_must_exist() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().into(), sys: dir.path().into() };
        assert_eq!(scope(&roots, None, None).unwrap(), None);
        assert!(scope(&roots, Some(7), None).unwrap_err().message.starts_with("--pid 7: no such process"));
        assert!(scope(&roots, None, Some("x")).unwrap_err().message.contains("expected a control group below"));
    }
}
