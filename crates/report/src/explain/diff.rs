//! Where two runs parted: the first decision in which they differ.

use super::{seconds, Names};
use crate::html::reasons;
use numalab_model::record::events::{Event, Events, Fate, Kind, MOVE_WORDS};
use numalab_model::record::why::WhyFile;
use numalab_model::record::RecordError;

/// Events shown on each side from the first difference on.
const SHOWN: usize = 4;

/// One run of the two.
pub struct Side<'a> {
    /// What it is called, usually its kernel.
    pub name: String,
    /// Its first decisions, from the beginning.
    pub decisions: &'a mut Events,
    /// Its counts, which name mappings and tasks.
    pub why: &'a WhyFile,
}

/// Says for how long two runs decided the same, and what each did then.
///
/// # Errors
/// A log is damaged.
pub fn explain(a: Side<'_>, b: Side<'_>) -> Result<String, RecordError> {
    let (mut same, mut last) = (0u64, 0u64);
    let (first_a, first_b) = loop {
        match (a.decisions.next_event()?, b.decisions.next_event()?) {
            (Some(x), Some(y)) if x == y => {
                same += 1;
                last = x.time_ns;
            }
            (None, None) => {
                let all = format!(
                    "{} and {} made the same {same} decisions, the last at {}.\n",
                    a.name,
                    b.name,
                    seconds(last)
                );
                return Ok(all
                    + "If their results differ, they parted after the end of the logs, which hold the first \
                    decisions only.\n");
            }
            pair => break pair,
        }
    };
    let mut out = match same {
        0 => format!("{} and {} differ from their first decision on.\n", a.name, b.name),
        n => format!(
            "{} and {} made the same {n} decisions, the last at {}. Then they part:\n",
            a.name,
            b.name,
            seconds(last)
        ),
    };
    let mut said = Vec::new();
    for (side, first) in [(a, first_a), (b, first_b)] {
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

/// An event in words; the meaning of a reason is said once.
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
            "{task} scans on {}: {} mappings, {} pages marked, {:.1} µs",
            names.cpu(e.x),
            e.y,
            e.z,
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
        Kind::Scanned => format!("the scan of {task} goes through {}: {} pages marked", vma(), e.z),
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
