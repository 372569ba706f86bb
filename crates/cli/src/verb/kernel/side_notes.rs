//! Notes of `kernel sides`: sentences, written by hand, that say why the two sides of a table are apart.
//!
//! ```toml
//! [[note]]
//! knob = "page_filter"
//! machines = ["guest-2x1x2x1"]          # any if absent
//! why = "…"
//! ```
//! All notes of a table's knob and machine stand below it. Notes without a table are listed, so that they can go.

use crate::failure::Failure;
use crate::notes;
use numalab_model::spec::{SpecError, Table};
use numalab_report::data::Comparison;
use std::path::Path;

/// Notes in the order of their file.
#[derive(Debug, Default)]
pub struct SideNotes(Vec<Note>);

/// A note and the tables that it is about.
#[derive(Debug)]
struct Note {
    knob: String,
    machines: Vec<String>,
    why: String,
    used: bool,
}

impl SideNotes {
    /// Reads a file of notes.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the form above.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Self(notes::read(path, note)?))
    }

    /// The notes about a table of runs, as a list of Markdown; empty without any.
    pub fn below(&mut self, runs: &Comparison) -> String {
        let columns: Vec<&str> = runs.kernels.iter().map(|k| k.name.as_str()).collect();
        let machines = runs.origin.as_ref().map_or(&[][..], |o| &o.machines);
        self.about(knob_of(&columns), machines)
    }

    fn about(&mut self, knob: &str, machines: &[String]) -> String {
        let mut out = String::new();
        for n in &mut self.0 {
            let here = n.machines.is_empty() || n.machines.iter().any(|m| machines.contains(m));
            if n.knob == knob && here {
                n.used = true;
                out += &format!("* {}\n", n.why);
            }
        }
        match out.is_empty() {
            true => out,
            false => format!("\nWhere the sides are apart, and why:\n\n{out}"),
        }
    }

    /// Knob and beginning of each note that stood below no table.
    pub fn unused(&self) -> Vec<String> {
        let rest = self.0.iter().filter(|n| !n.used);
        rest.map(|n| notes::beginning(&n.knob, &n.why)).collect()
    }
}

/// The knob that a table is about: the last one that its last column sets. Those before it are what it needs.
fn knob_of<'a>(columns: &[&'a str]) -> &'a str {
    let last = columns.last().and_then(|c| c.rsplit(',').next());
    last.and_then(|set| set.split_once('=')).map_or("", |(name, _)| name)
}

fn note(table: &Table<'_>) -> Result<Note, SpecError> {
    Ok(Note {
        knob: table.str("knob")?.value,
        machines: notes::words(table, "machines")?,
        why: notes::why(table)?,
        used: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<SideNotes, SpecError> {
        Ok(SideNotes(notes::parse("notes.toml", text, note)?))
    }

    const TEXT: &str = r#"
[[note]]
knob = "a"
machines = ["m"]
why = """
two
lines"""

[[note]]
knob = "a"
why = "everywhere"
"#;

    #[test]
    fn a_table_has_the_notes_of_its_knob_and_machine() {
        let mut notes = parsed(TEXT).unwrap();
        assert_eq!(notes.about("b", &["m".into()]), "");
        assert_eq!(notes.unused().len(), 2);
        let below = notes.about("a", &["n".into()]);
        assert!(below.ends_with("\n\n* everywhere\n") && !below.contains("two"), "{below}");
        assert_eq!(notes.unused(), ["a: two lines"]);
        assert!(notes.about("a", &["m".into()]).ends_with("\n\n* two lines\n* everywhere\n"));
        assert!(notes.unused().is_empty());
    }

    #[test]
    fn the_last_setting_of_the_last_column_is_the_knob() {
        assert_eq!(knob_of(&["base", "a=x,b=y", "a=x,b=y,c=z"]), "c");
        assert_eq!(knob_of(&["base", "a=x"]), "a");
        assert_eq!(knob_of(&["base"]), "");
    }

    #[test]
    fn a_misspelt_key_is_an_error_with_its_line() {
        let e = parsed(&TEXT.replace("machines", "machine")).unwrap_err();
        assert_eq!((e.line, e.what.contains("machine")), (4, true), "{e}");
    }
}
