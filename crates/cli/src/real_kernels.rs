//! Real kernels: from the names of an experiment to images and settings.
//!
//! Problem: the simulator and real kernels must take the same experiment file. A catalog kernel describes a model; a
//! real kernel is a file that boots, and it has only its own settings. Approach: a catalog kernel names its image
//! (`image = "debian-6.12"`). An experiment may also name an image directly (`debian-6.12`, `tree:DIR`,
//! `NAME=source:6.12+patch:FILE`). Of the model only the settings remain that a real kernel has a file for. Other
//! settings are refused, and so are roles, which are compiled into a real kernel. Invariant: a kernel whose image is
//! [`SAME`] uses the image of another kernel of the experiment. So `off` beside `6.1` differs from `6.1` in the setting
//! alone.

mod image_names;
mod knob_settings;

pub use image_names::{image_error, is_image, joined};
pub use knob_settings::check as check_knobs;

use crate::context::Context;
use image_names::{split, split_image};
use knob_settings::{KERNEL_DEFAULT, SET};
use numalab_lab::image::ImageSpec;
use numalab_lab::knobs;
use numalab_model::catalog::Catalog;
use numalab_model::kernel::{self, Kernel, KernelSpec, Lookup, Setting, TunableChoice, Vocabulary, SAME_IMAGE as SAME};
use numalab_model::spec::{SpecError, Spot};

/// Image of a [`SAME`] kernel if no other kernel of the experiment has an image.
const DEFAULT_IMAGE: &str = "debian-6.12";

/// Name of the kernel that this machine runs, with NUMA balancing on.
pub const HOST: &str = "host";

/// The series of a release: `6.1` for `6.1.0-9-amd64`.
pub fn series(release: &str) -> String {
    release.split(['.', '-']).take(2).collect::<Vec<_>>().join(".")
}

/// The kernels of the catalog, images, and the running kernel if the backend offers it.
struct WithImages<'a> {
    catalog: &'a Catalog,
    /// Release of the running kernel; `None` if the backend does not offer it.
    running: Option<&'a str>,
}

/// The catalog kernel with the settings of a series: the one of the series itself, or the newest release.
///
/// # Errors
/// See [`Catalog::releases`].
pub fn release_like(catalog: &Catalog, series: &str) -> Result<String, SpecError> {
    if catalog.has_kernel(series) {
        return Ok(series.to_string());
    }
    Ok(catalog.releases()?.newest().unwrap_or_default().to_string())
}

impl Lookup for WithImages<'_> {
    fn kernel_spec(&self, name: &str) -> Result<Option<KernelSpec>, SpecError> {
        if let Some(release) = self.running.filter(|_| name == HOST) {
            let like = release_like(self.catalog, &series(release))?;
            let title = format!("the running kernel {release}, with NUMA balancing on");
            let text = format!("name = {HOST:?}\nextends = {like:?}\ntitle = {title:?}\nimage = {SAME:?}\n");
            return kernel::parse(name, &(text + "[tunables]\nsystem.numa_balancing = 1\n")).map(Some);
        }
        let Some((short, image)) = split_image(name) else { return self.catalog.kernel_spec(name) };
        let series = ImageSpec::parse(split(image).0)?.series().unwrap_or_default();
        let like = release_like(self.catalog, &series)?;
        let text = format!(
            "name = {short:?}\nextends = {like:?}\ntitle = {:?}\nimage = {image:?}\n",
            format!("the kernel image {image}")
        );
        kernel::parse(name, &text).map(Some)
    }
    fn kernel_names(&self) -> Vec<String> {
        let host = self.running.map(|_| HOST.to_string());
        host.into_iter().chain(self.catalog.kernel_names()).collect()
    }
}

/// Kernels by catalog name, path or image, as a real machine runs them.
///
/// # Errors
/// See [`kernel::resolve`]; an override of a role, or of a setting that only the model has.
pub fn kernels(context: &Context, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
    resolve_kernels(context, names, sets, None)
}

/// Kernels as [`kernels`] resolves them, and the running kernel of `release` under the name [`HOST`].
///
/// # Errors
/// See [`kernels`].
pub fn kernels_here(
    context: &Context,
    names: &[Spot<String>],
    sets: &[Setting],
    release: &str,
) -> Result<Vec<Kernel>, SpecError> {
    resolve_kernels(context, names, sets, Some(release))
}

fn resolve_kernels(
    context: &Context,
    names: &[Spot<String>],
    sets: &[Setting],
    running: Option<&str>,
) -> Result<Vec<Kernel>, SpecError> {
    let full = &context.vocabulary;
    let sets = &kernel::own_names(sets, full);
    // On a real kernel, whether a setting is read never depends on a role, and every setting is implemented.
    let mut vocabulary = full.clone();
    for t in &mut vocabulary.tunables {
        t.read_when.retain(|c| c.subject.contains('.'));
        t.unread = false;
    }
    let found = kernel::resolve(names, &WithImages { catalog: &context.catalog, running }, &vocabulary, sets)?;
    sets.iter().try_for_each(|s| refuse_model_only(context, s))?;
    let real = |(k, name)| knob_settings::add(without_model(k, name, sets, &vocabulary)?, name);
    found.into_iter().zip(names).map(real).collect()
}

/// Refuses an override that only the model can take.
fn refuse_model_only(context: &Context, set: &Setting) -> Result<(), SpecError> {
    let name = &set.name.value;
    if !name.contains('.') {
        let what = format!("`{name}` is compiled into a real kernel");
        let expected = "--backend sim, an image that has it, or a knob of a series (series:DIR,NAME=VALUE)";
        return Err(set.name.error(what, expected));
    }
    let tunable = context.vocabulary.tunables.iter().find(|t| t.name == *name);
    match tunable {
        Some(t) if !knobs::settable(t.kernel_name) => {
            let what = format!("`{name}` cannot be set on a real kernel ({})", t.kernel_name);
            Err(set.name.error(what, "a setting with a file under /proc or /sys, or --backend sim"))
        }
        _ => Ok(()),
    }
}

/// The kernel without roles and without settings that a real kernel does not have.
fn without_model(
    mut kernel: Kernel,
    name: &Spot<String>,
    sets: &[Setting],
    vocabulary: &Vocabulary,
) -> Result<Kernel, SpecError> {
    knobs::has_our_pages(&kernel).map_err(|e| name.error(e.what, e.expected))?;
    kernel.roles.clear();
    kernel.tunables.retain(|t| knobs::settable(&t.kernel_name));
    for set in sets {
        // The model's default may differ from the kernel's, so an override is written even if it equals the model's.
        let wanted = (vocabulary.check)(&set.name.value, &set.value).ok();
        let same = |t: &&mut TunableChoice| t.name == set.name.value && wanted.as_ref() == Some(&t.value);
        if let Some(t) = kernel.tunables.iter_mut().find(same) {
            t.origin = SET.into();
        }
    }
    let written = knobs::of(&kernel).map_err(|e| name.error(e.what, e.expected))?;
    for t in &mut kernel.tunables {
        if !written.iter().any(|k| k.name == t.name && !k.value.is_empty()) {
            t.value = KERNEL_DEFAULT.into();
        }
    }
    Ok(kernel)
}

/// The image of each kernel. Kernels whose image is [`SAME`] get the image of the first other kernel.
///
/// # Errors
/// A kernel without an image, or an image that cannot be parsed.
pub fn images(kernels: &mut [Kernel], names: &[Spot<String>]) -> Result<Vec<ImageSpec>, SpecError> {
    let own = |k: &Kernel| k.image.clone().filter(|i| i != SAME);
    let first = kernels.iter().find_map(own).unwrap_or_else(|| DEFAULT_IMAGE.to_string());
    let mut out = Vec::new();
    for (kernel, name) in kernels.iter_mut().zip(names) {
        if kernel.image.as_deref() == Some(SAME) {
            kernel.image = Some(first.clone());
        }
        let text = kernel.image.as_deref().ok_or_else(|| {
            let what = format!("kernel `{}` is a model only: it has no image", name.value);
            name.error(what, "a kernel with an `image` (6.1, 6.12, off), or an image (debian-6.12, tree:DIR, …)")
        })?;
        out.push(ImageSpec::parse(text).map_err(|e| image_error(name, e))?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::named;

    fn resolve(names: &[&str], sets: &[&str]) -> Result<Vec<Kernel>, SpecError> {
        let context = Context::new(None).unwrap();
        let names: Vec<_> = names.iter().map(|n| named("--kernel", n)).collect();
        let sets: Vec<_> = sets.iter().map(|s| Setting::from_argument("--set", s).unwrap()).collect();
        kernels(&context, &names, &sets)
    }

    fn images_of(names: &[&str]) -> Result<Vec<ImageSpec>, SpecError> {
        let mut kernels = resolve(names, &[])?;
        images(&mut kernels, &names.iter().map(|n| named("--kernel", n)).collect::<Vec<_>>())
    }

    #[test]
    fn catalog_kernels_and_images_stand_side_by_side() {
        let debian = |series: &str| ImageSpec::Debian(series.into());
        assert_eq!(images_of(&["6.1", "debian-6.12"]).unwrap(), [debian("6.1"), debian("6.12")]);
        assert_eq!(images_of(&["off", "6.1", "6.12"]).unwrap()[0], debian("6.1"), "off is the kernel beside it");
        assert_eq!(images_of(&["off"]).unwrap(), [debian("6.12")]);
        let fix = resolve(&["fix=source:6.12+patch:a.patch"], &[]).unwrap();
        assert_eq!(fix[0].name, "fix");
        let e = images_of(&["4.15"]).unwrap_err().to_string();
        assert!(e.contains("kernel `4.15` is a model only") && e.contains("tree:DIR"), "{e}");
        assert!(resolve(&["debian-six"], &[]).unwrap_err().to_string().contains("kernel series `six`"));
        assert!(resolve(&["6.33"], &[]).unwrap_err().to_string().contains("unknown kernel `6.33`"));
    }

    #[test]
    fn only_what_a_real_kernel_can_be_told_is_left() {
        let k = &resolve(&["6.12"], &["scan.scan_delay_ms=10", "system.zone_reclaim_mode=1"]).unwrap()[0];
        assert_eq!(k.name, "6.12[system.zone_reclaim_mode=1,scan.scan_delay_ms=10]");
        assert!(k.roles.is_empty() && k.warnings.is_empty(), "{k:?}");
        assert_eq!(k.tunable("scan.scan_delay_ms"), Some("10"));
        assert_eq!(k.tunable("scan.scan_size_mb"), Some(KERNEL_DEFAULT));
        assert_eq!(k.tunable("system.numa_balancing"), Some("1"), "the same on every backend");
        assert_eq!(k.tunable("system.hz"), None);
        let refused = |set: &str| resolve(&["6.12"], &[set]).unwrap_err().to_string();
        assert!(refused("vma_filter=off").contains("`vma_filter` is compiled into a real kernel"));
        let same = &resolve(&["6.12"], &["scan.scan_delay_ms=1000"]).unwrap()[0];
        assert_eq!(same.tunable("scan.scan_delay_ms"), Some("1000"), "the model's default, asked for");
        assert!(refused("numa.small_imp=false").contains("`numa.small_imp` cannot be set on a real kernel"));
    }
}
