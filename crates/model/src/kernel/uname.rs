//! What `uname -r` prints, as a kernel of the catalog.
//!
//! Problem: operators know their kernel as `5.14.0-570.12.1.el9_6.x86_64`. Distributions carry changes of later
//! releases, so the number alone is an approximation.
//! Approach: a distribution that the catalog knows is taken first, unless the name carries the sublevel of the stable
//! tree, as `6.12.48+deb13-amd64` does. RHEL is known by the number of its build. Then comes the nearest stable release
//! that is not later, then the row of the release, then the nearest row before it. A note says which, and how near that
//! is.

use super::{KernelSpec, Version};
use crate::spec::Spot;

/// Three numbers and the rest of what `uname -r` prints.
struct Name<'a> {
    numbers: [u32; 3],
    rest: &'a str,
}

fn parse(text: &str) -> Option<Name<'_>> {
    let mut numbers = [0; 3];
    let mut rest = text;
    for (i, n) in numbers.iter_mut().enumerate() {
        rest = if i > 0 { rest.strip_prefix('.')? } else { rest };
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        *n = rest[..end].parse().ok()?;
        rest = &rest[end..];
    }
    let word = |c: char| c.is_ascii_alphanumeric() || "-_.+~".contains(c);
    (rest.is_empty() || rest.starts_with(['-', '.', '+', '_'])).then_some(())?;
    rest.chars().all(word).then_some(Name { numbers, rest })
}

/// The distribution that the rest of the name tells, by its name in the catalog.
fn distribution(name: &Name<'_>) -> Option<String> {
    let [major, minor, patch] = name.numbers;
    if let Some((release, update)) = rhel(name.rest) {
        return Some(format!("rhel-{release}.{update}"));
    }
    // Kernels of Debian and Ubuntu say 0 and a number of their own, unless the sublevel stands there: 6.12.48+deb13.
    if patch > 0 && !name.rest.contains(".amzn") {
        return None;
    }
    let of = |table: &[(u32, u32, &str)]| {
        table.iter().find(|(a, b, _)| (*a, *b) == (major, minor)).map(|(_, _, name)| (*name).to_string())
    };
    if name.rest.contains("amzn2023") && major == 6 && minor == 1 {
        Some("amzn-2023".to_string())
    } else if name.rest.contains(".oe2403") {
        Some("openeuler-24.03".to_string())
    } else if name.rest.ends_with("-default") && name.rest.contains("1506") {
        Some("sles-15-sp6".to_string())
    } else if name.rest.ends_with("-default") && name.rest.contains("1507") {
        Some("sles-15-sp7".to_string())
    } else if ["-generic", "-aws", "-azure", "-gcp", "-lowlatency"].iter().any(|end| name.rest.ends_with(end)) {
        of(&[(5, 4, "ubuntu-20.04"), (5, 15, "ubuntu-22.04"), (6, 8, "ubuntu-24.04")])
    } else if name.rest.ends_with("-amd64") || name.rest.ends_with("-arm64") {
        of(&[(5, 10, "debian-11"), (6, 1, "debian-12"), (6, 12, "debian-13")])
    } else {
        None
    }
}

/// Builds with which the minor releases of RHEL began: `5.14.0-427` is 9.4. CentOS Stream counts on between them.
/// Source: Red Hat's article "Red Hat Enterprise Linux Release Dates".
const RHEL_BUILDS: [(u32, &[u32]); 3] = [
    (8, &[80, 147, 193, 240, 305, 348, 372, 425, 477, 513, 553]),
    (9, &[70, 162, 284, 362, 427, 503, 570, 611]),
    (10, &[55, 124]),
];

/// Release and update of RHEL and what is built like it: `-570.12.1.el9_6.x86_64`, or by its build `-427.el9.x86_64`.
fn rhel(rest: &str) -> Option<(u32, u32)> {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let at = rest.find(".el")?;
    let release = digits(&rest[at + 3..]);
    if let Some(update) = rest[at + 3 + release.len()..].strip_prefix('_').map(digits) {
        return Some((release.parse().ok()?, update.parse().ok()?));
    }
    let release = release.parse().ok()?;
    let build: u32 = digits(rest.strip_prefix('-')?).parse().ok()?;
    let (_, builds) = RHEL_BUILDS.iter().find(|(r, _)| *r == release)?;
    let update = builds.iter().take_while(|b| **b <= build).count().checked_sub(1)?;
    Some((release, update as u32))
}

/// The update of the same release of RHEL that is nearest to that of `name`, with how far it is.
fn rhel_near(name: &Name<'_>, names: &[String]) -> Option<(String, String)> {
    let (release, update) = rhel(name.rest)?;
    let prefix = format!("rhel-{release}.");
    let known = names.iter().filter_map(|n| Some((n.strip_prefix(&prefix)?.parse::<u32>().ok()?, n)));
    let (own, found) = known.min_by_key(|(own, _)| own.abs_diff(update))?;
    let which = if own > update { "after" } else { "before" };
    let near = format!("the nearest update of that distribution, {} {which} {release}.{update}", own.abs_diff(update));
    Some((found.clone(), near))
}

/// The kernel that stands for `text` among `names`; `None` if `text` is not what `uname -r` prints or nothing is near.
/// At least three numbers make it one: `6.8.0-45-generic`.
pub fn nearest(text: &str, names: &[String]) -> Option<KernelSpec> {
    let name = parse(text)?;
    let [major, minor, patch] = name.numbers;
    let known = |n: &String| names.iter().any(|k| k == n);
    let (found, near) = if let Some(found) = distribution(&name).filter(known) {
        (found, "the kernel of that distribution as far as the catalog knows it".to_string())
    } else if let Some(found) = rhel_near(&name, names) {
        found
    } else if let Some((stable, found)) = stable_of(names, major, minor, patch) {
        let near = match stable == patch {
            true => "that very release".to_string(),
            false => format!("the nearest release of its stable tree, {} before it", patch - stable),
        };
        (found, near)
    } else if known(&format!("{major}.{minor}")) {
        (
            format!("{major}.{minor}"),
            "the row of that release; what its stable tree or a distribution took over is not known".to_string(),
        )
    } else {
        (row_before(names, major, minor)?, "the nearest release before it that the catalog has".to_string())
    };
    let spot = |value: &str| Spot { value: value.to_string(), file: "kernel".into(), line: 0, column: 0 };
    Some(KernelSpec {
        name: spot(text),
        extends: None,
        alias_of: Some(spot(&found)),
        title: format!("{text}, as {found}"),
        about: String::new(),
        since: String::new(),
        image: None,
        roles: Vec::new(),
        tunables: Vec::new(),
        only_here: Vec::new(),
        release: false,
        note: Some(format!("kernel {text} runs as {found}: {near}")),
    })
}

/// The greatest `major.minor.N` of the catalog with N not above `patch`.
fn stable_of(names: &[String], major: u32, minor: u32, patch: u32) -> Option<(u32, String)> {
    let prefix = format!("{major}.{minor}.");
    let number = |n: &String| n.strip_prefix(&prefix)?.parse::<u32>().ok().filter(|p| *p <= patch);
    names.iter().filter_map(|n| Some((number(n)?, n.clone()))).max()
}

/// The last row before a release.
fn row_before(names: &[String], major: u32, minor: u32) -> Option<String> {
    let wanted = Version::of(&format!("{major}.{minor}"))?.0;
    let rows = names
        .iter()
        .filter_map(|n| Version::of(n).filter(|(v, rest)| rest.is_empty() && *v < wanted).map(|(v, _)| (v, n)));
    rows.max().map(|(_, n)| n.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(String, String)> {
        let names =
            "5.4 5.10 5.14 5.15 5.15.33 6.1 6.8 6.12 6.12.0 6.12.117 7.2 7.3-rc rhel-9.6 ubuntu-22.04 debian-12";
        let names: Vec<String> = names.split(' ').map(str::to_string).collect();
        let spec = nearest(text, &names)?;
        Some((spec.alias_of.unwrap().value, spec.note.unwrap()))
    }

    #[test]
    fn the_nearest_kernel_is_taken_and_the_note_says_how_near() {
        for (text, kernel, note) in [
            ("5.14.0-570.12.1.el9_6.x86_64", "rhel-9.6", "that distribution"),
            ("5.15.0-91-generic", "ubuntu-22.04", "that distribution"),
            ("6.1.0-28-amd64", "debian-12", "that distribution"),
            ("6.12.117", "6.12.117", "that very release"),
            ("6.12.50", "6.12.0", "50 before it"),
            ("5.15.200-custom", "5.15.33", "167 before it"),
            ("5.14.0-427.el9.x86_64", "rhel-9.6", "2 after 9.4"),
            ("5.14.0-570.el9.x86_64", "rhel-9.6", "that distribution"),
            ("5.14.0-700.el9.x86_64", "rhel-9.6", "1 before 9.7"),
            ("6.12.48", "6.12.0", "48 before it"),
            ("6.12.48+deb13-amd64", "6.12.0", "48 before it"),
            ("6.12.48+deb13-cloud-arm64", "6.12.0", "48 before it"),
            ("6.12.120-1-lts", "6.12.117", "3 before it"),
            ("6.8.12-9-pve", "6.8", "the row of that release"),
            ("5.15.40-051540-generic", "5.15.33", "7 before it"),
            ("6.8.12", "6.8", "the row of that release"),
            ("6.9.3-200.fc40.x86_64", "6.8", "nearest release before it"),
            ("7.5.1", "7.3-rc", "nearest release before it"),
        ] {
            let (got, said) = found(text).unwrap_or_default();
            assert_eq!(got, kernel, "{text}");
            assert!(said.contains(note) && said.contains(text), "{text}: {said}");
        }
    }

    #[test]
    fn other_names_stay_unknown() {
        for text in ["6.8", "6.8-mine", "6.12+mine", "six", "6.8.x", "6.8.0 generic", "2.6.32", "6.12.1abc"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
