//! `/proc/PID/smaps`: which part of a mapping is a process's own, where pages are shared.

use crate::memory::{ARENA_END, ARENA_START};
use std::collections::BTreeMap;

/// Share of each of the workload's mappings that counts for a process, 0 to 1, by start address: its proportional set
/// size over its resident size. Summed over all processes that share them, pages count once.
///
/// # Errors
/// The file cannot be read (the process ended, or the kernel has no such file).
pub fn read(pid: u64) -> std::io::Result<BTreeMap<u64, f64>> {
    Ok(parse(&std::fs::read_to_string(format!("/proc/{pid}/smaps"))?))
}

/// Parses the file's text; mappings outside the arena, and those without a page, are left out.
pub fn parse(text: &str) -> BTreeMap<u64, f64> {
    let (mut out, mut start, mut resident) = (BTreeMap::new(), None, 0.0);
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let kilobytes = |word: Option<&str>| word.and_then(|w| w.parse::<f64>().ok()).unwrap_or(0.0);
        match first {
            "Rss:" => resident = kilobytes(words.next()),
            "Pss:" => {
                let own = kilobytes(words.next());
                if let Some(start) = start.take().filter(|_| resident > 0.0) {
                    out.insert(start, (own / resident).min(1.0));
                }
            }
            _ => {
                let address = first.split_once('-').and_then(|(from, _)| u64::from_str_radix(from, 16).ok());
                if let Some(address) = address {
                    start = Some(address).filter(|a| (ARENA_START..ARENA_END).contains(a));
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes share the second mapping, so half of it counts for each; the third has no page.
    #[test]
    fn the_proportional_share_of_each_mapping() {
        let text = "00400000-00401000 r-xp 00000000 00:01 7 /init\nRss: 4 kB\nPss: 1 kB\n\
                    100000000000-100000400000 rw-p 00000000 00:00 0\nSize: 4096 kB\nRss: 2048 kB\nPss: 2048 kB\n\
                    Pss_Dirty: 2048 kB\nVmFlags: rd wr\n\
                    100000600000-100000800000 rw-s 00000000 00:01 9 /memfd:a\nRss: 2000 kB\nPss: 1000 kB\n\
                    100000800000-100000a00000 rw-p 00000000 00:00 0\nRss: 0 kB\nPss: 0 kB\n";
        let want = BTreeMap::from([(0x1000_0000_0000, 1.0), (0x1000_0060_0000, 0.5)]);
        assert_eq!(parse(text), want);
    }
}
