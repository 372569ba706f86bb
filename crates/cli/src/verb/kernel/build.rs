//! `numalab kernel build`: an image, made ready for guests.

use crate::failure::{note, Done, Failure};
use numalab_lab::cache::Cache;
use numalab_lab::image::{self, ImageSpec};
use serde::Serialize;
use std::time::Instant;

/// Arguments of `kernel build`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Image: debian-6.12, deb:FILE, bzImage:FILE, vmlinux:FILE, tree:DIR, tree:DIR@REVISION, source:6.12+patch:FILE…
    image: String,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// `kernel build --json` (docs/json.md).
#[derive(Serialize)]
struct Built {
    image: String,
    origin: String,
    path: String,
    sha256: String,
    patches_itself: bool,
}

/// Builds, and says how long it took on standard error.
///
/// # Errors
/// A text that is no image; a missing tool; a kernel that does not build.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let spec = ImageSpec::parse(&args.image)?;
    let cache = Cache::open().map_err(|e| Failure::environment(format!("cache: {e}")))?;
    let start = Instant::now();
    let image = image::resolve(&spec, &cache, &mut note).map_err(Failure::environment)?;
    note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    let built = Built {
        image: args.image.clone(),
        origin: image.origin,
        path: image.path.display().to_string(),
        sha256: image.sha256,
        patches_itself: image.patches_itself,
    };
    if args.json {
        return Done::json(&built);
    }
    Ok(Done::text(format!("{}\norigin {}\nsha256 {}\n", built.path, built.origin, built.sha256)))
}
