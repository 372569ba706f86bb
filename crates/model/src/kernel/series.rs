//! A series of patches for a release of Linux, and the knobs that it gives the kernel
//! (docs/reference/kernel-series.md).
//!
//! Problem: a policy that was posted as patches can be compared on a real kernel, but a kernel for each policy takes
//! long to build, and two kernels differ in more than the policy. Approach: one kernel has all policies, and a file of
//! the running kernel chooses among them: a *knob*. `series.toml` beside the patches says which knobs there are.
//! Invariant: every value of a knob that leaves this module is one that its file takes.

use super::Setting;
use crate::spec::{Doc, SpecError, Spot, Table};

/// Name of the file beside the patches.
pub const SERIES_FILE: &str = "series.toml";
/// Group of knobs among the settings of a kernel: `knob.NAME`.
pub const KNOB_GROUP: &str = "knob.";

/// Where a knob's file may be.
const PLACES: [&str; 2] = ["/sys/kernel/debug/", "/proc/sys/"];
const PATH: &str = "a file below /sys/kernel/debug or /proc/sys";

/// A series as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Release series that the patches are for, e.g. `6.12`.
    pub base: Spot<String>,
    /// Patches for `patch -p1`, in order, relative to the folder.
    pub patches: Vec<Spot<String>>,
    /// Files that are copied into the tree: from the folder, to the tree.
    pub files: Vec<(Spot<String>, Spot<String>)>,
    /// Lines of the kernel's configuration, such as `CONFIG_NUMALAB=y`.
    pub config: Vec<Spot<String>>,
    /// Knobs.
    pub knobs: Vec<Knob>,
}

/// A file of the running kernel that chooses among policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// Name.
    pub name: Spot<String>,
    /// Absolute path of its file in the guest.
    pub path: String,
    /// What it takes.
    pub values: Values,
    /// What it has after boot.
    pub default: String,
    /// Role or tunable of the simulator that decides the same, if there is one.
    pub role: Option<String>,
    /// The simulator's word for a word of the knob, where they differ.
    pub words: Vec<(String, String)>,
    /// The patch that brings it.
    pub patch: String,
    /// What it chooses, in one line.
    pub meaning: String,
}

/// What a knob takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these words.
    Words(Vec<String>),
    /// A whole number, ends included.
    Range(i64, i64),
}

impl Values {
    /// The values in words, for messages.
    pub fn text(&self) -> String {
        match self {
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Range(min, max) => format!("a whole number from {min} to {max}"),
        }
    }

    fn has(&self, value: &str) -> bool {
        match self {
            Self::Words(words) => words.iter().any(|w| w == value),
            Self::Range(min, max) => value.parse().is_ok_and(|n| (*min..=*max).contains(&n)),
        }
    }

    fn words(&self) -> &[String] {
        match self {
            Self::Words(words) => words,
            Self::Range(..) => &[],
        }
    }
}

impl Knob {
    /// Checks a value of this knob; `place` is where it was given.
    ///
    /// # Errors
    /// It is none of the knob's values.
    pub fn check(&self, value: &str, place: &Spot<String>) -> Result<(), SpecError> {
        if self.values.has(value) {
            return Ok(());
        }
        let what = format!("knob `{}` has no value `{value}`", self.name.value);
        let e = place.error(what, self.values.text());
        Err(e.near(value, self.values.words().iter().map(String::as_str)))
    }

    /// What the simulator calls a value of this knob, as a setting of a kernel; `None` if it has no such role.
    pub fn simulated(&self, value: &str) -> Option<(String, String)> {
        let word = self.words.iter().find(|w| w.0 == value).map_or(value, |w| w.1.as_str());
        self.role.as_ref().map(|role| (role.clone(), word.to_string()))
    }
}

impl Series {
    /// The knob of that name; `place` is where it was named.
    ///
    /// # Errors
    /// There is none.
    pub fn knob(&self, place: &Spot<String>) -> Result<&Knob, SpecError> {
        let name = &place.value;
        let names = || self.knobs.iter().map(|k| k.name.value.as_str());
        self.knobs.iter().find(|k| k.name.value == *name).ok_or_else(|| {
            let expected = match self.knobs.len() {
                0 => format!("no knobs: {} has none", self.base.file),
                _ => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
            };
            place.error(format!("the series has no knob `{name}`"), expected).near(name, names())
        })
    }

    /// Checks settings of knobs.
    ///
    /// # Errors
    /// A knob that the series does not have, a value that it does not take, or a knob that is set twice.
    pub fn check(&self, settings: &[Setting]) -> Result<(), SpecError> {
        for (n, setting) in settings.iter().enumerate() {
            self.knob(&setting.name)?.check(&setting.value, &setting.name)?;
            if settings[..n].iter().any(|s| s.name.value == setting.name.value) {
                let what = format!("knob `{}` is set twice", setting.name.value);
                return Err(setting.name.error(what, "each knob once"));
            }
        }
        Ok(())
    }
}

/// Parses a `series.toml`.
///
/// # Errors
/// Syntax, an unknown key, a path outside of its place, a knob without values or with a default that is none of them.
pub fn parse(file: &str, text: &str) -> Result<Series, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let base = root.str("base")?;
    let number = |p: &str| !p.is_empty() && p.len() < 4 && p.bytes().all(|b| b.is_ascii_digit());
    if !base.value.split_once('.').is_some_and(|(a, b)| number(a) && number(b)) {
        return Err(base.error(format!("`base` is `{}`", base.value), "a release series such as \"6.12\""));
    }
    let patches = root.strs("patches")?;
    patches.iter().try_for_each(inside)?;
    let mut files = Vec::new();
    for table in root.tables("files")? {
        let (from, to) = (table.str("from")?, table.str("to")?);
        table.finish()?;
        [&from, &to].into_iter().try_for_each(inside)?;
        files.push((from, to));
    }
    let config = root.strs("config")?;
    config.iter().try_for_each(config_line)?;
    let knobs = root.tables("knob")?.into_iter().map(knob).collect::<Result<Vec<_>, _>>()?;
    for (n, k) in knobs.iter().enumerate() {
        if knobs[..n].iter().any(|other| other.name.value == k.name.value) {
            return Err(k.name.error(format!("knob `{}` stands here twice", k.name.value), "each knob once"));
        }
    }
    root.finish()?;
    Ok(Series { base, patches, files, config, knobs })
}

/// Refuses a path that leaves its folder.
fn inside(path: &Spot<String>) -> Result<(), SpecError> {
    let parts = path.value.split('/');
    if path.value.is_empty() || path.value.starts_with('/') || parts.into_iter().any(|p| p == "..") {
        return Err(path.error(format!("`{}` leaves its folder", path.value), "a path inside of it"));
    }
    Ok(())
}

fn config_line(line: &Spot<String>) -> Result<(), SpecError> {
    let text = line.value.as_str();
    let symbol = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let set = text.strip_prefix("CONFIG_").and_then(|l| l.split_once('='));
    let set = set.is_some_and(|(s, value)| symbol(s) && !value.is_empty() && !value.contains('\n'));
    let unset = text.strip_prefix("# CONFIG_").and_then(|l| l.strip_suffix(" is not set")).is_some_and(symbol);
    if set || unset {
        return Ok(());
    }
    Err(line.error(format!("`{text}` is no line of a configuration"), "CONFIG_NAME=y or # CONFIG_NAME is not set"))
}

fn knob(table: Table<'_>) -> Result<Knob, SpecError> {
    let name = table.str("name")?;
    let word = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    if !word(&name.value) {
        return Err(name.error(format!("`{}` is no name of a knob", name.value), "letters, digits, `_`, `-` and `.`"));
    }
    let path = table.str("path")?;
    let plain = path.value.bytes().all(|b| b.is_ascii_graphic()) && !path.value.split('/').any(|p| p == "..");
    if !plain || !PLACES.iter().any(|place| path.value.starts_with(place)) {
        return Err(path.error(format!("`path` is `{}`", path.value), PATH));
    }
    let values = values(&table)?;
    let expected = values.text();
    let default = table.opt_setting("default")?.ok_or_else(|| table.missing("default", &expected))?;
    let mut words = Vec::new();
    if let Some(of) = table.opt_table("words")? {
        for key in of.keys() {
            if !values.has(&key.value) {
                return Err(key.error(format!("`words` has `{}`, which is no value of the knob", key.value), expected));
            }
            words.push((key.value.clone(), of.str(&key.value)?.value));
        }
    }
    let knob = Knob {
        path: path.value,
        values,
        default: default.value.clone(),
        role: table.opt_str("role")?.map(|r| r.value),
        words,
        patch: table.opt_str("patch")?.map(|p| p.value).unwrap_or_default(),
        meaning: table.opt_str("meaning")?.map(|m| m.value).unwrap_or_default(),
        name,
    };
    table.finish()?;
    knob.check(&default.value, &default)?;
    Ok(knob)
}

/// What a knob takes: `values`, or `min` and `max`.
fn values(table: &Table<'_>) -> Result<Values, SpecError> {
    let whole = i64::MIN..=i64::MAX;
    let (min, max) = (table.opt_int("min", whole.clone())?, table.opt_int("max", whole)?);
    let words = table.strs("values")?;
    let expected = "`values`, a list of words, or `min` and `max`";
    match (words.as_slice(), min, max) {
        ([], Some(min), Some(max)) if min.value <= max.value => Ok(Values::Range(min.value, max.value)),
        ([_, ..], None, None) => {
            let bad = words.iter().find(|w| w.value.is_empty() || w.value.contains(|c: char| !c.is_ascii_graphic()));
            match bad {
                Some(word) => Err(word.error(format!("`values` has `{}`", word.value), "words without blanks")),
                None => Ok(Values::Words(words.into_iter().map(|w| w.value).collect())),
            }
        }
        _ => Err(table.error("a knob needs the values that it takes", expected)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
base = "6.12"
patches = ["0001-knobs.patch"]
files = [{ from = "numalab.c", to = "kernel/sched/numalab.c" }]
config = ["CONFIG_NUMALAB=y"]
[[knob]]
name = "vma_filter"
path = "/sys/kernel/debug/numalab/vma_filter"
values = ["stock", "rfc_v3"]
default = "stock"
role = "vma_filter"
words = { stock = "v612" }
patch = "0001-knobs.patch"
meaning = "which mappings a scan passes over"
[[knob]]
name = "scan_threads"
path = "/proc/sys/kernel/numalab_scan_threads"
min = 1
max = 64
default = 4
"#;

    fn setting(text: &str) -> Setting {
        Setting::from_argument("--knob", text).unwrap()
    }

    #[test]
    fn a_series_is_read() {
        let s = parse("series.toml", TEXT).unwrap();
        assert_eq!((s.base.value.as_str(), s.patches.len(), s.files.len(), s.config.len()), ("6.12", 1, 1, 1));
        let [filter, threads] = s.knobs.as_slice() else { panic!("{s:?}") };
        assert_eq!(filter.values, Values::Words(vec!["stock".into(), "rfc_v3".into()]));
        assert_eq!((&threads.values, threads.default.as_str()), (&Values::Range(1, 64), "4"));
        let simulated = |value| filter.simulated(value).unwrap().1;
        assert_eq!((simulated("stock").as_str(), simulated("rfc_v3").as_str()), ("v612", "rfc_v3"));
        assert_eq!(threads.simulated("4"), None);
    }

    #[test]
    fn settings_that_the_series_does_not_have_are_refused_with_the_nearest() {
        let s = parse("series.toml", TEXT).unwrap();
        let refused = |list: &[&str]| s.check(&list.iter().map(|t| setting(t)).collect::<Vec<_>>()).unwrap_err();
        assert_eq!(s.check(&[setting("vma_filter=rfc_v3"), setting("scan_threads=64")]), Ok(()));
        let e = refused(&["vma_filtr=rfc_v3"]);
        assert_eq!((e.nearest.as_deref(), e.file.as_str()), (Some("vma_filter"), "--knob vma_filtr=rfc_v3"));
        assert!(e.expected.contains("vma_filter, scan_threads"), "{e}");
        let e = refused(&["vma_filter=rfc_v2"]);
        assert!(e.nearest.as_deref() == Some("rfc_v3") && e.expected.contains("stock, rfc_v3"), "{e}");
        for out in ["scan_threads=0", "scan_threads=65", "scan_threads=x", "scan_threads=1.5"] {
            assert!(refused(&[out]).expected.contains("from 1 to 64"), "{out}");
        }
        assert!(refused(&["vma_filter=stock", "vma_filter=rfc_v3"]).what.contains("twice"));
    }

    #[test]
    fn mistakes_have_a_place() {
        let with = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            let e = parse("s.toml", &TEXT.replacen(from, to, 1)).unwrap_err();
            assert!(e.line > 0 && !e.expected.is_empty(), "{from} -> {to}: {e}");
            e.to_string()
        };
        assert!(with("\"6.12\"", "\"six\"").contains("release series"));
        assert!(with("\"0001-knobs.patch\"]", "\"../x.patch\"]").contains("leaves its folder"));
        assert!(with("kernel/sched/numalab.c", "/etc/passwd").contains("leaves its folder"));
        assert!(with("CONFIG_NUMALAB=y", "NUMALAB=y").contains("no line of a configuration"));
        assert!(with("/sys/kernel/debug/numalab/", "/etc/").contains("/proc/sys"));
        assert!(with("debug/numalab/vma_filter", "debug/../vma_filter").contains("/proc/sys"));
        assert!(with("default = \"stock\"", "default = \"fast\"").contains("no value `fast`"));
        assert!(with("default = 4", "default = 65").contains("no value `65`"));
        assert!(with("stock = \"v612\"", "stok = \"v612\"").contains("no value of the knob"));
        assert!(with("min = 1\n", "").contains("values that it takes"));
        assert!(with("name = \"scan_threads\"", "name = \"vma_filter\"").contains("twice"));
        assert!(with("meaning =", "means =").contains("meaning"));
    }
}
