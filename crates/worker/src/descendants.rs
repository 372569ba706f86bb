//! The processes that a process has started, directly or not, from `/proc/PID/stat`.

use std::collections::BTreeMap;

/// All descendants of a process that have not been waited for.
pub fn of(pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parent_of_stat(&stat) {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut out = children.remove(&pid).unwrap_or_default();
    let mut next = 0;
    while let Some(&id) = out.get(next) {
        out.extend(children.remove(&id).unwrap_or_default());
        next += 1;
    }
    out
}

/// The parent of a process, from its `stat` line.
fn parent_of_stat(text: &str) -> Option<u32> {
    // The name may hold blanks and parentheses.
    text[text.rfind(')')? + 1..].split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grandchild_is_a_descendant() {
        assert_eq!(parent_of_stat("12 (a) b (c)) S 7 12 0"), Some(7));
        let mut shell = std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let own = std::process::id();
        let both = || of(own).contains(&shell.id()) && !of(shell.id()).is_empty();
        let seen = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            both()
        });
        let below = of(shell.id());
        below.iter().for_each(|&pid| crate::sys::kill(pid as i32));
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(seen && below.len() == 1, "{below:?}");
    }
}
