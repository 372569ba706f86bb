//! What one entry of a mapping stands for.

use crate::base_page::BasePage;

/// A base page, or 2^k base pages side by side that share their state (docs/explanation/grains.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    page: BasePage,
    order: u8,
}

impl Grain {
    /// 2^`order` base pages, at most 512.
    #[inline]
    pub const fn of(page: BasePage, order: u32) -> Self {
        debug_assert!(order <= 9);
        Self { page, order: order as u8 }
    }
    /// One base page.
    #[inline]
    pub const fn one(page: BasePage) -> Self {
        Self::of(page, 0)
    }
    /// Its base pages' size.
    #[inline]
    pub const fn base_page(self) -> BasePage {
        self.page
    }
    /// Logarithm of its base pages.
    #[inline]
    pub const fn order(self) -> u32 {
        self.order as u32
    }
    /// Its base pages.
    #[inline]
    pub const fn pages(self) -> u64 {
        1 << self.order
    }
    /// Logarithm of its bytes.
    #[inline]
    pub const fn shift(self) -> u32 {
        self.page.shift() + self.order()
    }
    /// Its bytes.
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << self.shift()
    }
    /// Whole grains in so many bytes.
    #[inline]
    pub const fn count(self, bytes: u64) -> u64 {
        bytes >> self.shift()
    }
    /// Grains that so many bytes take, the last one perhaps in part.
    #[inline]
    pub const fn count_up(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes())
    }
    /// Bytes of so many grains.
    #[inline]
    pub const fn bytes_of(self, grains: u64) -> u64 {
        grains << self.shift()
    }
    /// The start of the grain that holds an address.
    #[inline]
    pub const fn floor(self, addr: u64) -> u64 {
        addr & !(self.bytes() - 1)
    }
    /// The start of the first grain at or behind an address.
    #[inline]
    pub const fn ceil(self, addr: u64) -> u64 {
        addr.next_multiple_of(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grain_of_one_page_is_a_page() {
        for page in [BasePage::Kib4, BasePage::Kib64] {
            let (g, bytes) = (Grain::one(page), 1_234_567);
            assert_eq!((g.bytes(), g.pages(), g.count(bytes)), (page.bytes(), 1, page.pages(bytes)));
            assert_eq!((g.count_up(bytes), g.floor(bytes)), (page.pages_up(bytes), page.floor(bytes)));
            assert_eq!((g.ceil(bytes), g.bytes_of(7)), (page.ceil(bytes), page.bytes_of(7)));
        }
        let g = Grain::of(BasePage::Kib4, 4);
        assert_eq!((g.bytes(), g.pages(), g.count(200_000), g.count_up(200_000)), (65_536, 16, 3, 4));
    }
}
