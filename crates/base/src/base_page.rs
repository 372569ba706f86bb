//! The size of a base page, for which a kernel is built.

use crate::words;

words! {
    /// Size of a base page (`PAGE_SIZE`), KiB.
    pub enum BasePage {
        /// 4 KiB: all kernels for x86_64, most others.
        Kib4 = "4",
        /// 16 KiB: kernels for arm64 with CONFIG_ARM64_16K_PAGES.
        Kib16 = "16",
        /// 64 KiB: kernels for arm64 with CONFIG_ARM64_64K_PAGES, and for ppc64 with CONFIG_PPC_64K_PAGES.
        Kib64 = "64",
    }
}

impl BasePage {
    /// Logarithm of its bytes (`PAGE_SHIFT`).
    #[inline]
    pub const fn shift(self) -> u32 {
        12 + 2 * self as u32
    }
    /// Its bytes.
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << self.shift()
    }
    /// Whole pages in so many bytes.
    #[inline]
    pub const fn pages(self, bytes: u64) -> u64 {
        bytes >> self.shift()
    }
    /// Pages that so many bytes take, the last one perhaps in part.
    #[inline]
    pub const fn pages_up(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes())
    }
    /// Bytes of so many pages.
    #[inline]
    pub const fn bytes_of(self, pages: u64) -> u64 {
        pages << self.shift()
    }
    /// The start of the page that holds an address.
    #[inline]
    pub const fn floor(self, addr: u64) -> u64 {
        addr & !(self.bytes() - 1)
    }
    /// The start of the first page at or behind an address.
    #[inline]
    pub const fn ceil(self, addr: u64) -> u64 {
        addr.next_multiple_of(self.bytes())
    }
    /// How many pages of 4 KiB so many pages are.
    #[inline]
    pub const fn as_4k(self, pages: u64) -> u64 {
        pages << (self.shift() - Self::Kib4.shift())
    }
    /// Pages in so many MiB.
    #[inline]
    pub const fn of_mib(self, mib: u64) -> u64 {
        self.pages(mib << 20)
    }
    /// Entries of 8 bytes in a page table of one page.
    #[inline]
    pub const fn table_entries(self) -> u64 {
        self.bytes() / 8
    }
    /// Memory that one page table maps, bytes: 2 MiB, 32 MiB or 512 MiB.
    #[inline]
    pub const fn table_bytes(self) -> u64 {
        self.bytes() * self.table_entries()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_word() {
        let all = [BasePage::Kib4, BasePage::Kib16, BasePage::Kib64];
        assert_eq!(all.map(|p| (p.word(), p.bytes() >> 10)), [("4", 4), ("16", 16), ("64", 64)]);
        assert_eq!(all.map(|p| p.of_mib(256)), [65_536, 16_384, 4096]);
        assert_eq!(all.map(|p| p.table_bytes() >> 20), [2, 32, 512]);
        assert_eq!(all.map(|p| (p.pages(70_000), p.pages_up(70_000))), [(17, 18), (4, 5), (1, 2)]);
        assert_eq!(
            all.map(|p| (p.floor(70_000), p.ceil(70_000))),
            [(69_632, 73_728), (65_536, 81_920), (65_536, 131_072)]
        );
    }
}
