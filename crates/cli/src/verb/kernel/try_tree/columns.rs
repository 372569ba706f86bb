//! The columns of `kernel try`: a kernel with its knobs as they are, one for every `--knob`, and the simulator's like.

use super::request::column;
use crate::context::Context;
use crate::failure::{note, Failure};
use crate::real_kernels;
use numalab_lab::image::ImageSpec;
use numalab_model::experiment::Column;
use numalab_model::kernel::series::Series;
use numalab_model::kernel::Setting;
use numalab_model::spec::SpecError;

/// Option of the command line, the place in messages.
const OPTION: &str = "--knob";

/// Settings of knobs that make one column: `scan_filter=rfc_v3,threads=4`.
#[derive(Clone, Debug)]
pub struct KnobColumn {
    name: String,
    settings: Vec<Setting>,
}

/// Reads every `--knob`, and checks it with the knobs of the image.
///
/// # Errors
/// No setting with a value, a knob that the image does not have, or a value that it does not take.
pub fn knob_columns(texts: &[String], image: &ImageSpec) -> Result<Vec<KnobColumn>, SpecError> {
    let series = image.knobs()?;
    let one = |text: &String| {
        let settings = text.split(',').map(|s| Setting::from_argument(OPTION, s)).collect::<Result<Vec<_>, _>>()?;
        real_kernels::check_knobs(&settings, series.as_ref(), image)?;
        let written: Vec<String> = settings.iter().map(|s| format!("{}={}", s.name.value, s.value)).collect();
        Ok(KnobColumn { name: written.join(","), settings })
    };
    texts.iter().map(one).collect()
}

/// Columns of guests: `base`, then the changed kernel as it is unless it is the base, then one for every `--knob`.
pub fn of_guests(base: &ImageSpec, changed: &ImageSpec, knobs: &[KnobColumn]) -> Vec<Column> {
    let mut out = vec![column("--base", "base", &base.to_string(), Vec::new())];
    if base != changed {
        let name = if matches!(changed, ImageSpec::Series(_)) { "series" } else { "tree" };
        out.push(column(&format!("--{name}"), name, &changed.to_string(), Vec::new()));
    }
    out.extend(knobs.iter().map(|k| column(OPTION, &k.name, &format!("{changed},{}", k.name), Vec::new())));
    out
}

/// Columns of the simulator that decide as these knobs do: the release of the same series as it is, and with the role
/// or tunable of each knob. A column with a knob that the simulator does not have is left out, and a note says so.
///
/// # Errors
/// No column is left, or the image lists no knobs.
pub fn of_simulator(
    context: &Context,
    release: &str,
    series: Option<&Series>,
    knobs: &[KnobColumn],
) -> Result<Vec<Column>, Failure> {
    let kernel = real_kernels::release_like(&context.catalog, release)?;
    let mut out = vec![column("--sim", "base", &kernel, Vec::new())];
    for knob in knobs {
        match knob.settings.iter().map(|s| simulated(series, s)).collect::<Option<Vec<_>>>() {
            Some(sets) => out.push(column(OPTION, &knob.name, &kernel, sets)),
            None => note(&format!("--knob {}: the simulator has no such role, so it is not run there", knob.name)),
        }
    }
    if out.len() == 1 {
        let what = "--sim: the simulator has no role for any --knob";
        return Err(Failure::usage(format!("{what}; expected a knob with a `role` in series.toml")));
    }
    Ok(out)
}

/// The setting of the simulator that stands for one of a knob.
fn simulated(series: Option<&Series>, setting: &Setting) -> Option<Setting> {
    let knob = series?.knobs.iter().find(|k| k.name.value == setting.name.value)?;
    let (role, word) = knob.simulated(&setting.value)?;
    Some(Setting { name: setting.name.clone().map(|_| role), value: word })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "base = \"6.12\"\npatches = []\n[[knob]]\nname = \"filter\"\n\
        path = \"/sys/kernel/debug/numalab/filter\"\nvalues = [\"stock\", \"v3\"]\ndefault = \"stock\"\n\
        role = \"vma_filter\"\nwords = { v3 = \"rfc_v3\" }\n\
        [[knob]]\nname = \"threads\"\npath = \"/proc/sys/kernel/t\"\nmin = 1\nmax = 8\ndefault = 1\n";

    fn knobs(texts: &[&str]) -> (tempfile::TempDir, ImageSpec, Result<Vec<KnobColumn>, SpecError>) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("series.toml"), TOML).unwrap();
        let image = ImageSpec::Series(directory.path().to_path_buf());
        let columns = knob_columns(&texts.iter().map(ToString::to_string).collect::<Vec<_>>(), &image);
        (directory, image, columns)
    }

    #[test]
    fn every_option_is_a_column() {
        let (_dir, image, columns) = knobs(&["filter=v3", "filter=stock,threads=4"]);
        let columns = of_guests(&image, &image, &columns.unwrap());
        let names: Vec<_> = columns.iter().map(|c| c.name.value.as_str()).collect();
        assert_eq!(names, ["base", "filter=v3", "filter=stock,threads=4"]);
        assert_eq!(columns[2].kernel.value, format!("{image},filter=stock,threads=4"));
        let other = of_guests(&ImageSpec::Debian("6.12".into()), &image, &[]);
        let names: Vec<_> = other.iter().map(|c| c.name.value.as_str()).collect();
        assert_eq!(names, ["base", "series"]);
    }

    #[test]
    fn a_wrong_knob_is_refused_with_its_option() {
        let (_dir, _, columns) = knobs(&["filter=v3", "filter=stok"]);
        let e = columns.unwrap_err();
        assert_eq!((e.file.as_str(), e.nearest.as_deref()), ("--knob filter=stok", Some("stock")));
        assert!(knobs(&["filtr=v3"]).2.unwrap_err().what.contains("no knob `filtr`"));
        assert!(knobs(&["filter"]).2.unwrap_err().what.contains("no name and value"));
        let tree = ImageSpec::Tree("/no/such".into());
        assert!(knob_columns(&["filter=v3".into()], &tree).unwrap_err().expected.contains("series.toml"));
        assert!(knob_columns(&["/sys/kernel/debug/x=1".into()], &tree).is_ok());
    }

    #[test]
    fn the_simulator_gets_its_own_words() {
        let context = Context::new(None).unwrap();
        let (_dir, image, columns) = knobs(&["filter=v3", "threads=4"]);
        let (series, columns) = (image.knobs().unwrap(), columns.unwrap());
        let of = of_simulator(&context, "6.12", series.as_ref(), &columns).unwrap();
        assert_eq!(of.iter().map(|c| c.name.value.as_str()).collect::<Vec<_>>(), ["base", "filter=v3"]);
        assert_eq!((of[1].sets[0].name.value.as_str(), of[1].sets[0].value.as_str()), ("vma_filter", "rfc_v3"));
        assert!(of.iter().all(|c| c.kernel.value == "6.12"));
        assert!(of_simulator(&context, "6.12", series.as_ref(), &columns[1..]).is_err());
    }
}
