//! Processes and their threads.

use super::stat::Stat;
use super::status::Status;
use super::{numbers_in, read, Roots};
use numalab_base::visible_text::visible;

/// Longest command line that is kept, characters.
const COMMAND_MAX: usize = 400;

/// `stat` of a process; `None` if it has ended.
pub fn stat(roots: &Roots, pid: u32) -> Option<Stat> {
    Stat::parse(&read(&roots.process(pid).join("stat")).ok()?)
}

/// `stat` of a thread; `None` if it has ended.
pub fn task_stat(roots: &Roots, pid: u32, tid: u32) -> Option<Stat> {
    Stat::parse(&read(&roots.task(pid, tid).join("stat")).ok()?)
}

/// `status` of a process; `None` if it has ended.
pub fn status(roots: &Roots, pid: u32) -> Option<Status> {
    Some(Status::parse(&read(&roots.process(pid).join("status")).ok()?))
}

/// `status` of a thread; `None` if it has ended.
pub fn task_status(roots: &Roots, pid: u32, tid: u32) -> Option<Status> {
    Some(Status::parse(&read(&roots.task(pid, tid).join("status")).ok()?))
}

/// Threads of a process, ascending; empty if it has ended.
pub fn tasks(roots: &Roots, pid: u32) -> Vec<u32> {
    numbers_in(&roots.process(pid).join("task"))
}

/// Command line of a process, arguments separated by spaces, as it may be shown ([`visible`]), at most 400 characters;
/// its name in brackets if the command line is empty or cannot be read.
pub fn command(roots: &Roots, pid: u32, name: &str) -> String {
    let text = read(&roots.process(pid).join("cmdline")).unwrap_or_default();
    let words: Vec<&str> = text.split('\0').filter(|w| !w.is_empty()).collect();
    let line = if words.is_empty() { format!("[{name}]") } else { words.join(" ") };
    visible(&line.chars().take(COMMAND_MAX).collect::<String>()).chars().take(COMMAND_MAX).collect()
}

/// A process and all its descendants, ascending, among those that exist now.
pub fn with_descendants(roots: &Roots, pid: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> =
        numbers_in(&roots.proc).into_iter().filter_map(|p| Some((p, stat(roots, p)?.parent))).collect();
    let mut out = vec![pid];
    let mut next = 0;
    while next < out.len() {
        let parent = out[next];
        let children = parents.iter().filter(|(p, of)| *of == parent && !out.contains(p)).map(|(p, _)| *p);
        let children: Vec<u32> = children.collect();
        out.extend(children);
        next += 1;
    }
    out.retain(|p| parents.iter().any(|(known, _)| known == p));
    out.sort_unstable();
    out
}

/// Clock ticks in a second (`USER_HZ`), which every Linux shows as 100.
pub const TICKS_PER_S: u64 = 100;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::stat::tests::line;
    use super::*;
    use std::fs;

    #[test]
    fn processes_threads_and_descendants() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().into(), sys: dir.path().join("sys") };
        for (pid, parent) in [(5, 1), (6, 5), (7, 6), (8, 1)] {
            fs::create_dir_all(roots.task(pid, pid)).unwrap();
            let text = line(pid, "x", 'S', 1, 0).replace(") S 1 ", &format!(") S {parent} "));
            fs::write(roots.process(pid).join("stat"), text).unwrap();
        }
        assert_eq!(with_descendants(&roots, 5), [5, 6, 7]);
        assert!(with_descendants(&roots, 99).is_empty());
        assert_eq!(tasks(&roots, 5), [5]);
        fs::write(roots.process(5).join("cmdline"), "a\0b\x1b[2J\u{202e}c\u{200b}\0").unwrap();
        let shown = "a b\\u{1b}[2J\\u{202e}c\\u{200b}";
        assert_eq!((command(&roots, 5, "n"), command(&roots, 6, "n")), (shown.into(), "[n]".into()));
        fs::write(roots.process(5).join("cmdline"), "\u{202e}".repeat(5000)).unwrap();
        assert_eq!(command(&roots, 5, "n").len(), COMMAND_MAX);
        assert_eq!((stat(&roots, 99), status(&roots, 99), tasks(&roots, 99)), (None, None, vec![]));
    }
}
