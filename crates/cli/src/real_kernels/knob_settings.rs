//! Settings of knobs behind an image: `series:linux,vma_filter=rfc_v3`.
//!
//! Problem: one image is several kernels, by the files that choose among its policies. Approach: the settings stand
//! behind the image, where commas also separate kernels; what looks like `NAME=VALUE` and names no image belongs to the
//! image before it. In the resolved kernel they are tunables with a file, so they are written, checked and recorded as
//! any other, and they are part of a plan's identity.

use super::image_names::{image_error, split};
use numalab_lab::image::ImageSpec;
use numalab_model::kernel::series::{Series, KNOB_GROUP};
use numalab_model::kernel::{Kernel, Setting, TunableChoice, DEFAULT};
use numalab_model::spec::{SpecError, Spot};

/// Origin of a setting that was made on the command line or in the experiment.
pub const SET: &str = "--set";
/// Value of a setting that keeps the kernel's default.
pub const KERNEL_DEFAULT: &str = "the kernel's own";
/// Where the file of a setting without a list of knobs may be.
const PLACES: [&str; 2] = ["/sys/", "/proc/sys/"];

/// The kernel with the knobs of its image: those that are set, and what the kernel has of the others.
///
/// # Errors
/// A knob that the image does not have, a value that it does not take, or a list of knobs that cannot be read.
pub fn add(mut kernel: Kernel, name: &Spot<String>) -> Result<Kernel, SpecError> {
    let Some(text) = kernel.image.clone() else { return Ok(kernel) };
    let (image, settings) = split(&text);
    kernel.image = Some(image.to_string());
    // Images of other kinds have no knobs, and are read where they boot.
    if settings.is_empty() && !image.starts_with("series:") && !image.starts_with("tree:") {
        return Ok(kernel);
    }
    let spec = ImageSpec::parse(image).map_err(|e| image_error(name, e))?;
    let series = spec.knobs()?;
    let settings = settings.split(',').filter(|s| !s.is_empty()).map(|s| setting(s, name));
    let settings = settings.collect::<Result<Vec<_>, _>>()?;
    check(&settings, series.as_ref(), &spec)?;
    for knob in series.iter().flat_map(|s| &s.knobs) {
        let set = settings.iter().find(|s| s.name.value == knob.name.value);
        kernel.tunables.push(TunableChoice {
            name: format!("{KNOB_GROUP}{}", knob.name.value),
            value: set.map_or(KERNEL_DEFAULT, |s| s.value.as_str()).to_string(),
            unit: String::new(),
            kernel_name: knob.path.clone(),
            origin: if set.is_some() { SET } else { DEFAULT }.to_string(),
        });
    }
    for path in settings.iter().filter(|s| s.name.value.starts_with('/')) {
        kernel.tunables.push(TunableChoice {
            name: format!("{KNOB_GROUP}{}", path.name.value),
            value: path.value.clone(),
            unit: String::new(),
            kernel_name: path.name.value.clone(),
            origin: SET.to_string(),
        });
    }
    Ok(kernel)
}

/// Reads `NAME=VALUE`; `kernel` is the kernel that has it.
fn setting(text: &str, kernel: &Spot<String>) -> Result<Setting, SpecError> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            let name = kernel.clone().map(|_| name.trim().to_string());
            Ok(Setting { name, value: value.trim().to_string() })
        }
        _ => Err(kernel.error(format!("`{text}` is no setting of a knob"), "NAME=VALUE")),
    }
}

/// Checks settings against the list of knobs of an image, if it has one.
///
/// # Errors
/// See [`Series::check`]; a name without a list, or a path that is no file of a kernel's settings.
pub fn check(settings: &[Setting], series: Option<&Series>, image: &ImageSpec) -> Result<(), SpecError> {
    let (paths, named): (Vec<_>, Vec<_>) = settings.iter().cloned().partition(|s| s.name.value.starts_with('/'));
    for path in &paths {
        let text = &path.name.value;
        let inside = PLACES.iter().any(|place| text.starts_with(place)) && !text.split('/').any(|p| p == "..");
        if !inside || text.contains(|c: char| !c.is_ascii_graphic() || "()".contains(c)) {
            return Err(path.name.error(format!("`{text}` is no setting"), "a file below /sys or /proc/sys"));
        }
    }
    match (series, named.first()) {
        (Some(series), _) => series.check(&named),
        (None, None) => Ok(()),
        (None, Some(first)) => {
            let what = format!("`{image}` lists no knobs, so it has no `{}`", first.name.value);
            let expected =
                "series:DIR, series.toml at the top of the tree, or the path of a file (/sys/kernel/debug/…)";
            Err(first.name.error(what, expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{named, Context};
    use crate::real_kernels::{images, joined, kernels};
    use numalab_lab::knobs;
    use numalab_model::kernel::series::SERIES_FILE;
    use std::path::Path;

    const TOML: &str = "base = \"6.12\"\npatches = []\n[[knob]]\nname = \"vma_filter\"\n\
        path = \"/sys/kernel/debug/numalab/vma_filter\"\nvalues = [\"stock\", \"rfc_v3\"]\ndefault = \"stock\"\n\
        [[knob]]\nname = \"threads\"\npath = \"/proc/sys/kernel/numalab_threads\"\nmin = 1\nmax = 8\ndefault = 1\n";

    fn folder(at: &Path) -> String {
        std::fs::write(at.join(SERIES_FILE), TOML).unwrap();
        at.display().to_string()
    }

    fn resolve(name: &str) -> Result<Kernel, SpecError> {
        let context = Context::new(None).unwrap();
        kernels(&context, &[named("--kernel", name)], &[]).map(|mut k| k.remove(0))
    }

    #[test]
    fn commas_separate_kernels_and_settings_of_knobs() {
        let of = |text: &str| joined(&text.split(',').map(str::to_string).collect::<Vec<_>>());
        assert_eq!(of("series:linux,a=b,c=d,6.12"), ["series:linux,a=b,c=d", "6.12"]);
        assert_eq!(of("x=series:linux,a=b,y=series:linux"), ["x=series:linux,a=b", "y=series:linux"]);
        assert_eq!(of("debian-6.12,off"), ["debian-6.12", "off"]);
        assert_eq!(of("debian-6.12,/proc/sys/kernel/a=1"), ["debian-6.12,/proc/sys/kernel/a=1"]);
        assert_eq!(of("6.12,a=b"), ["6.12", "a=b"], "a kernel of the catalog has no knobs");
    }

    #[test]
    fn a_knob_that_is_set_is_written_and_the_others_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let dir = folder(directory.path());
        let kernel = resolve(&format!("fix=series:{dir},vma_filter=rfc_v3")).unwrap();
        assert_eq!((kernel.name.as_str(), kernel.image.as_deref()), ("fix", Some(format!("series:{dir}").as_str())));
        let written = knobs::of(&kernel).unwrap();
        let of = |name: &str| written.iter().find(|k| k.name == name).unwrap();
        let (filter, threads) = (of("knob.vma_filter"), of("knob.threads"));
        let path = "/sys/kernel/debug/numalab/vma_filter";
        assert_eq!((filter.kernel_name.as_str(), filter.value.as_str(), filter.required), (path, "rfc_v3", true));
        assert_eq!((threads.value.as_str(), threads.required), ("", false));
        // Two settings of one image are two plans of the same image.
        let plain = resolve(&format!("series:{dir}")).unwrap();
        assert_ne!(plain.tunable("knob.vma_filter"), kernel.tunable("knob.vma_filter"));
        let both = [named("--kernel", "a"), named("--kernel", "b")];
        let specs = images(&mut [plain, kernel], &both).unwrap();
        assert_eq!(specs[0], specs[1]);
    }

    #[test]
    fn what_an_image_does_not_have_is_refused_with_place_and_nearest_name() {
        let directory = tempfile::tempdir().unwrap();
        let dir = folder(directory.path());
        let refused = |settings: &str| resolve(&format!("series:{dir},{settings}")).unwrap_err();
        let e = refused("vma_filtr=rfc_v3");
        assert_eq!(e.nearest.as_deref(), Some("vma_filter"));
        assert!(e.to_string().starts_with("--kernel"), "{e}");
        assert_eq!(refused("vma_filter=rfc_v4").nearest.as_deref(), Some("rfc_v3"));
        assert!(refused("threads=9").expected.contains("from 1 to 8"));
        assert!(refused("threads").what.contains("no setting of a knob"));
        assert!(refused("/etc/passwd=1").expected.contains("/proc/sys"));
        assert!(refused("/sys/../etc/passwd=1").expected.contains("/proc/sys"));
        let e = resolve("debian-6.12,vma_filter=rfc_v3").unwrap_err();
        assert!(e.what.contains("`debian-6.12` lists no knobs"), "{e}");
        let file = resolve("debian-6.12,/proc/sys/kernel/numa_x=1").unwrap();
        assert_eq!(file.tunable("knob./proc/sys/kernel/numa_x"), Some("1"));
        let e = resolve("series:/no/such").unwrap_err();
        assert!(e.file.contains("/no/such/series.toml") && e.what.contains("no such file"), "{e}");
    }
}
