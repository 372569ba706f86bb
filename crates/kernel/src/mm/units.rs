//! Sizes of pages and chunks.

/// Bytes of a base page.
pub const PAGE_BYTES: u64 = 4096;
/// Base pages of a huge page and of a chunk.
pub const CHUNK_PAGES: u64 = 512;
/// Bytes of a chunk.
pub const CHUNK_BYTES: u64 = PAGE_BYTES * CHUNK_PAGES;
