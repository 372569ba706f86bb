//! Enums that a person names by a word in a catalog or on the command line.
//!
//! One list gives the variants, their words and the order in which counters of them are reported, so
//! that the three cannot differ.

/// Declares an enum whose variants have words; see the generated `ALL`, `WORDS`, `word` and `parse`.
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
            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[ $( $word, )+ ];
            /// The word of this variant.
            pub fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
            /// The variant a word names, `None` if it names none of [`Self::WORDS`].
            pub fn parse(word: &str) -> Option<Self> {
                Self::WORDS.iter().position(|w| *w == word).map(|i| Self::ALL[i])
            }
        }
    };
}
pub(crate) use words;
