//! Enums whose variants have a word in catalogs and on the command line.
//!
//! One list gives the variants, their words, what each does and since which release, and the order in which counters by
//! variant are reported. Help, messages and the documentation read the same list.

use crate::tunable::Needs;

/// Declaration of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordDecl {
    /// The word.
    pub word: &'static str,
    /// Releases that it stands for, as text; empty if it stands for none.
    pub releases: &'static str,
    /// What it means, as written in the source: lines begin with a space.
    pub doc: &'static str,
}

/// An enum declared with [`words!`](crate::words).
pub trait Words: Copy + 'static {
    /// What the enum decides, as written in the source.
    const DOC: &'static str;
    /// Every word, in the order of the variants.
    const DECLS: &'static [WordDecl];
    /// The word of this variant.
    fn word(self) -> &'static str;
    /// The variant with this word; `None` if there is none.
    fn parse(word: &str) -> Option<Self>;
}

/// The condition that a word is the one at `index` of a list.
pub const fn only(words: &'static [&'static str], index: usize) -> Needs {
    Needs::OneOf(std::slice::from_ref(&words[index]))
}

/// The condition that a word is at `index` of a list or after it.
pub const fn or_later(words: &'static [&'static str], index: usize) -> Needs {
    Needs::OneOf(words.split_at(index).1)
}

/// Declares an enum whose variants have words, in the order of their releases if they have any.
///
/// A variant may name the releases that it stands for, in parentheses. The enum has the constants `ALL` and `WORDS` and
/// the methods `word` and `parse`. It can be the type of a tunable, and `only` and `or_later` make conditions of it.
///
/// ```
/// use numalab_base::tunable::Needs;
/// use numalab_base::words::Words;
/// numalab_base::words! {
///     /// Size of a page.
///     pub enum PageSize {
///         /// 4 KiB.
///         Base = "4k",
///         /// 2 MiB.
///         Huge = "thp" ("2.6.38 on"),
///     }
/// }
/// assert_eq!(PageSize::WORDS, ["4k", "thp"]);
/// assert_eq!(PageSize::parse("thp"), Some(PageSize::Huge));
/// assert_eq!(PageSize::Base.word(), "4k");
/// assert_eq!(PageSize::DECLS[1].releases, "2.6.38 on");
/// assert_eq!(PageSize::Base.or_later(), Needs::OneOf(&["4k", "thp"]));
/// assert_eq!(PageSize::Huge.only(), Needs::OneOf(&["thp"]));
/// ```
#[macro_export]
macro_rules! words {
    (
        $( #[doc = $doc:literal] )+
        pub enum $name:ident { $( $( #[doc = $vdoc:literal] )+ $variant:ident = $word:literal $( ($releases:literal) )?, )+ }
    ) => {
        $( #[doc = $doc] )+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $( $( #[doc = $vdoc] )+ $variant, )+ }
        impl $name {
            /// Every variant, in order.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];
            /// The words of the variants, in the order of [`Self::ALL`].
            pub const WORDS: &'static [&'static str] = &[ $( $word, )+ ];
            /// The word of this variant.
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
            /// The variant with this word; `None` if there is none.
            pub fn parse(word: &str) -> Option<Self> {
                Self::WORDS.iter().position(|w| *w == word).map(|i| Self::ALL[i])
            }
            /// The condition of being this variant.
            pub const fn only(self) -> $crate::tunable::Needs {
                $crate::words::only(Self::WORDS, self as usize)
            }
            /// The condition of being this variant or one that stands after it.
            pub const fn or_later(self) -> $crate::tunable::Needs {
                $crate::words::or_later(Self::WORDS, self as usize)
            }
        }
        impl $crate::words::Words for $name {
            const DOC: &'static str = concat!($( $doc ),+);
            const DECLS: &'static [$crate::words::WordDecl] = &[
                $( $crate::words::WordDecl {
                    word: $word,
                    releases: concat!("", $($releases)?),
                    doc: concat!($( $vdoc ),+),
                }, )+
            ];
            fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
            fn parse(word: &str) -> Option<Self> {
                Self::parse(word)
            }
        }
        impl $crate::tunable::Field for $name {
            const WORDS: &'static [&'static str] = Self::WORDS;
            fn into_value(self) -> $crate::tunable::Value {
                $crate::tunable::Value::Choice(self.word())
            }
            fn from_value(value: $crate::tunable::Value) -> Option<Self> {
                match value {
                    $crate::tunable::Value::Choice(word) => Self::parse(word),
                    _ => None,
                }
            }
        }
    };
}
