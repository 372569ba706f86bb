//! Names of images in a list of kernels: `NAME=IMAGE`, with settings of knobs behind commas.

use numalab_lab::image::ImageSpec;
use numalab_model::spec::{SpecError, Spot};

/// Name and image of `NAME=IMAGE` or `IMAGE`; `None` if the text names no image. Settings of knobs stay with the image.
pub fn split_image(text: &str) -> Option<(&str, &str)> {
    let (name, image) = match text.split_once('=') {
        Some((name, image)) if !name.is_empty() && !name.contains([':', ',']) => (name, image),
        _ => (text, text),
    };
    ImageSpec::looks_like_image(image).then_some((name, image))
}

/// Whether the name of a kernel means an image.
pub fn is_image(name: &str) -> bool {
    split_image(name).is_some()
}

/// Kernels of a list whose commas also separate the settings of knobs.
pub fn joined(list: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in list {
        match out.last_mut() {
            Some(last) if part.contains('=') && !is_image(part) && is_image(last) => *last += &format!(",{part}"),
            _ => out.push(part.clone()),
        }
    }
    out
}

/// An image and the settings behind it.
pub fn split(image: &str) -> (&str, &str) {
    image.split_once(',').unwrap_or((image, ""))
}

/// An error about a kernel's image, with the place that names the kernel.
pub fn image_error(name: &Spot<String>, e: SpecError) -> SpecError {
    SpecError { nearest: e.nearest, ..name.error(e.what, e.expected) }
}
