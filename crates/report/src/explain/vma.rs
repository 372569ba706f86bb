//! Why a mapping was scanned, or was not.

use super::names::Names;
use super::words::{bytes, count, reasons_text, seconds, times, unknown};
use numalab_model::record::why::{VmaWhy, WhyFile};
use numalab_model::spec::SpecError;

/// Describes the mapping `PROCESS/NAME` (or `NAME` in every process that has one), or lists all mappings if `name` is
/// empty. `shortcut` says that the kernel leaves private pages alone that are on the node of a process' only thread.
///
/// # Errors
/// No mapping has that name.
pub fn explain(file: &WhyFile, name: &str, shortcut: bool) -> Result<String, SpecError> {
    let names = Names::new(file);
    // Mappings in which something happened come first, then the large ones.
    let mut vmas: Vec<&VmaWhy> = file.why.vmas.iter().collect();
    vmas.sort_by_key(|v| std::cmp::Reverse((v.updates, v.faults, v.end - v.start)));
    if name.is_empty() {
        return Ok(vmas.iter().map(|v| line(&names, v) + "\n").collect());
    }
    let found: Vec<&VmaWhy> = vmas.iter().copied().filter(|v| v.name == name || names.vma(v) == name).collect();
    if found.is_empty() {
        let all: Vec<String> = vmas.iter().map(|v| names.vma(v)).collect();
        return Err(unknown("--vma", name, "mapping", all.iter().map(String::as_str)));
    }
    Ok(found.iter().map(|v| one(&names, v, shortcut)).collect::<Vec<_>>().join("\n"))
}

/// How often the scanner passed over a mapping. `ignore_pid_inactive` counts scans that took place, so it is left out.
fn passed_over(v: &VmaWhy) -> u64 {
    v.skips.iter().filter(|s| s.0 != "ignore_pid_inactive").map(|s| s.1.count).sum()
}

fn line(names: &Names<'_>, v: &VmaWhy) -> String {
    format!(
        "{} ({}): scanned {}, passed over {}, {} marked, {}",
        names.vma(v),
        bytes(v.end - v.start),
        count(v.scanned.count, "time"),
        count(passed_over(v), "time"),
        count(v.updates, "page"),
        count(v.faults, "hint fault")
    )
}

fn one(names: &Names<'_>, v: &VmaWhy, shortcut: bool) -> String {
    let mut out = format!("{}, {} at {:#x}.\n", names.vma(v), bytes(v.end - v.start), v.start);
    match (v.scanned.count, passed_over(v)) {
        (0, 0) => out.push_str(&format!(
            "It was never scanned, and the scanner never came to it: {}\n",
            never_reached(names, v)
        )),
        (0, n) => out.push_str(&format!(
            "It was never scanned: the scanner came to it {} and passed over it each time.\n",
            count(n, "time")
        )),
        (_, n) => {
            let pages = (v.end - v.start) / names.why().base_page_bytes.max(1);
            let were = if v.updates == 1 { "was" } else { "were" };
            out.push_str(&format!(
                "It was scanned {}; {} {} marked",
                times(&v.scanned),
                count(v.updates, "page"),
                were
            ));
            out.push_str(&format!(
                ", {:.1} times each of its {pages} pages.\n",
                v.updates as f64 / pages.max(1) as f64
            ));
            out.push_str(&format!("Threads took {} there.\n", count(v.faults, "hint fault")));
            if n > 0 {
                out.push_str(&format!("The scanner passed over it {}.\n", count(n, "time")));
            }
        }
    }
    if !v.skips.is_empty() {
        out.push_str("Why it was passed over:\n");
        out.push_str(&reasons_text(&v.skips, "skip"));
    }
    let threads = names.why().tasks.iter().filter(|t| t.process == v.process).count();
    if v.scanned.count > 0 && v.updates == 0 {
        out.push_str(if shortcut && threads == 1 {
            "Scans found nothing to mark: the process has a single thread, and then the kernel leaves private pages alone \
             that are on the thread's own node (single-user shortcut, since 4.10).\n"
        } else {
            "Scans found nothing to mark: no page was there, or all were marked already or on nodes left alone.\n"
        });
    }
    out
}

/// Why the scanner never reached a mapping.
fn never_reached(names: &Names<'_>, v: &VmaWhy) -> String {
    let why = names.why();
    if !why.balancing {
        return "NUMA balancing is off on this kernel.".into();
    }
    let own = || why.tasks.iter().filter(|t| t.process == v.process);
    let scans: u64 = own().map(|t| t.scans.count).sum();
    let process = names.process(v.process);
    if scans > 0 {
        return format!(
            "threads of {process} scanned {}, and every time the budget or the run ended before its address.",
            count(scans, "time")
        );
    }
    let born = own().map(|t| t.born_ns).min().unwrap_or(0);
    let ended = own().map(|t| t.ended_ns.unwrap_or(why.end_ns)).max().unwrap_or(why.end_ns);
    format!(
        "no thread of {process} ran a scan in the {} it lived; the first one is due a scan delay after its start.",
        seconds(ended.saturating_sub(born))
    )
}
