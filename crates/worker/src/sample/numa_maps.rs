//! `/proc/PID/numa_maps`: pages of the workload's mappings on each node.

use crate::memory::{ARENA_END, ARENA_START};

/// What a process has mapped of one of the workload's mappings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Start address.
    pub start: u64,
    /// Pages (4 KiB) on each node.
    pub pages: Vec<u64>,
    /// Whether some page is mapped more than once (`mapmax`).
    pub shared: bool,
    /// The file that it maps, as the kernel writes its path; shared anonymous memory has one too.
    pub file: Option<String>,
}

/// Mappings of the workload in a process, with their pages on each node of `node_ids`.
///
/// # Errors
/// The file cannot be read (the process ended).
pub fn read(pid: u64, node_ids: &[u32]) -> std::io::Result<Vec<Mapping>> {
    Ok(parse(&std::fs::read_to_string(format!("/proc/{pid}/numa_maps"))?, node_ids))
}

/// Parses the file's text; mappings outside the arena are left out.
pub fn parse(text: &str, node_ids: &[u32]) -> Vec<Mapping> {
    let mut all = parse_all(text, node_ids);
    all.retain(|m| (ARENA_START..ARENA_END).contains(&m.start));
    all
}

/// Parses the file's text, with mappings of any address.
pub fn parse_all(text: &str, node_ids: &[u32]) -> Vec<Mapping> {
    let mut out = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let start = words.next().and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(0);
        let mut mapping = Mapping { start, pages: vec![0; node_ids.len()], shared: false, file: None };
        for word in words {
            if let Some(file) = word.strip_prefix("file=") {
                mapping.file = Some(file.to_string());
            }
            mapping.shared |= word.starts_with("mapmax=");
            if let Some(kib) = word.strip_prefix("kernelpagesize_kB=").and_then(|w| w.parse::<u64>().ok()) {
                // The last word of a line: it says what its counts are counts of. Huge pages of hugetlb count as one.
                mapping.pages.iter_mut().for_each(|n| *n *= kib / 4);
            }
            let Some((node, count)) = word.strip_prefix('N').and_then(|w| w.split_once('=')) else { continue };
            let (Ok(node), Ok(count)) = (node.parse::<u32>(), count.parse::<u64>()) else { continue };
            if let Some(i) = node_ids.iter().position(|&id| id == node) {
                mapping.pages[i] += count;
            }
        }
        out.push(mapping);
    }
    out
}

/// Pages of all mappings on each of `nodes` nodes.
pub fn by_node(mappings: &[Mapping], nodes: usize) -> Vec<u64> {
    let on = |node: usize| mappings.iter().map(|m| m.pages[node]).sum();
    (0..nodes).map(on).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_the_arena_are_counted_by_node_id() {
        let text = "00400000 default file=/init mapped=3 N0=3 kernelpagesize_kB=4\n\
                    100000000000 default anon=700 dirty=700 active=0 N0=512 N4=188 kernelpagesize_kB=4\n\
                    100000600000 bind:0 anon=1 dirty=1 mapmax=2 N4=1 kernelpagesize_kB=4\n\
                    7ffc1000 default stack anon=3 N0=3\n";
        let mappings = parse(text, &[0, 4]);
        assert_eq!(mappings.iter().map(|m| m.shared).collect::<Vec<_>>(), [false, true]);
        assert_eq!(mappings[1].start, 0x1000_0060_0000);
        assert_eq!(by_node(&mappings, 2), vec![512, 189]);
        let all = parse_all(text, &[0, 4]);
        assert_eq!((all.len(), all[0].file.as_deref(), by_node(&all, 2)), (4, Some("/init"), vec![518, 189]));
    }
}
