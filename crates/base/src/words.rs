//! Enums whose variants have a word in catalogs and on the command line.
//!
//! One list gives the variants, their words, what each does and since which release, and the order in which counters by
//! variant are reported. Help, messages and the documentation read the same list.

use crate::tunable::{Field, Needs, Value};

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
    /// `by_role` and every word: what an [`OrRole`] can be.
    const WORDS_OR_ROLE: &'static [&'static str];
    /// The word of this variant.
    fn word(self) -> &'static str;
    /// The variant with this word; `None` if there is none.
    fn parse(word: &str) -> Option<Self>;
}

/// A variant of a role, as its file declares it; see [`variants!`](crate::variants).
#[derive(Clone, Copy, Debug)]
pub struct Variant<P> {
    /// The word in catalogs and on the command line.
    pub word: &'static str,
    /// Releases of Linux from the first to the last one, or where it was posted, as text; empty if neither.
    pub releases: &'static str,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// What it consists of.
    pub parts: P,
}

impl<P> Variant<P> {
    /// Its word as lists show it.
    pub const fn decl(&self) -> WordDecl {
        WordDecl { word: self.word, releases: self.releases, doc: self.doc }
    }
}

/// The value of a tunable that replaces a part of a role: a variant of `T`, or `by_role` for what the role has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrRole<T> {
    /// As in the role.
    ByRole,
    /// This one.
    Own(T),
}

impl<T> OrRole<T> {
    /// The value, or `role` where it is as in the role.
    pub fn or(self, role: T) -> T {
        match self {
            Self::ByRole => role,
            Self::Own(own) => own,
        }
    }
}

impl<T: Words> Field for OrRole<T> {
    const WORDS: &'static [&'static str] = T::WORDS_OR_ROLE;
    fn into_value(self) -> Value {
        Value::Choice(match self {
            Self::ByRole => T::WORDS_OR_ROLE[0],
            Self::Own(own) => own.word(),
        })
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Choice(word) if word == T::WORDS_OR_ROLE[0] => Some(Self::ByRole),
            Value::Choice(word) => T::parse(word).map(Self::Own),
            _ => None,
        }
    }
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
        $crate::word_enum! {
            $name, [ $( $variant ),+ ], [ $( $word ),+ ],
            [ $( $crate::words::WordDecl {
                word: $word,
                releases: concat!("", $($releases)?),
                doc: concat!($( $vdoc ),+),
            } ),+ ],
            concat!($( $doc ),+)
        }
    };
}

/// Declares a role: an enum whose variants are files of the same folder.
///
/// A line `V64 in v64,` is all that a list says of a variant. The file `v64.rs` has a constant `VARIANT` of the type
/// [`Variant`](crate::words::Variant): its word, its releases, what it means, and the parts that it consists of. The line
/// is also the declaration of the file's module, so the list stands in the `mod.rs` of its folder. Beside what
/// [`words!`] gives, the enum has the method `parts`.
///
/// `cargo fmt` does not see modules that a macro declares; `make lint` formats them by their names.
#[macro_export]
macro_rules! variants {
    (
        $( #[doc = $doc:literal] )+
        pub enum $name:ident of $parts:ty { $( $variant:ident in $file:ident, )+ }
    ) => {
        $( mod $file; )+

        $( #[doc = $doc] )+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $( #[doc = concat!("What `", stringify!($file), ".rs` declares.")] $variant, )+ }
        $crate::word_enum! {
            $name, [ $( $variant ),+ ], [ $( $file::VARIANT.word ),+ ], [ $( $file::VARIANT.decl() ),+ ],
            concat!($( $doc ),+)
        }
        impl $name {
            /// The parts that the variant consists of.
            #[inline]
            pub const fn parts(self) -> &'static $parts {
                const PARTS: &[&$parts] = &[ $( &$file::VARIANT.parts ),+ ];
                PARTS[self as usize]
            }
        }
    };
}

/// The words of those variants of an enum for which a constant function is true, as a condition
/// ([`Needs::OneOf`](crate::tunable::Needs)).
///
/// ```
/// use numalab_base::tunable::Needs;
/// numalab_base::words! {
///     /// A number.
///     pub enum Number {
///         /// 1.
///         One = "one",
///         /// 2.
///         Two = "two",
///     }
/// }
/// const fn even(n: Number) -> bool {
///     n as u32 % 2 == 1
/// }
/// assert_eq!(numalab_base::words_where!(Number, even), Needs::OneOf(&["two"]));
/// ```
#[macro_export]
macro_rules! words_where {
    ($name:ident, $is:path) => {{
        const COUNT: usize = {
            let (mut count, mut i) = (0, 0);
            while i < $name::ALL.len() {
                count += $is($name::ALL[i]) as usize;
                i += 1;
            }
            count
        };
        const WORDS: [&str; COUNT] = {
            let (mut words, mut count, mut i) = ([""; COUNT], 0, 0);
            while i < $name::ALL.len() {
                if $is($name::ALL[i]) {
                    words[count] = $name::WORDS[i];
                    count += 1;
                }
                i += 1;
            }
            words
        };
        $crate::tunable::Needs::OneOf(&WORDS)
    }};
}

/// What [`words!`] and [`variants!`] have in common.
#[doc(hidden)]
#[macro_export]
macro_rules! word_enum {
    ($name:ident, [ $( $variant:ident ),+ ], [ $( $word:expr ),+ ], [ $( $decl:expr ),+ ], $doc:expr) => {
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
            const DOC: &'static str = $doc;
            const DECLS: &'static [$crate::words::WordDecl] = &[ $( $decl ),+ ];
            const WORDS_OR_ROLE: &'static [&'static str] = &["by_role", $( $word ),+];
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
