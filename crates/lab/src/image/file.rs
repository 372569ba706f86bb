//! Kernel files of the user, recognised by their magic numbers.

use super::kernel::Image;
use super::limits::IMAGE_BYTES_MAX;
use crate::cache;
use crate::failure::at_path;
use numalab_model::files::input;
use std::path::Path;

/// The image in a user's file. `right` says whether the file is of the expected `kind`.
///
/// # Errors
/// The file cannot be read, or is of another kind.
pub(super) fn image(path: &Path, kind: &str, right: bool) -> Result<Image, String> {
    let file = input::open(path, IMAGE_BYTES_MAX).map_err(|e| e.message())?;
    let sha256 = cache::sha256_of(file).map_err(at_path(path))?;
    if !right {
        let expected =
            "bzImage: a kernel that boot loaders start (/boot/vmlinuz-…), vmlinux: an ELF file with a PVH entry";
        return Err(format!("{} is no {kind}; expected for {expected}", path.display()));
    }
    let path = path.canonicalize().map_err(at_path(path))?;
    let origin = format!("{kind} {}", path.display());
    // Its configuration is unknown; most distributions' kernels patch themselves.
    Ok(Image { origin, path, sha256, patches_itself: true, built: None })
}

/// Whether a file has a magic number at an offset.
pub(super) fn starts_with(path: &Path, offset: usize, magic: &[u8]) -> bool {
    use std::io::Read;
    let mut head = vec![0; offset + magic.len()];
    let read = input::open(path, u64::MAX).map(|mut f| f.read_exact(&mut head));
    matches!(read, Ok(Ok(()))) && &head[offset..] == magic
}

/// Whether a file is a compressed kernel.
pub(super) fn is_bzimage(path: &Path) -> bool {
    // Magic number of the Linux/x86 boot protocol, at its offset.
    starts_with(path, 0x202, b"HdrS")
}

/// Whether a file is an ELF file.
pub(super) fn is_elf(path: &Path) -> bool {
    starts_with(path, 0, b"\x7fELF")
}
