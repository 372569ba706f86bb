//! Why a page moved, stayed, or went back and forth.

use super::names::Names;
use super::vma;
use super::words::{bytes, count, cut, reasons_text, seconds, share, unknown};
use numalab_model::record::events::Fate;
use numalab_model::record::why::{ChunkWhy, FaultWhy, VmaWhy, WhyFile};
use numalab_model::spec::SpecError;

/// Name of the option, the place in error messages.
const PLACE: &str = "--page";
/// Size of a chunk, bytes.
const CHUNK_BYTES: u64 = 2 << 20;

/// Describes the page `PROCESS/MAPPING+OFFSET` (offset in bytes, or with KiB, MiB or GiB) or `PROCESS:0xADDRESS`. If
/// `name` is empty, lists the chunks of which most pages moved.
/// `shortcut` is as for [`vma::explain`].
///
/// # Errors
/// The process, mapping or address does not exist, or the offset is not one.
pub fn explain(file: &WhyFile, name: &str, shortcut: bool) -> Result<String, SpecError> {
    let names = Names::new(file);
    if name.is_empty() {
        return Ok(most_moved(&names));
    }
    let (v, address) = find(&names, name)?;
    let at = file
        .why
        .chunks
        .iter()
        .find(|c| same(&file.why.vmas[c.vma as usize], v) && c.start / CHUNK_BYTES == address / CHUNK_BYTES);
    let place = format!("{}+{} ({address:#x})", names.vma(v), bytes_exact(address - v.start));
    match at {
        Some(c) => Ok(one(&names, &place, c, address)),
        None => {
            let all =
                format!("{place}: no page of its 2 MiB took a hint fault, so none was moved by NUMA balancing.\n");
            let lost = match file.why.faults_not_kept {
                0 => String::new(),
                n => {
                    format!("(The log had no room for {n} hint faults of other stretches; this may be one of them.)\n")
                }
            };
            Ok(format!(
                "{all}{lost}A page takes hint faults only after a scan has marked it:\n\n{}",
                vma::explain(file, &names.vma(v), shortcut)?
            ))
        }
    }
}

fn same(a: &VmaWhy, b: &VmaWhy) -> bool {
    (a.process, a.id) == (b.process, b.id)
}

fn bytes_exact(n: u64) -> String {
    if n.is_multiple_of(1024) {
        bytes(n)
    } else {
        format!("{n} B")
    }
}

fn find<'a>(names: &Names<'a>, name: &str) -> Result<(&'a VmaWhy, u64), SpecError> {
    let vmas = &names.why().vmas;
    let known = || vmas.iter().map(|v| names.vma(v)).collect::<Vec<_>>();
    if let Some((process, text)) = name.split_once(":0x") {
        let address = u64::from_str_radix(text, 16)
            .map_err(|_| SpecError::plain(PLACE, format!("`0x{text}` is no address"), "hexadecimal digits"))?;
        let inside = |v: &&VmaWhy| names.process(v.process) == process && (v.start..v.end).contains(&address);
        return vmas.iter().find(inside).map(|v| (v, address)).ok_or_else(|| {
            SpecError::plain(
                PLACE,
                format!("{process} has no mapping at 0x{text}"),
                "an address inside a mapping (--vma lists them)",
            )
        });
    }
    let (mapping, offset) = name.rsplit_once('+').unwrap_or((name, "0"));
    let v = vmas.iter().find(|v| names.vma(v) == mapping);
    let v = v.ok_or_else(|| unknown(PLACE, mapping, "mapping", known().iter().map(String::as_str)))?;
    let offset = parse_bytes(offset).ok_or_else(|| {
        SpecError::plain(PLACE, format!("`{offset}` is no offset"), "bytes, or a number with KiB, MiB or GiB")
    })?;
    if v.start + offset >= v.end {
        let what = format!("{mapping} ends before offset {}", bytes_exact(offset));
        return Err(SpecError::plain(PLACE, what, format!("less than {}", bytes_exact(v.end - v.start))));
    }
    Ok((v, v.start + offset))
}

fn parse_bytes(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("B", 0)];
    let (number, shift) = units.iter().find_map(|(u, s)| text.strip_suffix(u).map(|n| (n, *s))).unwrap_or((text, 0));
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn one(names: &Names<'_>, place: &str, c: &ChunkWhy, address: u64) -> String {
    let size = if c.huge { "one huge page" } else { "512 base pages" };
    let mut out = format!("{place} lies in a stretch of {size} at {:#x}.\n", c.start);
    let remote = c.faults.count - c.local;
    out.push_str(&format!(
        "The stretch took {} from {} to {}, {} of them local.\n",
        count(c.faults.count, "hint fault"),
        seconds(c.faults.first_ns),
        seconds(c.faults.last_ns),
        share(c.local, c.faults.count)
    ));
    out.push_str(&match (c.migrated, remote) {
        (0, 0) => "It did not move: it was always touched from the node it is on.\n".to_string(),
        (0, n) => format!("It did not move, although {} came from another node.\n", count(n, "fault")),
        (m, _) => format!("{} moved, {:.1} moves for each of its pages.\n", count(m, "page"), m as f64 / 512.0),
    });
    if c.returns > 0 {
        out.push_str(&format!(
            "It goes back and forth: the page at {:#x} came back {} to a node it had left.\n",
            c.watched,
            count(c.returns, "time")
        ));
    }
    out.push_str("How the faults ended:\n");
    out.push_str(&reasons_text(&c.fates, ""));
    let whose = if c.huge || c.watched == address { "its" } else { "one page of the stretch, the" };
    out.push_str(&format!("History of {whose} page at {:#x} ({}):\n", c.watched, count(c.history.count, "fault")));
    c.history.first.iter().for_each(|f| out.push_str(&fault(names, f)));
    if c.history.dropped() > 0 {
        out.push_str(&format!("  … {} not kept …\n", count(c.history.dropped(), "fault")));
    }
    c.history.recent().iter().for_each(|f| out.push_str(&fault(names, f)));
    out
}

fn fault(names: &Names<'_>, f: &FaultWhy) -> String {
    let (page, cpu) = (names.node(f.page_node), names.node(f.cpu_node));
    let header = &names.file.header;
    let word = |list: &[String], i: u8| list.get(usize::from(i)).cloned().unwrap_or_default();
    let end = match Fate::of(f.fate) {
        Fate::Local => "local, nothing to do".to_string(),
        Fate::Migrated => format!("moved to {cpu}"),
        Fate::Failed => "the move failed".into(),
        Fate::Stayed => "stayed: its policy wants it there".into(),
        Fate::Denied(i) => format!("stayed: {}", word(&header.denials, i)),
        Fate::Refused(i) => format!("refused: {}", word(&header.refusals, i)),
    };
    format!("  {:>10}  {} on {cpu} found it on {page}: {end}\n", seconds(f.time_ns), names.task(f.task))
}

/// Lists the chunks of which most pages moved.
fn most_moved(names: &Names<'_>) -> String {
    let mut chunks: Vec<&ChunkWhy> = names.why().chunks.iter().collect();
    chunks.sort_by_key(|c| (std::cmp::Reverse(c.migrated), c.vma, c.start));
    let line = |c: &&ChunkWhy| {
        let v = &names.why().vmas[c.vma as usize];
        format!(
            "{}+{}: {} moved, {}, {} local",
            names.vma(v),
            bytes_exact(c.start.saturating_sub(v.start)),
            count(c.migrated, "page"),
            count(c.faults.count, "hint fault"),
            share(c.local, c.faults.count)
        )
    };
    if chunks.is_empty() {
        return "No page took a hint fault.\n".into();
    }
    cut(&chunks.iter().map(line).collect::<Vec<_>>())
}
