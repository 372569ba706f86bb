//! The table of releases: which release of Linux changed what.
//!
//! Problem: a release differs from the one before it by a few decisions, each made in one commit. A later release, a
//! variant and a test vector must all start from the same list of those decisions.
//! Approach: `releases.toml` has one row per release, oldest first. A row lists what the release changed, with the
//! commit. It becomes a [`KernelSpec`] that extends the row above it, so a new release is one row.
//! Invariants: names are releases (`6.4`, `6.4-rc2`) in ascending order; every change sets something and has a
//! sentence.

use super::parse::{describe, settings_but};
use super::{KernelSpec, Setting};
use crate::spec::{Doc, SpecError, Spot, Table};

/// Keys of a change that are no settings.
const ABOUT_A_CHANGE: [&str; 2] = ["commit", "doc"];
/// `commit` of a change whose commit nobody has looked up.
pub const COMMIT_NOT_KNOWN: &str = "not known";

/// The rows of a table, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Releases {
    rows: Vec<Release>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The kernel of this release. It extends the row above it.
    pub spec: KernelSpec,
    /// Changes that the next release inherits.
    pub changes: Vec<Change>,
    /// Changes of this release's kernel that the next release does not inherit.
    pub only_here: Vec<Change>,
}

/// Roles and tunables that changed together.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it sets.
    pub settings: Vec<Setting>,
    /// Commits, separated by commas, or [`COMMIT_NOT_KNOWN`]; empty in the first row, where everything starts.
    pub commit: String,
    /// One sentence or two.
    pub doc: String,
}

impl Releases {
    /// Parses a table. Names of roles and tunables are checked later, by [`resolve`](super::resolve).
    ///
    /// # Errors
    /// Syntax, an unknown key, a wrong kind; a name that is no release or that is not later than the one above it; a
    /// change without settings or commit.
    pub fn parse(file: &str, text: &str) -> Result<Self, SpecError> {
        let doc = Doc::parse(file, text)?;
        let root = doc.root();
        let mut rows: Vec<Release> = Vec::new();
        for table in root.tables("release")? {
            let row = row(table, rows.last())?;
            rows.push(row);
        }
        root.finish()?;
        Ok(Self { rows })
    }
    /// Every row, oldest first.
    pub fn rows(&self) -> &[Release] {
        &self.rows
    }
    /// The row of that name.
    pub fn find(&self, name: &str) -> Option<&Release> {
        self.rows.iter().find(|r| r.spec.name.value == name)
    }
    /// Name of the last row.
    pub fn newest(&self) -> Option<&str> {
        self.rows.last().map(|r| r.spec.name.value.as_str())
    }
}

fn row(table: Table<'_>, before: Option<&Release>) -> Result<Release, SpecError> {
    let mut spec = describe(&table)?;
    let version = match Version::of(&spec.name.value) {
        Some((version, "")) => version,
        _ => return Err(spec.name.error(format!("`{}` is no release", spec.name.value), "`6.12` or `6.12-rc1`")),
    };
    if let Some(before) = before.map(|b| &b.spec.name) {
        if Version::of(&before.value).is_some_and(|(b, _)| b >= version) {
            let what = format!("release {} stands below {}", spec.name.value, before.value);
            return Err(spec.name.error(what, "rows in order of release, oldest first"));
        }
        spec.extends = Some(Spot { value: before.value.clone(), ..spec.name.clone() });
    }
    let first = before.is_none();
    let changes = changes(&table, "change", first)?;
    let only_here = self::changes(&table, "only_here", first)?;
    table.finish()?;
    let all = |changes: &[Change]| changes.iter().flat_map(|c| c.settings.clone()).collect::<Vec<_>>();
    refuse_twice(&all(&changes))?;
    refuse_twice(&all(&only_here))?;
    (spec.roles, spec.tunables) = all(&changes).into_iter().partition(|s| !s.name.value.contains('.'));
    spec.only_here = all(&only_here);
    spec.release = true;
    Ok(Release { spec, changes, only_here })
}

fn changes(row: &Table<'_>, key: &str, first: bool) -> Result<Vec<Change>, SpecError> {
    let mut out = Vec::new();
    for table in row.tables(key)? {
        let commit = match table.opt_str("commit")? {
            Some(commit) => checked_commit(commit)?,
            None if first => String::new(),
            None => return Err(table.missing("commit", &format!("hashes, or {COMMIT_NOT_KNOWN:?}"))),
        };
        let doc = table.str("doc")?.value.split_whitespace().collect::<Vec<_>>().join(" ");
        let settings = settings_but(&table, true, &ABOUT_A_CHANGE)?;
        if settings.is_empty() {
            return Err(table.error("a change that sets nothing", "a role or a tunable"));
        }
        table.finish()?;
        out.push(Change { settings, commit, doc });
    }
    Ok(out)
}

fn checked_commit(commit: Spot<String>) -> Result<String, SpecError> {
    let hash = |text: &str| (8..=40).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit());
    if commit.value == COMMIT_NOT_KNOWN || commit.value.split(", ").all(hash) {
        return Ok(commit.value);
    }
    let expected = format!("hashes of 8 to 40 digits separated by commas, or {COMMIT_NOT_KNOWN:?}");
    Err(commit.error(format!("`{}` is no commit", commit.value), expected))
}

fn refuse_twice(settings: &[Setting]) -> Result<(), SpecError> {
    for (i, s) in settings.iter().enumerate() {
        if settings[..i].iter().any(|o| o.name.value == s.name.value) {
            return Err(s.name.error(format!("`{}` is set twice in this row", s.name.value), "one value"));
        }
    }
    Ok(())
}

/// A release's place in time: `6.4-rc2` comes before `6.4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
    /// Number of the release candidate; the release itself comes after all of them.
    candidate: u32,
}

impl Version {
    /// The release that a kernel's name begins with, and the rest of the name; `None` if it begins with none.
    pub fn of(name: &str) -> Option<(Self, &str)> {
        let (major, rest) = number(name)?;
        let (minor, rest) = number(rest.strip_prefix('.')?)?;
        // `7.3-rc` stands for the candidates of a release that is not out yet.
        let candidate = rest.strip_prefix("-rc").map(|rest| number(rest).unwrap_or((0, rest)));
        let (candidate, rest) = candidate.unwrap_or((u32::MAX, rest));
        Some((Self { major, minor, candidate }, rest))
    }
}

/// The number that a text begins with, and the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "[[release]]\nname = \"6.4-rc2\"\ntitle = \"t\"\n[[release.change]]\nscan = \"v414\"\n\
                       numa.window_ms = 4\ndoc = \"Start.\"\n[[release]]\nname = \"6.4\"\ntitle = \"t\"\n";

    fn refused(text: &str) -> String {
        Releases::parse("r.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn a_row_extends_the_one_above_it() {
        let table = Releases::parse("r.toml", TWO).unwrap();
        let [first, second] = table.rows() else { panic!("two rows") };
        assert_eq!((first.spec.extends.as_ref(), first.spec.roles.len(), first.spec.tunables.len()), (None, 1, 1));
        assert_eq!(second.spec.extends.as_ref().unwrap().value, "6.4-rc2");
        assert_eq!((table.newest(), table.find("6.5").is_none()), (Some("6.4"), true));
    }

    #[test]
    fn rows_are_releases_in_order() {
        let e = refused(&format!("{TWO}[[release]]\nname = \"6.4-rc3\"\ntitle = \"t\"\n"));
        assert_eq!(e, "r.toml:12:8: release 6.4-rc3 stands below 6.4; expected rows in order of release, oldest first");
        for name in ["6", "6.4-mine", "six"] {
            let e = refused(&format!("[[release]]\nname = \"{name}\"\ntitle = \"t\"\n"));
            assert!(e.starts_with(&format!("r.toml:2:8: `{name}` is no release")), "{e}");
        }
    }

    #[test]
    fn a_change_has_a_commit_a_sentence_and_settings() {
        let change = |lines: &str| refused(&format!("{TWO}[[release.change]]\n{lines}\n"));
        assert!(change("scan = \"v414\"\ndoc = \"d\"").contains("`release[1].change[0].commit` is missing"));
        assert!(change("scan = \"v414\"\ncommit = \"not known\"").contains("doc` is missing"));
        assert!(change("commit = \"not known\"\ndoc = \"d\"").contains("a change that sets nothing"));
        let e = change("scan = \"v414\"\ndoc = \"d\"\ncommit = \"memory\"");
        assert!(e.starts_with("r.toml:14:10: `memory` is no commit; expected hashes"), "{e}");
        let twice = "scan = \"v414\"\ncommit = \"12345678, abcdef12\"\ndoc = \"d\"";
        let e = change(&format!("{twice}\n[[release.change]]\n{twice}"));
        assert!(e.starts_with("r.toml:16:1: `scan` is set twice in this row"), "{e}");
        let e = refused(&TWO.replace("title", "titel"));
        assert!(
            e.contains("`release[0].title` is missing (there is `release[0].titel`)") || e.contains("titel"),
            "{e}"
        );
    }

    #[test]
    fn versions_are_ordered_in_time() {
        fn of(name: &str) -> (Version, &str) {
            Version::of(name).unwrap()
        }
        assert!(of("3.8").0 < of("3.13").0 && of("6.4-rc2").0 < of("6.4-rc10").0 && of("6.4-rc10").0 < of("6.4").0);
        assert_eq!((of("6.4-rc2+x").1, of("6.12-tiering").1, of("6.4").1), ("+x", "-tiering", ""));
        assert!(of("7.2").0 < of("7.3-rc").0 && of("7.3-rc").0 < of("7.3-rc1").0 && of("7.3-rc").1.is_empty());
        assert!(Version::of("off").is_none() && Version::of("6").is_none() && Version::of("debian-6.1").is_none());
    }
}
