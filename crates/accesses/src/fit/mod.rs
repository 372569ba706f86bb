//! A workload from a record of accesses.
//!
//! Problem: a trace of every access says everything and explains nothing, and fits no other size or machine.
//! Approach: [`regions`] finds the mappings and what was touched of them. [`timeline`] cuts the time of each thread
//! where its behaviour changes. [`classes`] joins threads that behave alike, and mappings that play the same role for
//! different threads. [`pattern`] describes what is left in the words of the language: which part of a region, in
//! which order, how often. [`messages`] finds who waits for whom. [`text`] writes it, a page of TOML.
//! Units: bytes, lines of 64 bytes, instructions; shares from 0 to 1.
//! Invariants: what is measured and what is assumed stands in the text. A record of any content gives a fit or an
//! error.

mod change;
mod classes;
mod coarse;
mod fitted;
mod forks;
mod heat;
mod idle;
mod idle_text;
mod image;
mod inherited;
mod lineage;
mod messages;
mod motion;
mod parts;
mod pattern;
mod region;
mod scale;
mod shared;
mod sizes;
mod steps;
mod stretch;
mod text;
mod timeline;
mod usage;
mod windows;
mod written_lines;
mod written_parts;

pub use change::Change;
pub use classes::{Class, Kept};
pub use coarse::MOST_LINES;
pub use fitted::Fit;
pub use image::FittedProcess;
pub use pattern::{Motion, Part, Phase, Tier, Visit};
pub use region::{Placing, Region};
pub use scale::{Scaled, INSTRUCTION_NS as INSTRUCTION_NS_VALUE};
pub use shared::SharedMemory;
pub use usage::Order;

use crate::format::Work;
use crate::kernel_work;
use crate::record::AccessRecord;

/// Share of the record's lines below which an image is left out.
const LEAST_SHARE: f64 = 0.02;

/// Instructions of the kernel against the program's own from which a fit tells of them.
const LEAST_KERNEL: f64 = 0.01;

/// Why a record gives no workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// No process uses memory to speak of.
    #[error(
        "no process of the record visits memory of 1 MiB or more ({0} program images, {1} lines); \
         expected a program whose data is larger than a core's caches"
    )]
    NoMemory(usize, u64),
}

/// Fits a workload to a record.
///
/// # Errors
/// No process uses memory to speak of.
pub fn fit(record: &AccessRecord) -> Result<Fit, FitError> {
    let all: u64 = record.images.iter().map(|i| i.lines()).sum();
    let caches = pattern::Caches { near_bytes: record.manifest.near_bytes, far_bytes: record.manifest.far_bytes };
    let least = LEAST_SHARE * all as f64;
    let (sharing, inheritance) = (shared::find(record, least), inherited::find(record, least));
    let mut kinds = lineage::Kinds::new(&inheritance);
    let (mut left_out, mut kept_lines) = (0, 0);
    for image in &record.images {
        let lines = image.lines();
        let fitted = if lines as f64 >= least || inheritance.is_owner(image.number) {
            image::fit(image, (&caches, record.control.costs), (&record.sites, &sharing, &inheritance))
        } else {
            None
        };
        let Some((fitted, heirlooms)) = fitted else {
            left_out += 1;
            continue;
        };
        kept_lines += lines;
        kinds.add(image.number, fitted, &heirlooms);
    }
    let mut processes = kinds.processes;
    if processes.is_empty() {
        return Err(FitError::NoMemory(record.images.len(), all));
    }
    image::name_apart(&mut processes);
    let name = record.manifest.name.clone();
    let is_used = |m: &SharedMemory| processes.iter().flat_map(|p| &p.regions).any(|r| r.is_shared && r.name == m.name);
    let shared = sharing.into_values().filter(is_used).collect();
    let mut fit = Fit { name, processes, shared, measured: Vec::new(), assumed: Vec::new(), histograms: None };
    fit.measured = measured(record, kept_lines, all);
    fit.assumed = assumed(&fit, left_out, inheritance.grows);
    if record.manifest.sampled {
        fit.assumed.push("samples show no order of lines, so all accesses are at random".into());
        fit.assumed.push("instructions are the CPU time that was measured, at the assumed time of one".into());
    }
    Ok(fit)
}

fn measured(record: &AccessRecord, kept: u64, all: u64) -> Vec<String> {
    let guest = match record.manifest.guest.as_str() {
        "" => String::new(),
        kernel => format!(", in a guest of {kernel}"),
    };
    let mut out = vec![format!(
        "{:.1} M instructions and {:.2} M lines visited under {}{guest}",
        record.control.insns as f64 / 1e6,
        all as f64 / 1e6,
        record.manifest.qemu.split(" (").next().unwrap_or_default()
    )];
    out.push("sizes, threads, parts of memory, order of lines, shares of writes, instructions between lines".into());
    let seen: u64 = record.images.iter().map(|i| i.seen_insns()).sum();
    let insns: u64 = record.images.iter().map(|i| i.insns()).sum();
    if record.images.iter().any(|i| i.slices.values().any(|s| s.is_spared)) {
        let share = seen as f64 * 100.0 / insns.max(1) as f64;
        out.push(format!(
            "accesses of {share:.0} % of the instructions; between these stretches the program goes on alike"
        ));
    }
    let slices = || record.images.iter().flat_map(|i| i.slices.iter().map(move |(at, s)| (s, i.work.get(at))));
    let calls: u64 = slices().map(|(s, w)| kernel_work::calls(s, w.unwrap_or(&Work::default()))).sum();
    if calls > 0 {
        out.push(format!("{calls} system calls, by kind and bytes"));
    }
    if kept < all {
        out.push(format!("{:.0} % of the lines are those of the processes below", kept as f64 * 100.0 / all as f64));
    }
    let lost: u64 = record.images.iter().map(|i| i.head.lost_lines).sum();
    if lost > 0 {
        out.push(format!("{lost} further lines found no room in the record, so counts are too low"));
    }
    out
}

fn assumed(fit: &Fit, left_out: usize, grows: bool) -> Vec<String> {
    let mut out = vec!["an instruction takes `instruction_time`: under emulation no time is measured".to_string()];
    let phases = || fit.processes.iter().flat_map(|p| &p.classes).flat_map(|c| &c.phases);
    if phases().map(|p| p.kernel).sum::<f64>() >= LEAST_KERNEL * phases().map(|p| p.insns).sum::<f64>() {
        out.push(
            "the kernel's instructions for a system call are those of Debian's 6.12; they are a part of the costs"
                .into(),
        );
    }
    if phases().any(|p| p.awaited > 0.0) {
        out.push("a thread sleeps for messages as long as others take to send them, by their instructions".into());
    }
    if fit.processes.iter().any(|p| p.begins >= text::LEAST_BEGIN) {
        out.push("a process begins when others have done what they did before they began it".into());
    }
    if left_out > 0 {
        out.push(format!("{left_out} program images with little or small memory do not matter"));
    }
    for m in &fit.shared {
        out.push(format!("{}: {} processes share it, as memory without a file", m.name, m.users));
    }
    if grows {
        out.push(
            "a process that is forked later than others finds what its parent had touched before the first".into(),
        );
    }
    for p in &fit.processes {
        out.extend(p.assumed.iter().map(|a| format!("{}: {a}", p.name)));
    }
    out
}
