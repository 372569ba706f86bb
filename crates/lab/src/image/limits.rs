//! Largest files that are read for an image, and the most that an archive may unpack to.
//!
//! Each is a few times what real kernels need, so that a file from a stranger cannot fill memory or disk
//! (docs/reference/files.md).

/// A kernel image: `bzImage:FILE`, `vmlinux:FILE`, and the kernel in a package. An unstripped kernel has about 1 GiB.
pub const IMAGE_BYTES_MAX: u64 = 2 << 30;
/// A compressed kernel in a package. Those of distributions have 5 to 20 MiB.
pub const PACKAGED_IMAGE_BYTES_MAX: u64 = 256 << 20;
/// A package file.
pub const PACKAGE_BYTES_MAX: u64 = 4 << 30;
/// What is unpacked of a package until its wanted file is found.
pub const PACKAGE_UNPACKED_BYTES_MAX: u64 = 8 << 30;
/// The archive of a kernel's source in its package, compressed: 150 MiB for 6.12.
pub const SOURCE_BYTES_MAX: u64 = 1 << 30;
/// The unpacked source of a kernel: 1.6 GiB for 6.12.
pub const SOURCE_UNPACKED_BYTES_MAX: u64 = 8 << 30;
/// Files, folders and links of an archive: 90 thousand for the source of 6.12.
pub const ENTRIES_MAX: u64 = 1 << 20;
/// A patch file.
pub const PATCH_BYTES_MAX: u64 = 64 << 20;
/// A configuration fragment, or a text file of a source tree.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;
