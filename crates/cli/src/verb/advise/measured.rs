//! A measured advice as text and as JSON.

use crate::context::HOST;
use crate::failure::{is_quiet, Done, Failure};
use crate::terminal;
use numalab_host::advise::counters::Costs;
use numalab_host::advise::decide::{Decision, Standing, MIN_ROUNDS};
use numalab_host::advise::measurement::Measurement;
use numalab_host::advise::session::End;
use numalab_host::advise::Way;
use numalab_model::machine::size;
use numalab_report::text::answer::{layout, Line};
use numalab_stats::Better;
use serde::Serialize;
use std::path::Path;

/// All that an advice is made of.
pub struct Measured<'a> {
    /// What was measured.
    pub found: &'a Measurement,
    /// The command line, or words for the service.
    pub program: &'a str,
    /// Unit of the score; empty for a metric of the user's.
    pub unit: &'static str,
    /// Length of a window of a running service, s.
    pub windows: Option<f64>,
    /// Directory of the records, if they are kept.
    pub kept: Option<&'a Path>,
}

/// `advise --json` of a measurement (docs/reference/json.md).
#[derive(Serialize)]
struct Json<'a> {
    advice: &'a str,
    text: String,
    prediction: bool,
    program: &'a str,
    better: &'a str,
    rounds: usize,
    settled: bool,
    ways: Vec<JsonWay<'a>>,
    how_sure: String,
    not_compared: &'a [String],
    commands: Vec<String>,
    undo: Vec<String>,
    directory: Option<String>,
}

/// A way in the JSON form.
#[derive(Serialize)]
struct JsonWay<'a> {
    way: &'a str,
    mean_score: f64,
    gain_percent: Option<f64>,
    gain_low_percent: Option<f64>,
    gain_high_percent: Option<f64>,
    scores: Vec<f64>,
    user_s: f64,
    system_s: f64,
    hint_faults: u64,
    moved_bytes: u64,
}

/// What `advise --json` prints on a machine with one memory node.
#[derive(Serialize)]
struct Nothing<'a> {
    advice: &'a str,
    text: String,
    machine: &'a str,
}

/// The advice on a machine with one memory node. The command does not run.
///
/// # Errors
/// The text has no JSON form.
pub fn nothing_to_balance(command: &[String], json: bool) -> Result<Done, Failure> {
    let not_run = if command.is_empty() { String::new() } else { format!(" `{}` was not run.", command.join(" ")) };
    let text = format!(
        "Nothing to balance: this machine has one memory node, so all of its memory is equally near to every CPU. \
         kernel.numa_balancing makes no difference here.{not_run}"
    );
    if json {
        return Done::json(&Nothing { advice: "nothing_to_balance", text, machine: HOST });
    }
    if is_quiet() {
        return Ok(Done::text("Nothing to balance.\n".into()));
    }
    let hint = "A prediction for another machine: numalab advise --machine NAME --like PROGRAM.".to_string();
    Ok(Done::text(layout(&[("Advice", text), ("", hint)], terminal::width(), &terminal::strong)))
}

impl Measured<'_> {
    /// The advice as the result of the command.
    ///
    /// # Errors
    /// A figure has no JSON form.
    pub fn done(self, json: bool) -> Result<Done, Failure> {
        if json {
            self.json()
        } else {
            Ok(Done::text(self.text()))
        }
    }

    /// Word for programs.
    fn word(&self) -> &'static str {
        match self.found.decision() {
            Decision::Take(way) => match (&self.found.plan.ways[way], way == 0) {
                (Way::On, true) => "leave_on",
                (Way::Off, true) => "leave_off",
                (Way::On, false) => "turn_on",
                (Way::Off, false) => "turn_off",
                (Way::Interleave, _) => "interleave",
                (Way::Bind(_), _) => "bind",
            },
            Decision::NoDifference => "no_difference",
            Decision::CannotTell => "cannot_tell",
        }
    }

    fn advice(&self) -> String {
        let rounds = self.found.session.rounds.len();
        match self.found.decision() {
            Decision::Take(way) => self.found.plan.ways[way].advice(&self.found.present),
            Decision::NoDifference => format!(
                "Leave it {}: no difference of {} % or more that {rounds} rounds could show.",
                self.found.present.name(),
                self.found.plan.rules.least_percent
            ),
            Decision::CannotTell if rounds < MIN_ROUNDS => {
                format!(
                    "Cannot tell from {}: at least {MIN_ROUNDS} are needed; give a larger --budget.",
                    rounds_text(rounds)
                )
            }
            Decision::CannotTell => format!(
                "Cannot tell from {rounds} rounds: the runs vary too much. Leave it {}, or give a larger --budget.",
                self.found.present.name()
            ),
        }
    }

    fn how_sure(&self) -> String {
        let rounds = rounds_text(self.found.session.rounds.len());
        let names: Vec<&str> = self.found.plan.ways.iter().map(Way::name).collect();
        let what = match self.windows {
            Some(seconds) => format!("{rounds} of windows of {seconds} s"),
            None => rounds,
        };
        let end = match self.found.session.end {
            End::Settled => "The intervals got narrow enough to stop",
            End::Budget => "The budget of time ended it",
        };
        format!("{what} with {} in turn, on this machine; intervals of 95 %. {end}.", names.join(", "))
    }

    fn json(&self) -> Result<Done, Failure> {
        let (commands, undo) = self.found.commands(self.program);
        let one = |(i, (way, s)): (usize, (&Way, Option<Standing>))| {
            let costs = self.found.session.costs(i);
            JsonWay {
                way: way.name(),
                mean_score: self.found.session.mean_score(i),
                gain_percent: s.map(|s| s.gain_percent),
                gain_low_percent: s.map(|s| s.low_percent).filter(|x| x.is_finite()),
                gain_high_percent: s.map(|s| s.high_percent).filter(|x| x.is_finite()),
                scores: self.found.session.rounds.iter().map(|r| r[i].score).collect(),
                user_s: costs.user_s,
                system_s: costs.system_s,
                hint_faults: costs.hint_faults,
                moved_bytes: costs.moved_bytes,
            }
        };
        Done::json(&Json {
            advice: self.word(),
            text: self.advice(),
            prediction: false,
            program: self.program,
            better: self.found.plan.rules.better.name(),
            rounds: self.found.session.rounds.len(),
            settled: self.found.session.end == End::Settled,
            ways: self.found.plan.ways.iter().zip(self.found.standings()).enumerate().map(one).collect(),
            how_sure: self.how_sure(),
            not_compared: &self.found.left_out,
            commands,
            undo,
            directory: self.kept.map(|dir| dir.display().to_string()),
        })
    }

    fn text(&self) -> String {
        let advice = self.advice();
        if is_quiet() {
            return format!("{advice}\n");
        }
        let mut lines: Vec<Line> = vec![("Advice", advice)];
        let all = self.found.plan.ways.iter().zip(self.found.standings()).enumerate();
        push(&mut lines, "How much", all.map(|(i, (way, s))| self.alternative(i, way, s)));
        lines.push(("How sure", self.how_sure()));
        push(
            &mut lines,
            "Cost",
            self.found.plan.ways.iter().enumerate().map(|(i, w)| cost(w, self.found.session.costs(i))),
        );
        push(&mut lines, "Not compared", self.found.left_out.iter().map(|t| format!("{}.", capital(t))));
        if self.windows.is_some() {
            let note =
                "Windows show what balancing costs now. What it has moved stays where it is in windows without it, so \
                        what it gained before is not seen. A restart under each setting shows that.";
            lines.push(("Note", note.into()));
        }
        let state = format!("kernel.numa_balancing is as it was: {}.", self.found.present.name());
        lines.push(("Restored", state));
        if let Some(dir) = self.kept {
            lines.push(("Records", format!("{0} (tables: numalab compare {0})", dir.display())));
        }
        let mut out = layout(&lines, terminal::width(), &terminal::strong);
        let (commands, undo) = self.found.commands(self.program);
        // Commands are not wrapped, so that they can be copied.
        for (head, commands) in [("Do it", commands), ("Undo it", undo)] {
            if !commands.is_empty() {
                out.push_str(&format!("{}\n", terminal::strong(head)));
                commands.iter().for_each(|c| out.push_str(&format!("  {c}\n")));
            }
        }
        out
    }

    /// A way beside the present one: its mean score, and the gain with its interval.
    fn alternative(&self, index: usize, way: &Way, standing: Option<Standing>) -> String {
        let mean = self.found.session.mean_score(index);
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let score = format!("{}: {}{unit}", way.name(), significant(mean));
        let Some(s) = standing else {
            return if index == 0 { format!("{score}, as it is now.") } else { format!("{score}.") };
        };
        let words = match self.found.plan.rules.better {
            Better::Higher => ["more", "less"],
            _ => ["faster", "slower"],
        };
        let word = words[usize::from(s.gain_percent < 0.0)];
        format!(
            "{score}, {:.1} % {word} (from {:.1} % to {:.1} %).",
            s.gain_percent.abs(),
            s.low_percent,
            s.high_percent
        )
    }
}

/// A score with four significant digits.
fn significant(x: f64) -> String {
    let digits = (3 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{x:.digits$}")
}

fn rounds_text(rounds: usize) -> String {
    format!("{rounds} round{}", if rounds == 1 { "" } else { "s" })
}

fn cost(way: &Way, c: Costs) -> String {
    format!(
        "{}: user {:.2} s, system {:.2} s, {} moved, {} hint faults on the machine.",
        way.name(),
        c.user_s,
        c.system_s,
        if c.moved_bytes == 0 { "nothing".into() } else { size::short(c.moved_bytes) },
        c.hint_faults
    )
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Adds sentences under one label.
fn push(out: &mut Vec<Line>, label: &'static str, sentences: impl Iterator<Item = String>) {
    out.extend(sentences.enumerate().map(|(i, text)| (if i == 0 { label } else { "" }, text)));
}
