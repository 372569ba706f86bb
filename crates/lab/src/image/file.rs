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
    if let Some(what) = is_bzimage(path).then(|| cut_off(path)).flatten() {
        return Err(format!("{what}; copy it again"));
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

/// What is wrong with a compressed kernel that is shorter than its header says, if it is: guests would not even start
/// it. The sizes are `setup_sects` and `syssize` of the boot protocol (Documentation/arch/x86/boot.rst).
pub(super) fn cut_off(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut head = [0u8; 0x1f8];
    let mut file = input::open(path, u64::MAX).ok()?;
    let has = file.metadata().ok()?.len();
    file.read_exact(&mut head).ok()?;
    let sectors = if head[0x1f1] == 0 { 4 } else { u64::from(head[0x1f1]) };
    let paragraphs = u64::from(u32::from_le_bytes([head[0x1f4], head[0x1f5], head[0x1f6], head[0x1f7]]));
    let says = (sectors + 1) * 512 + paragraphs * 16;
    let cut = paragraphs > 0 && has < says;
    cut.then(|| format!("{} is cut off: it has {has} bytes, and its header says {says}", path.display()))
}

/// Whether a file is an ELF file.
pub(super) fn is_elf(path: &Path) -> bool {
    starts_with(path, 0, b"\x7fELF")
}
