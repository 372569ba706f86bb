//! Enums whose variants have a word in catalogs and on the command line.
//!
//! One list gives the variants, their words, and the order in which counters by variant are reported.

/// Declares an enum whose variants have words, with the constants `ALL` and `WORDS` and the methods `word` and `parse`.
///
/// ```
/// numalab_base::words! {
///     /// Size of a page.
///     pub enum PageSize {
///         /// 4 KiB.
///         Base = "4k",
///         /// 2 MiB.
///         Huge = "thp",
///     }
/// }
/// assert_eq!(PageSize::WORDS, ["4k", "thp"]);
/// assert_eq!(PageSize::parse("thp"), Some(PageSize::Huge));
/// assert_eq!(PageSize::Base.word(), "4k");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$vmeta])* $variant, )+ }
        impl $name {
            /// Every variant, in order.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];
            /// The words of the variants, in the order of [`Self::ALL`].
            pub const WORDS: &'static [&'static str] = &[ $( $word, )+ ];
            /// The word of this variant.
            pub fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
            /// The variant with this word; `None` if there is none.
            pub fn parse(word: &str) -> Option<Self> {
                Self::WORDS.iter().position(|w| *w == word).map(|i| Self::ALL[i])
            }
        }
    };
}
