//! A refused spec, and the nearest valid name to offer with it.

/// A refused spec: where, what is wrong, what was expected, and the nearest valid name if one is near.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}{}{}", place(file, *line, *column), one_line(what), wanted(expected), did_you_mean(nearest))]
pub struct SpecError {
    /// File, or another place such as `command line`.
    pub file: String,
    /// Line from 1, 0 if unknown.
    pub line: usize,
    /// Column from 1, 0 if unknown.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// Nearest valid name.
    pub nearest: Option<String>,
}

impl SpecError {
    /// An error without a line: about a command line, or a file that is missing.
    pub fn plain(file: &str, what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { file: file.into(), line: 0, column: 0, what: what.into(), expected: expected.into(), nearest: None }
    }
    /// Adds the name among `names` that is nearest to `name`, if one is near enough to be meant.
    #[must_use]
    pub fn near<'a>(mut self, name: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.nearest = nearest(name, names);
        self
    }
}

/// Text with its line breaks escaped, so that a message is one line even if it quotes several.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// `file:line:column`, or the file alone where the line is not known.
fn place(file: &str, line: usize, column: usize) -> String {
    match line {
        0 => one_line(file),
        _ => format!("{}:{line}:{column}", one_line(file)),
    }
}

/// The end of a message that says what was expected; nothing if that is not known.
fn wanted(expected: &str) -> String {
    if expected.is_empty() {
        String::new()
    } else {
        format!("; expected {}", one_line(expected))
    }
}

/// The end of a message that offers the nearest valid name, if there is one.
pub(crate) fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{}`?", one_line(n)))
}

/// The name among `names` that is nearest to `name`, if one is near enough to be meant.
///
/// Of a release such as 6.13 that is the nearest release: the one of the same or a neighbouring major version that is
/// fewest minor versions away, the older one of two. Of any other name it is found by its letters.
///
/// That is the one of the largest Jaro-Winkler similarity, if it is at least 0.75. Otherwise it is one that differs by
/// a single letter (more, less, other, or two exchanged), if `name` has three letters or more. Names of more than twice
/// the length of `name` count only if they begin with it, because a few letters are found in order in any long name.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(release) = version(name).and_then(|v| nearest_release(v, &names)) {
        return Some(release.to_string());
    }
    let fits = |n: &&str| n.len() <= 2 * name.len() + 2 || n.starts_with(name);
    let names: Vec<&str> = names.into_iter().filter(fits).collect();
    let alike = names
        .iter()
        .map(|n| (strsim::jaro_winkler(name, n), *n))
        .filter(|(s, _)| *s >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    let slip = || names.iter().find(|n| name.len() >= 3 && strsim::damerau_levenshtein(name, n) <= 1).copied();
    alike.map(|(_, n)| n).or_else(slip).map(str::to_string)
}

/// Minor versions that a major version has at most, for distances. Linux 3, 4 and 5 ended with 19, 20 and 19.
const MINORS: i64 = 20;

/// Major and minor version of a name that is a release and nothing else: `6.13`.
fn version(name: &str) -> Option<(i64, i64)> {
    let (major, minor) = name.split_once('.')?;
    let number = |text: &str| text.parse::<u16>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    Some((number(major)?.into(), number(minor)?.into()))
}

/// The release among `names` that is nearest to a version, of the same or a neighbouring major version.
fn nearest_release<'a>((major, minor): (i64, i64), names: &[&'a str]) -> Option<&'a str> {
    let near = |n: &&'a str| {
        let (a, b) = version(n)?;
        let away = ((a - major) * MINORS + b - minor.min(MINORS - 1)).abs();
        ((a - major).abs() <= 1).then_some((away, (a, b), *n))
    };
    names.iter().filter_map(near).min().map(|(.., name)| name)
}
