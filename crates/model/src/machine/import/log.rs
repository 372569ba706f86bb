//! Output of tools inside a log, whose lines begin with a time, the name of a host or of a container.
//!
//! Problem: people copy `numactl -H` from the log of a CI job, from `journalctl` or `docker compose`. There, what
//! begins each line differs from line to line, in digits at least.
//! Approach: the line by which a tool is known is looked for behind the beginnings of words. What stands before it
//! gives the shape of the prefix, which is taken off every line that begins so.
//! Invariant: a prefix becomes blanks, so that places in errors stay right.

use super::{lscpu, lscpu_table, lstopo, numactl};

/// Longest prefix, bytes.
const LONGEST: usize = 160;
/// Lines that are looked at for a sign of a tool, and places in each.
const LINES: usize = 20_000;
const PLACES: usize = 24;

/// The text with blanks in place of the prefixes of a log; `None` if no line has one before a sign of a tool.
pub(super) fn without_prefixes(text: &str) -> Option<String> {
    let shape = text.lines().take(LINES).find_map(prefix)?;
    let blank = |line: &str| match length(line, &shape) {
        0 => line.to_string(),
        n => " ".repeat(line[..n].chars().count()) + &line[n..],
    };
    let mut out = text.lines().map(blank).collect::<Vec<String>>().join("\n");
    out.push('\n');
    Some(out)
}

/// A part of a prefix: a run of letters and digits, a run of blanks, or another character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Word,
    Blank(usize),
    Mark(char),
}

/// The prefix of a line that is a sign of a tool without it, but not with it.
fn prefix(line: &str) -> Option<Vec<Part>> {
    let starts = line.char_indices().zip(line.chars().skip(1)).filter_map(|((at, a), b)| {
        let begins = matches!(a, ' ' | '\t' | '|' | ']' | ':') && (b.is_alphanumeric() || b == '<');
        begins.then_some(at + a.len_utf8())
    });
    let at = starts.take(PLACES).take_while(|at| *at <= LONGEST).find(|at| is_sign(&line[*at..]))?;
    let shape: Vec<Part> = parts(&line[..at]).map(|(part, _)| part).collect();
    // "The machine" is prose: a log has numbers or marks beside words.
    let is_word = |p: &Part| *p == Part::Word;
    let marked = line[..at].contains(|c: char| c.is_ascii_digit()) || shape.iter().any(|p| matches!(p, Part::Mark(_)));
    (shape.iter().any(is_word) && marked).then_some(shape)
}

/// Whether a line is one by which a tool's output is known, also if it is the only one.
fn is_sign(line: &str) -> bool {
    let of_lscpu = |key: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(' '));
    numactl::is_sign(line)
        || lstopo::is_first(line)
        || lscpu_table::is_table(line)
        || of_lscpu("Architecture:")
        || (lscpu::KEYS.iter().any(|key| of_lscpu(key)))
        || line.starts_with("<?xml")
        || line.starts_with("<topology")
}

/// The parts of a text with the number of bytes up to the end of each.
fn parts(text: &str) -> impl Iterator<Item = (Part, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = text[at..].chars().next()?;
        let run = |of: fn(char) -> bool| text[at..].find(|c: char| !of(c)).unwrap_or(text.len() - at);
        let blank = |c: char| c == ' ' || c == '\t';
        let (part, length) = match first {
            c if c.is_alphanumeric() => (Part::Word, run(char::is_alphanumeric)),
            c if blank(c) => (Part::Blank(run(|c| c == ' ' || c == '\t')), run(|c| c == ' ' || c == '\t')),
            c => (Part::Mark(c), c.len_utf8()),
        };
        at += length;
        Some((part, at))
    })
}

/// Bytes of the prefix at the begin of a line: 0 if the line does not begin so. The last run of blanks counts in its
/// own length only, since what follows may be indented; a line of nothing else may lack it.
fn length(line: &str, shape: &[Part]) -> usize {
    let mut of_line = parts(line);
    let mut end = 0;
    for (i, wanted) in shape.iter().enumerate() {
        let last = i + 1 == shape.len();
        match (of_line.next(), wanted) {
            (Some((Part::Blank(n), at)), Part::Blank(most)) if last => return at - n + n.min(*most),
            (Some((Part::Blank(_), at)), Part::Blank(_)) => end = at,
            (Some((part, at)), wanted) if part == *wanted => end = at,
            (None, Part::Blank(_)) if last => return end,
            _ => return 0,
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_several_logs_become_blanks() {
        for (sign, other) in [
            ("2026-01-01T00:00:00.123Z ", "2026-01-01T00:00:01.4Z "),
            ("Nov  1 00:00:00 host kernel[12]: ", "Nov 12 00:00:00 host kernel[9999]: "),
            ("web_1  | ", "db_12  | "),
            ("[00:01] ", "[12:34] "),
        ] {
            let text = format!("{other}\n{sign}available: 1 nodes (0)\n{other}  0:  10\nplain\n");
            let out = without_prefixes(&text).unwrap();
            let lines: Vec<&str> = out.lines().collect();
            assert_eq!(lines[1].trim(), "available: 1 nodes (0)", "{sign}");
            assert_eq!(lines[2], format!("{}  0:  10", " ".repeat(other.len())), "{sign}");
            assert_eq!((lines[0].trim(), lines[3]), ("", "plain"), "{sign}");
        }
        assert_eq!(without_prefixes("2026 hello\n"), None);
        assert_eq!(without_prefixes("available: 1 nodes (0)\n"), None, "no prefix");
    }
}
