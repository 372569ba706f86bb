//! `numalab kernel build`: find, fetch or build a kernel image for guests.

use crate::failure::{note, Done, Failure};
use numalab_lab::cache::Cache;
use numalab_lab::image::{self, ImageSpec, PackageVersion};
use numalab_model::spec::SpecError;
use serde::Serialize;
use std::time::Instant;

/// Arguments of `kernel build`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Image: debian-6.12, deb:FILE, bzImage:FILE, vmlinux:FILE, tree:DIR, tree:DIR@REVISION,
    /// source:6.12+patch:FILE…, series:DIR (docs/reference/vm.md)
    image: String,
    /// Fetch the newest package of debian-SERIES or source:SERIES, and use it from now on
    #[arg(long)]
    refresh: bool,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// `kernel build --json` (docs/reference/json.md).
#[derive(Serialize)]
struct Built {
    image: String,
    origin: String,
    path: String,
    sha256: String,
    patches_itself: bool,
    config_sha256: Option<String>,
    commit: Option<String>,
    describe: Option<String>,
    dirty: Option<bool>,
}

/// Prepares the image, and prints the time it took on standard error.
///
/// # Errors
/// A text that names no image; a refresh of an image that is no package; a missing tool; a kernel that does not build.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let spec = ImageSpec::parse(&args.image)?;
    if args.refresh && !spec.is_packaged() {
        let what = format!("--refresh: has no effect on {spec}, which is always read as it is");
        return Err(Failure::usage(format!("{what}; expected debian-SERIES, source:SERIES or series:DIR")));
    }
    let which = if args.refresh { PackageVersion::Newest } else { PackageVersion::Kept };
    spec.check().map_err(|e| SpecError { file: format!("kernel build {spec}"), ..e })?;
    let cache = Cache::open().map_err(|e| Failure::environment(format!("cache: {e}")))?;
    let start = Instant::now();
    let image = image::resolve(&spec, which, &cache, &mut note).map_err(Failure::environment)?;
    note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    let revision = image.built.as_ref().and_then(|b| b.revision.as_ref());
    let built = Built {
        image: args.image.clone(),
        origin: image.origin.clone(),
        path: image.path.display().to_string(),
        sha256: image.sha256.clone(),
        patches_itself: image.patches_itself,
        config_sha256: image.built.as_ref().map(|b| b.config_sha256.clone()),
        commit: revision.map(|r| r.commit.clone()),
        describe: revision.map(|r| r.describe.clone()),
        dirty: revision.map(|r| r.dirty),
    };
    if args.json {
        return Done::json(&built);
    }
    let mut text = format!("{}\norigin {}\nsha256 {}\n", built.path, built.origin, built.sha256);
    for (name, value) in
        [("describe", &built.describe), ("commit", &built.commit), ("config_sha256", &built.config_sha256)]
    {
        if let Some(value) = value {
            text.push_str(&format!("{name} {value}\n"));
        }
    }
    Ok(Done::text(text))
}
