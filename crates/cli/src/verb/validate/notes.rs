//! Notes: sentences, written by hand, that explain why cells miss. The page prints each beside the misses that it
//! explains.
//!
//! ```toml
//! [[note]]
//! workload = "numa02_SMT"
//! image = "debian-6.12"                 # any if absent
//! thp = "never"                         # any if absent
//! counters = ["numa_pte_updates"]       # any if absent
//! why = "…"
//! ```
//! The first note that matches a miss explains it. Notes that match no miss are listed, so that they can be removed.

use crate::failure::Failure;
use crate::notes;
use numalab_model::spec::{SpecError, Table};
use std::path::Path;

/// Notes in the order of their file.
#[derive(Debug, Default)]
pub struct Notes(Vec<Note>);

/// A note and the cells that it is about.
#[derive(Debug)]
struct Note {
    workload: String,
    image: Option<String>,
    thp: Option<String>,
    counters: Vec<String>,
    why: String,
}

impl Notes {
    /// Reads a file of notes.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the form above.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Self(notes::read(path, note)?))
    }

    /// Index and text of the first note that matches a miss.
    pub fn about(&self, image: &str, thp: &str, workload: &str, counter: &str) -> Option<(usize, &str)> {
        let fits = |n: &&Note| {
            n.workload == workload
                && n.image.as_ref().is_none_or(|i| i == image)
                && n.thp.as_ref().is_none_or(|t| t == thp)
                && (n.counters.is_empty() || n.counters.iter().any(|c| c == counter))
        };
        let index = self.0.iter().position(|n| fits(&n))?;
        Some((index, &self.0[index].why))
    }

    /// Workload and beginning of each note whose index is not in `used`.
    pub fn unused(&self, used: &[usize]) -> Vec<String> {
        let rest = self.0.iter().enumerate().filter(|(i, _)| !used.contains(i));
        rest.map(|(_, n)| notes::beginning(&n.workload, &n.why)).collect()
    }
}

fn note(table: &Table<'_>) -> Result<Note, SpecError> {
    Ok(Note {
        workload: table.str("workload")?.value,
        image: table.opt_str("image")?.map(|s| s.value),
        thp: table.opt_str("thp")?.map(|s| s.value),
        counters: notes::words(table, "counters")?,
        why: notes::why(table)?,
    })
}

/// Notes of a text, for tests.
#[cfg(test)]
pub fn parsed(text: &str) -> Result<Notes, SpecError> {
    Ok(Notes(notes::parse("notes.toml", text, note)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[note]]
workload = "w"
thp = "never"
counters = ["a", "b"]
why = """
two
lines"""

[[note]]
workload = "w"
why = "the rest"
"#;

    #[test]
    fn the_first_note_that_fits_is_the_reason() {
        let notes = parsed(TEXT).unwrap();
        assert_eq!(notes.about("i", "never", "w", "b"), Some((0, "two lines")));
        assert_eq!(notes.about("i", "always", "w", "b"), Some((1, "the rest")));
        assert_eq!(notes.about("i", "never", "w", "c"), Some((1, "the rest")));
        assert_eq!(notes.about("i", "never", "x", "a"), None);
        assert_eq!(notes.unused(&[0]), ["w: the rest"]);
    }

    #[test]
    fn a_misspelt_key_is_an_error_with_its_line() {
        let e = parsed(&TEXT.replace("thp", "htp")).unwrap_err();
        assert_eq!((e.line, e.what.contains("htp")), (4, true), "{e}");
    }
}
