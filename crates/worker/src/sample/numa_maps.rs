//! `/proc/PID/numa_maps`: pages of the workload's regions on each node.

use crate::memory::{ARENA_END, ARENA_START};

/// Pages (4 KiB) of a process's regions on each node of `node_ids`.
///
/// # Errors
/// The file cannot be read (the process ended).
pub fn read(pid: u64, node_ids: &[u32]) -> std::io::Result<Vec<u64>> {
    Ok(parse(&std::fs::read_to_string(format!("/proc/{pid}/numa_maps"))?, node_ids))
}

/// Parses the file's text; mappings outside the arena are not counted.
pub fn parse(text: &str, node_ids: &[u32]) -> Vec<u64> {
    let mut pages = vec![0; node_ids.len()];
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let start = words.next().and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(0);
        if !(ARENA_START..ARENA_END).contains(&start) {
            continue;
        }
        for word in words {
            let Some((node, count)) = word.strip_prefix('N').and_then(|w| w.split_once('=')) else { continue };
            let (Ok(node), Ok(count)) = (node.parse::<u32>(), count.parse::<u64>()) else { continue };
            if let Some(i) = node_ids.iter().position(|&id| id == node) {
                pages[i] += count;
            }
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_the_arena_are_counted_by_node_id() {
        let text = "00400000 default file=/init mapped=3 N0=3 kernelpagesize_kB=4\n\
                    100000000000 default anon=700 dirty=700 active=0 N0=512 N4=188 kernelpagesize_kB=4\n\
                    100000600000 bind:0 anon=1 dirty=1 N4=1 kernelpagesize_kB=4\n\
                    7ffc1000 default stack anon=3 N0=3\n";
        assert_eq!(parse(text, &[0, 4]), vec![512, 189]);
    }
}
