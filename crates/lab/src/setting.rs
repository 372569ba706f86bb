//! What is said of a setting that the running kernel does not have, take or keep: what was expected, and the nearest
//! name that is there.

use numalab_model::spec::nearest;
use numalab_worker::setting::{Problem, SettingError};

/// The names of a folder that are listed at most.
const LISTED: usize = 12;

/// The text for a wrong setting.
pub(crate) fn told(error: &SettingError) -> String {
    let name = &error.name;
    match &error.problem {
        Problem::NoFile { folder, own_folder: true, has } => {
            // A name ends with that of the file, after a slash or, of a sysctl, a point.
            let cut = name.rfind('/').or_else(|| name.rfind('.')).map_or(0, |at| at + 1);
            let (before, file) = name.split_at(cut);
            let near = nearest(file, has.iter().map(String::as_str));
            let meant = near.map_or(String::new(), |n| format!("; did you mean `{before}{n}`?"));
            format!("`{name}`: this kernel has no such file; expected one of {folder}: {}{meant}", some(has))
        }
        Problem::NoFile { folder, has, .. } => format!(
            "`{name}`: this kernel has no such folder; expected a kernel that is built with what brings it, such as \
             series:DIR; {folder} has {}",
            some(has)
        ),
        Problem::Refused { value, shown, .. } if shown.contains('[') => {
            let words: Vec<&str> = shown.split_whitespace().map(|w| w.trim_matches(['[', ']'])).collect();
            let meant =
                nearest(value, words.iter().copied()).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            format!("{error}; expected one of {}{meant}", words.join(", "))
        }
        Problem::Refused { shown, .. } => format!("{error}; expected a value that it takes, such as its own {shown}"),
        Problem::NoName | Problem::Unreadable(_) | Problem::Changed { .. } => error.to_string(),
    }
}

/// The first of some names.
fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(LISTED)].join(", ");
    match names.len().saturating_sub(LISTED) {
        0 if names.is_empty() => "nothing".into(),
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, problem: Problem) -> String {
        told(&SettingError { name: name.into(), problem })
    }

    fn missing(name: &str, folder: &str, own_folder: bool, has: &[&str]) -> String {
        let has = has.iter().map(|h| (*h).to_string()).collect();
        of(name, Problem::NoFile { folder: folder.into(), own_folder, has })
    }

    #[test]
    fn the_nearest_file_of_the_folder_is_offered_in_the_form_of_the_name() {
        let has = ["page_filter", "vma_filter"];
        let path = "/sys/kernel/debug/numalab";
        let e = missing(&format!("{path}/vma_filtr"), path, true, &has);
        assert!(e.ends_with("; did you mean `/sys/kernel/debug/numalab/vma_filter`?"), "{e}");
        let e = missing("kernel.numa_balancng", "/proc/sys/kernel", true, &["numa_balancing", "panic"]);
        assert!(e.ends_with("; did you mean `kernel.numa_balancing`?"), "{e}");
        let e = missing("vm.qqq", "/proc/sys/vm", true, &has);
        assert!(e.contains("expected one of /proc/sys/vm: page_filter, vma_filter") && !e.contains("mean"), "{e}");
    }

    #[test]
    fn a_missing_folder_is_that_of_another_kernel() {
        let e = missing("/sys/kernel/debug/numalab/vma_filter", "/sys/kernel/debug", false, &["sched", "tracing"]);
        assert!(e.contains("no such folder; expected a kernel that is built with"), "{e}");
        assert!(e.contains("such as series:DIR; /sys/kernel/debug has sched, tracing"), "{e}");
        let many: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        assert!(some(&many).ends_with("11 and 8 more"), "{}", some(&many));
    }

    #[test]
    fn a_refused_value_comes_with_the_words_of_its_file() {
        let refused = |value: &str, shown: &str| {
            let (value, shown) = (value.into(), shown.into());
            of("/x/y", Problem::Refused { value, reason: "Invalid argument (os error 22)".into(), shown })
        };
        let e = refused("alwys", "always [madvise] never");
        assert!(e.contains("`/x/y`: the kernel refuses alwys: Invalid argument"), "{e}");
        assert!(e.ends_with("expected one of always, madvise, never; did you mean `always`?"), "{e}");
        assert!(refused("-1", "7").ends_with("such as its own 7"), "{}", refused("-1", "7"));
    }
}
