//! `maps` of a process: ranges and what stands behind them.

/// A mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Stores to it reach other processes and the file.
    pub shared: bool,
    /// It may be written.
    pub writable: bool,
    /// Device and inode of its file, `00:00 0` without one.
    pub file: String,
    /// Path or special name; empty for anonymous memory.
    pub name: String,
}

/// Mappings of the file's text, ascending. Lines of another form are skipped.
pub fn parse(text: &str) -> Vec<Range> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Range> {
    // 7f0000000000-7f0000021000 rw-p 00000000 00:00 0    [heap]
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let flags = words.next()?;
    let _offset = words.next()?;
    let (device, inode) = (words.next()?, words.next()?);
    let name = words.next().unwrap_or("").trim().to_string();
    let shared = flags.ends_with('s');
    let writable = flags.as_bytes().get(1) == Some(&b'w');
    (start < end).then(|| Range { start, end, shared, writable, file: format!("{device} {inode}"), name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_with_and_without_files() {
        let text = "55d0-55d8 r--p 00000000 fe:01 42      /usr/bin/a b\n\
                    7f00-7f21 rw-p 00000000 00:00 0 \n\
                    8000-9000 rw-s 00000000 00:01 1024                       /dev/zero (deleted)\n\
                    nonsense\n9-8 rw-p 0 0 0\nzz-8 rw-p 0 0 0\n";
        let ranges = parse(text);
        assert_eq!(ranges.len(), 3);
        assert_eq!((ranges[0].name.as_str(), ranges[0].writable, ranges[0].shared), ("/usr/bin/a b", false, false));
        assert_eq!((ranges[1].name.as_str(), ranges[1].file.as_str(), ranges[1].writable), ("", "00:00 0", true));
        assert!(ranges[2].shared && ranges[2].file == "00:01 1024");
    }
}
