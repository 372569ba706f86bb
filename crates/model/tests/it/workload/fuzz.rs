//! Mutated files and parameters: there is no panic, and a workload that is accepted keeps the invariants of
//! `workload/mod.rs`.

use crate::workload::catalog::files;
use crate::workload::machines::machine;
use crate::workload::sums::check_invariants;
use numalab_model::workload::parse;
use proptest::prelude::*;

/// A change to a text, by positions that are taken modulo the number of places.
#[derive(Clone, Debug)]
enum Change {
    DropChar(usize),
    PutChar(usize, char),
    DropLine(usize),
    CopyLine(usize, usize),
    PutWord(usize, usize),
}

/// Words of the language, and hostile values.
const WORDS: [&str; 32] = [
    "access",
    "compute",
    "sleep",
    "barrier",
    "signal",
    "wait",
    "discard",
    "score",
    "steps",
    "count",
    "time",
    "for",
    "threads",
    "\"thread\"",
    "0",
    "-1",
    "1e300",
    "\"1/0\"",
    "\"cpus\"",
    "\"((((\"",
    "[]",
    "{}",
    "\"0..9\"",
    "\"9..0\"",
    "\"memory_bytes\"",
    "\"1ns\"",
    "\"-1s\"",
    "true",
    "\"\"",
    "9223372036854775807",
    "nan",
    "\"buffer[thread]\"",
];

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<usize>().prop_map(Change::DropChar),
        (
            any::<usize>(),
            prop_oneof![Just('"'), Just('['), Just('9'), Just('-'), Just('é'), prop::char::range(' ', '~')]
        )
            .prop_map(|(at, c)| Change::PutChar(at, c)),
        any::<usize>().prop_map(Change::DropLine),
        (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Change::CopyLine(from, to)),
        (any::<usize>(), any::<usize>()).prop_map(|(at, word)| Change::PutWord(at, word)),
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    match change {
        Change::DropChar(at) if !chars.is_empty() => {
            chars.remove(at % chars.len());
            chars.into_iter().collect()
        }
        Change::PutChar(at, c) => {
            chars.insert(at % (chars.len() + 1), *c);
            chars.into_iter().collect()
        }
        Change::DropLine(at) if !lines.is_empty() => {
            lines.remove(at % lines.len());
            lines.join("\n")
        }
        Change::CopyLine(from, to) if !lines.is_empty() => {
            let line = lines[from % lines.len()].clone();
            lines.insert(to % (lines.len() + 1), line);
            lines.join("\n")
        }
        Change::PutWord(at, word) => {
            // Replaces a value or a key, so that the file stays valid TOML most of the time.
            let Some(at) = at.checked_rem(lines.len()) else { return text.to_string() };
            let word = WORDS[word % WORDS.len()];
            if let Some((key, value)) = lines[at].clone().split_once('=') {
                let bare = word.bytes().all(|b| b.is_ascii_lowercase());
                lines[at] = if bare { format!("{word} ={value}") } else { format!("{key}= {word}") };
            }
            lines.join("\n")
        }
        _ => text.to_string(),
    }
}

proptest! {
    #![proptest_config(crate::workload::property_config())]

    #[test]
    fn mutated_files_are_refused_with_a_place_or_make_a_sound_workload(
        file in any::<usize>(),
        changes in prop::collection::vec(change(), 1..4),
        seed in any::<u64>(),
    ) {
        let files = files();
        let (name, text) = &files[file % files.len()];
        let text = changes.iter().fold(text.clone(), |t, c| apply(&t, c));
        match parse(name, &text) {
            Err(e) => prop_assert!(e.line >= 1 || e.what.contains("is missing"), "{}\n{}", e, text),
            Ok(spec) => for on in ["guest-2n", "laptop"] {
                match spec.resolve(&machine(on), seed, &[]) {
                    Ok(w) => check_invariants(&w),
                    Err(e) => prop_assert!(e.line >= 1 || e.what.contains("the limit is"), "{}\n{}", e, text),
                }
            },
        }
    }

    #[test]
    fn any_parameter_value_is_refused_or_makes_a_sound_workload(
        file in any::<usize>(),
        param in any::<usize>(),
        value in prop_oneof![
            "[0-9]{1,7}", "-[0-9]{1,3}", "[0-9]{1,4}(B|KiB|MiB|s|ms|ns)", "cpus|nodes|llc_total|memory_bytes|0|0.5|1/3",
            "[ -~]{0,12}",
        ],
    ) {
        let files = files();
        let (name, text) = &files[file % files.len()];
        let spec = parse(name, text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let param = spec.params()[param % spec.params().len()].name.clone();
        match spec.resolve(&machine("guest-2n"), 1, &[(param, value)]) {
            Ok(w) => check_invariants(&w),
            Err(e) => prop_assert!(e.line >= 1 || e.what.contains("the limit is"), "{}", e),
        }
    }
}
