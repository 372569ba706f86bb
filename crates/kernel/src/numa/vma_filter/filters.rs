//! The visible list of VMA filters.

use super::filter::{Access, Filter, FilterContext, Shape};
use super::{off, rfc_v2, rfc_v3, rfc_v3_cover, v612, v612_budget, v64, v67, v68};
use crate::numa::state::VmaNuma;
use numalab_base::words;

/// Declares the enum of filters, and calls the file of each.
macro_rules! vma_filters {
    (
        $( #[doc = $doc:literal] )+
        pub enum $name:ident {
            $( $( #[doc = $vdoc:literal] )+ $variant:ident = $word:literal $( ($releases:literal) )? in $file:ident, )+
        }
    ) => {
        words! {
            $( #[doc = $doc] )+
            pub enum $name { $( $( #[doc = $vdoc] )+ $variant = $word $( ($releases) )?, )+ }
        }
        impl $name {
            /// Steps of the walk that this filter brings with it.
            pub const fn shape(self) -> Shape {
                match self { $( Self::$variant => <$file::$variant as Filter>::SHAPE, )+ }
            }
            /// Whether the thread may scan the VMA (`vma_is_accessed`).
            #[inline]
            pub fn access(self, vma: &VmaNuma, c: &FilterContext) -> Access {
                match self { $( Self::$variant => $file::$variant::access(vma, c), )+ }
            }
        }
    };
}

vma_filters! {
    /// Which VMAs a thread may scan.
    pub enum VmaFilter {
        /// Every suitable VMA.
        Off = "off" ("up to 6.3") in off,
        /// Only VMAs the thread touched lately, after two free passes of the address space.
        V64 = "v64" ("6.4") in v64,
        /// As v64; the free passes become a budget per VMA, 1 + size/scan size/2.
        RfcV3 = "rfc_v3" ("RFC V3, May 2023") in rfc_v3,
        /// As rfc_v3 with the budget as its covering letter words it, size/scan size/2.
        RfcV3Cover = "rfc_v3_cover" in rfc_v3_cover,
        /// As rfc_v3, one visit more, and the count starts again every 16 passes.
        RfcV2 = "rfc_v2" ("RFC V2") in rfc_v2,
        /// As v64; partly scanned VMAs are finished by any thread, one inactive VMA is forced per walk.
        V67 = "v67" ("6.7") in v67,
        /// As v67; the two free passes count from the VMA's own first scan.
        V68 = "v68" ("6.8") in v68,
        /// As v68; a VMA left alone for as many passes as there are threads is open to all.
        V612 = "v612" ("6.12") in v612,
        /// As v612; the free passes become the budget of rfc_v3.
        V612Budget = "v612_budget" ("catalog/guest/disjoint-vma-budget.patch") in v612_budget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a filter that lets every other thread scan.
    mod even_threads {
        use super::*;

        pub struct EvenThreads;

        impl Filter for EvenThreads {
            const SHAPE: Shape = Shape { state: true, ..Shape::NONE };
            fn access(_vma: &VmaNuma, c: &FilterContext) -> Access {
                Access::allow_if(c.tid.is_multiple_of(2))
            }
        }
    }

    vma_filters! {
        /// A list of its own.
        pub enum Toys {
            /// Every suitable VMA.
            Off = "off" in off,
            /// Any VMA, for threads with an even number.
            EvenThreads = "even_threads" ("never") in even_threads,
        }
    }

    #[test]
    fn a_filter_is_one_file_and_one_line() {
        let toy = Toys::parse("even_threads").unwrap();
        let c = FilterContext { seq: 0, tid: 2, scan_offset: 0, nr_threads: 4, scan_size_mb: 256, start: 0, end: 4096 };
        let vma = VmaNuma::default();
        assert!(toy.shape().state && !Toys::Off.shape().state);
        assert_eq!(toy.access(&vma, &c), Access::Allow);
        assert_eq!(toy.access(&vma, &FilterContext { tid: 3, ..c }), Access::Deny);
        assert_eq!(<Toys as numalab_base::words::Words>::DECLS[1].releases, "never");
    }
}
