//! The user's own metric: a number that a shell command prints, or a figure of a Prometheus page.

use super::http::{self, Url};
use super::Error;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest time of a command. One that measures takes its time, and one that hangs ends the session.
const LONGEST: Duration = Duration::from_secs(3600);
/// Most that a command may print, bytes.
const LARGEST: u64 = 16 << 20;
/// Time between two looks whether a command that has said all has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Where a service's throughput comes from.
#[derive(Clone, Debug)]
pub enum Metric {
    /// The last number that a shell command prints.
    Command {
        /// The command.
        line: String,
        /// Whether the number only grows; its growth a second is the score then.
        counter: bool,
    },
    /// A figure of a Prometheus page: the sum of all series of that name that have these labels.
    Page {
        /// The page.
        url: Url,
        /// Name, and labels as `key="value"` that a series must have.
        series: Series,
    },
}

/// Name and labels of series on a Prometheus page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Name.
    pub name: String,
    /// Labels, each as `key="value"`.
    pub labels: Vec<String>,
}

/// A number, and whether it only grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The number.
    pub value: f64,
    /// Whether it is a counter.
    pub is_counter: bool,
}

impl Metric {
    /// Reads it now. A command that measures takes its time.
    ///
    /// # Errors
    /// The command or the page fails, or has no such number.
    pub fn read(&self) -> Result<Reading, Error> {
        match self {
            Metric::Command { line, counter } => {
                let value = last_number(line, &pipe_through(line, Stdio::null())?)?;
                Ok(Reading { value, is_counter: *counter })
            }
            Metric::Page { url, series } => {
                let text = http::get(url)?;
                series.sum(&text).ok_or_else(|| {
                    Error::Program(format!("{url} has no series {}; expected one of its names", series.name))
                })
            }
        }
    }

    /// Whether a reading is taken at the begin of a window too.
    pub fn may_be_counter(&self) -> bool {
        match self {
            Metric::Command { counter, .. } => *counter,
            Metric::Page { .. } => true,
        }
    }
}

impl Series {
    /// Reads `name` or `name{key="value",…}`.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected =
            || "a name of a Prometheus page, such as pg_stat_database_xact_commit{datname=\"app\"}".to_string();
        let (name, rest) = text.split_once('{').unwrap_or((text, "}"));
        let labels = rest.strip_suffix('}').ok_or_else(expected)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(expected());
        }
        let labels = labels.split(',').map(str::trim).filter(|l| !l.is_empty()).map(str::to_string).collect();
        Ok(Self { name: name.into(), labels })
    }

    /// Sum of all series that match, on a page in the text format.
    pub fn sum(&self, text: &str) -> Option<Reading> {
        let mut found = None;
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let Some(rest) = line.strip_prefix(self.name.as_str()) else { continue };
            let (labels, rest) = match rest.strip_prefix('{') {
                Some(inner) => inner.rsplit_once('}').unwrap_or(("", inner)),
                None if rest.starts_with([' ', '\t']) => ("", rest),
                None => continue,
            };
            let has = |label: &String| labels.split(',').any(|l| l.trim() == label);
            if !self.labels.iter().all(has) {
                continue;
            }
            let value = rest.split_whitespace().next().and_then(|v| v.parse::<f64>().ok())?;
            found = Some(found.unwrap_or(0.0) + value);
        }
        let mut types = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).map(|l| l.split_whitespace());
        let stated =
            types.find_map(|mut t| (t.next() == Some(self.name.as_str())).then(|| t.next() == Some("counter")));
        found.map(|value| Reading { value, is_counter: stated.unwrap_or(self.name.ends_with("_total")) })
    }
}

/// What a shell command prints when it reads `input`. It has an hour.
///
/// # Errors
/// The shell does not start, or the command fails, does not end, or prints more than 16 MiB.
pub fn pipe_through(line: &str, input: impl Into<Stdio>) -> Result<String, Error> {
    pipe_within(line, input, LONGEST)
}

/// As [`pipe_through`], for a command that may take so long.
fn pipe_within(line: &str, input: impl Into<Stdio>, limit: Duration) -> Result<String, Error> {
    let machine = |e| Error::Machine(format!("sh: {e}"));
    let end = Instant::now() + limit;
    let mut child =
        Command::new("sh").args(["-c", line]).stdin(input).stdout(Stdio::piped()).spawn().map_err(machine)?;
    let text = said(&mut child, end);
    let status = ended(&mut child, end).map_err(machine)?;
    let (Some(text), Some(status)) = (text, status) else {
        let text = format!("the metric `{line}` has not ended after {} s; expected a number", limit.as_secs_f64());
        return Err(Error::Program(text));
    };
    let bytes = text.map_err(machine)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::Program(format!("the metric `{line}` prints more than {LARGEST} bytes; expected a number")));
    }
    if !status.success() {
        return Err(Error::Program(format!("the metric `{line}`: {status}")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a command prints, and a byte more than may be; `None` if it has not said all by `end`.
fn said(child: &mut Child, end: Instant) -> Option<std::io::Result<Vec<u8>>> {
    let output = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    // A thread of its own, because programs that the command leaves behind may hold its output open for ever.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(LARGEST + 1).read_to_end(&mut bytes).map(|_| bytes);
        // Nobody listens any more if time is up.
        let _ = send.send(read);
    });
    receive.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
}

/// How a command has ended by `end`; it is killed then, and has not ended by itself.
fn ended(child: &mut Child, end: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// The last number of a text.
///
/// # Errors
/// There is none.
pub fn last_number(line: &str, text: &str) -> Result<f64, Error> {
    let number = |word: &str| word.parse::<f64>().ok().filter(|n| n.is_finite());
    let last = text.split_whitespace().rev().find_map(number);
    last.ok_or_else(|| Error::Program(format!("the metric `{line}` printed no number: {:?}", text.trim())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PAGE: &str =
        "# HELP commits Commits.\n# TYPE commits counter\ncommits{db=\"a\",node=\"x\"} 10\ncommits{db=\"b\"} 5 99\n\
                        commits_other 7\nload 0.5\nqueries_total 3\n";

    #[test]
    fn series_are_summed_by_name_and_labels() {
        let sum = |text: &str| Series::parse(text).unwrap().sum(PAGE).map(|r| (r.value, r.is_counter));
        assert_eq!(sum("commits"), Some((15.0, true)));
        assert_eq!(sum("commits{db=\"a\"}"), Some((10.0, true)));
        assert_eq!(sum("load"), Some((0.5, false)));
        assert_eq!(sum("queries_total"), Some((3.0, true)));
        assert_eq!(sum("absent"), None);
        assert!(Series::parse("a b").is_err() && Series::parse("a{").is_err() && Series::parse("").is_err());
    }

    #[test]
    fn a_command_has_an_end_in_time_and_size() {
        let limit = Duration::from_millis(300);
        // It sleeps, prints for ever, says all and goes on, or leaves a program behind that holds its output.
        for line in ["sleep 60", "while :; do echo 1; sleep 0.01; done", "exec >&-; sleep 60", "sleep 60 & echo 1"] {
            let begin = Instant::now();
            let e = pipe_within(line, Stdio::null(), limit).unwrap_err().to_string();
            assert!(e.contains("has not ended after 0.3 s") && e.contains(line), "{e}");
            assert!(begin.elapsed() < Duration::from_secs(30), "{line}");
        }
        let e = pipe_through("yes", Stdio::null()).unwrap_err().to_string();
        assert!(e.contains("more than 16777216 bytes"), "{e}");
        assert_eq!(pipe_within("echo 7; exec >&-; sleep 0.1", Stdio::null(), LONGEST).unwrap(), "7\n");
    }

    #[test]
    fn the_last_number_counts() {
        assert_eq!(last_number("x", "tps = 5 (of 7.25)\n6.5 tps\n").unwrap(), 6.5);
        let e = last_number("x", "none").unwrap_err().to_string();
        assert!(e.contains("no number"), "{e}");
        assert!(pipe_through("exit 3", Stdio::null()).is_err());
    }
}
