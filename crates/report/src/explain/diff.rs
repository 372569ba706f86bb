//! The first decision in which two runs differ.

use super::names::Names;
use super::words::{count, seconds};
use crate::reasons;
use numalab_model::record::events::{Event, Events, Fate, Kind, MOVE_WORDS};
use numalab_model::record::why::WhyFile;
use numalab_model::record::RecordError;

/// Number of events that are shown on each side, from the first difference on.
const SHOWN: usize = 4;

/// One of the two runs.
pub struct Side<'a> {
    /// Its name, usually that of its kernel.
    pub name: String,
    /// The log of its first decisions.
    pub decisions: &'a mut Events,
    /// The counts by reason, which name its mappings and tasks.
    pub why: &'a WhyFile,
}

/// The decisions that are the same in both runs, up to the first difference.
#[derive(Default)]
struct SameDecisions {
    decisions: u64,
    /// When the last of them was made, in each run, ns.
    last_ns: [u64; 2],
    /// The first of them that differs in time or duration, in each run.
    shifted: Option<(Event, Event)>,
}

impl SameDecisions {
    fn add(&mut self, x: Event, y: Event) {
        self.decisions += 1;
        self.last_ns = [x.time_ns, y.time_ns];
        if x != y && self.shifted.is_none() {
            self.shifted = Some((x, y));
        }
    }

    /// The sentence: "6.1 and 6.7 made the same 12 decisions, the last at 1.024 s.", with the first difference in time
    /// if there is one.
    fn words(&self, a: &str, b: &str) -> String {
        let [x, y] = self.last_ns.map(seconds);
        let last = if x == y { x } else { format!("{x} / {y}") };
        let mut out = format!("{a} and {b} made the same {}, the last at {last}", count(self.decisions, "decision"));
        if let Some((x, y)) = self.shifted {
            let by = |from: u64, to: u64, more: &str, less: &str| {
                format!("{} ns {}", from.abs_diff(to), if to < from { less } else { more })
            };
            let how = if x.time_ns == y.time_ns {
                format!("takes {}", by(x.ns, y.ns, "longer", "less"))
            } else {
                format!("is {}", by(x.time_ns, y.time_ns, "later", "earlier"))
            };
            out.push_str(&format!("; their times differ from {} on, where {b} {how}", seconds(x.time_ns)));
        }
        out + "."
    }
}

/// Says how many decisions of two runs are the same, when their times begin to differ, and what each run did after
/// that.
///
/// # Errors
/// A log is damaged or cannot be read.
pub fn explain(a: Side<'_>, b: Side<'_>) -> Result<String, RecordError> {
    let mut same = SameDecisions::default();
    let firsts = loop {
        match (a.decisions.next_event()?, b.decisions.next_event()?) {
            (Some(x), Some(y)) if decided(x) == decided(y) => same.add(x, y),
            pair => break pair,
        }
    };
    let sentence = same.words(&a.name, &b.name);
    let mut out = match (same.decisions, firsts) {
        (_, (None, None)) => {
            return Ok(sentence
                + "\nIf their results differ, their decisions do so after the end of the logs, which hold the first decisions only.\n");
        }
        (0, _) => format!("{} and {} differ from their first decision on.\n", a.name, b.name),
        _ => sentence + " Then they differ:\n",
    };
    let mut said = Vec::new();
    for (side, first) in [(a, firsts.0), (b, firsts.1)] {
        out.push_str(&format!("{}:\n", side.name));
        let names = Names::new(side.why);
        let mut next = first;
        for _ in 0..SHOWN {
            let Some(e) = next else {
                out.push_str("  nothing more is in its log\n");
                break;
            };
            out.push_str(&format!("  {:>10}  {}\n", seconds(e.time_ns), words(&names, &e, &mut said)));
            next = side.decisions.next_event()?;
        }
    }
    Ok(out)
}

/// The decision without its time and its duration.
fn decided(e: Event) -> Event {
    Event { time_ns: 0, ns: 0, ..e }
}

/// An event in words. `said` are the reasons whose meaning has been said already.
fn words(names: &Names<'_>, e: &Event, said: &mut Vec<u16>) -> String {
    let task = names.task(e.task);
    let h = &names.file.header;
    let word = |list: &[String], i: usize| list.get(i).cloned().unwrap_or_default();
    let vma = || {
        let v = names.why().vmas.iter().find(|v| (v.process, v.id) == (e.x, e.y));
        v.map_or_else(|| format!("mapping {} of {}", e.y, names.process(e.x)), |v| names.vma(v))
    };
    let node = |n: u32| names.preferred((n != numalab_model::record::events::NONE).then_some(n));
    match e.kind {
        Kind::Moved => {
            let why = MOVE_WORDS.get(usize::from(e.code)).unwrap_or(&"");
            format!("{task} goes from {} to {} by {why}", names.cpu(e.x), names.cpu(e.y))
        }
        Kind::Scan => format!(
            "{task} scans on {}: {}, {} marked, {:.1} µs",
            names.cpu(e.x),
            count(e.y.into(), "mapping"),
            count(e.z, "page"),
            e.ns as f64 / 1e3
        ),
        Kind::Skip => {
            let reason = word(&h.skips, usize::from(e.code));
            let mut text = format!("the scan of {task} passes over {}: {reason}", vma());
            if !said.contains(&e.code) {
                said.push(e.code);
                let meaning = reasons::meaning(&format!("skip.{reason}"));
                text.push_str(&meaning.map(|m| format!("\n              {m}")).unwrap_or_default());
            }
            text
        }
        Kind::Scanned => format!("the scan of {task} goes through {}: {} marked", vma(), count(e.z, "page")),
        Kind::Fault => {
            let (page, cpu) = e.nodes();
            let end = match Fate::of(e.code) {
                Fate::Local => "local".to_string(),
                Fate::Migrated => "the page moves there".into(),
                Fate::Failed => "the move fails".into(),
                Fate::Stayed => "the page stays".into(),
                Fate::Denied(i) => format!("the page stays, {}", word(&h.denials, usize::from(i))),
                Fate::Refused(i) => format!("the move is refused, {}", word(&h.refusals, usize::from(i))),
            };
            format!(
                "hint fault of {task} on {} at {:#x} on {}: {end}",
                names.node(cpu as u32),
                e.z,
                names.node(page as u32)
            )
        }
        Kind::Preferred => format!("{task} prefers {} instead of {}", node(e.y), node(e.x)),
        Kind::Placed => format!("NUMA placement of {task}: {}", word(&h.placements, usize::from(e.code))),
        Kind::Grouped if e.code == 0 => format!("{task} is the first of a group"),
        Kind::Grouped => format!("{task} joins a group"),
        Kind::Born | Kind::Ended | Kind::Switch | Kind::Faults | Kind::End => format!("{task}: {:?}", e.kind),
    }
}
