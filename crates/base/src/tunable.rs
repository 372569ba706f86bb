//! Tunables: options of the modelled kernel, declared once in the file of the policy that reads them.
//!
//! The macro [`tunables!`](crate::tunables) makes a struct with typed, documented fields and the table of its
//! [`Decl`]s. Command-line help, run manifests and the documentation are generated from that table, so they cannot
//! differ from the code.

use crate::node_weights::NodeWeights;
use crate::rung_list::RungList;

/// Value of a tunable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A switch.
    Bool(bool),
    /// One of the words of an enum.
    Choice(&'static str),
    /// A ladder of distance classes and page sizes.
    Rungs(RungList),
    /// Nodes with weights.
    Weights(NodeWeights),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Int(v) => write!(f, "{v}"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::Choice(v) => f.write_str(v),
            Value::Rungs(v) => write!(f, "{v}"),
            Value::Weights(v) => write!(f, "{v}"),
        }
    }
}

/// What the subject of a condition must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// One of these values.
    OneOf(&'static [&'static str]),
    /// Any value but this one.
    Not(&'static str),
}

impl Needs {
    /// Whether `value` meets the condition.
    pub fn met_by(&self, value: &str) -> bool {
        match self {
            Self::OneOf(values) => values.contains(&value),
            Self::Not(other) => *other != value,
        }
    }
}

impl std::fmt::Display for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneOf(values) => write!(f, "{}", values.join(" or ")),
            Self::Not(other) => write!(f, "other than {other}"),
        }
    }
}

/// A condition under which a tunable is read at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadWhen {
    /// A role (no dot) or another tunable (`group.key`).
    pub subject: &'static str,
    /// What the subject must be for the tunable to be read.
    pub needs: Needs,
}

/// Declaration of a tunable.
#[derive(Clone, Copy, Debug)]
pub struct Decl {
    /// Key inside its group, e.g. `scan_delay_ms`.
    pub key: &'static str,
    /// Kernel name (sysctl, debugfs or boot option), or `model` for a behaviour switch without one.
    pub kernel_name: &'static str,
    /// Unit, `""` if none.
    pub unit: &'static str,
    /// Makes the default value.
    pub default: fn() -> Value,
    /// Smallest and largest legal value of a number; ignored for other kinds.
    pub range: (i64, i64),
    /// Legal words of a choice; empty for other kinds.
    pub choices: &'static [&'static str],
    /// Conditions of this tunable, beside those of its group.
    pub read_when: &'static [ReadWhen],
    /// No backend reads it yet.
    pub unread: bool,
    /// Description in one line.
    pub doc: &'static str,
}

/// Why a value was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum SetError {
    /// The group has no such key.
    Unknown,
    /// The text is not a legal value. Holds what was expected.
    Expected(String),
}

impl Decl {
    /// Parses `text` as a value of this tunable.
    ///
    /// # Errors
    /// [`SetError::Expected`] with the legal values if `text` is not one of them.
    pub fn parse(&self, text: &str) -> Result<Value, SetError> {
        match (self.default)() {
            Value::Int(_) => match text.trim().parse::<i64>() {
                Ok(v) if v >= self.range.0 && v <= self.range.1 => Ok(Value::Int(v)),
                _ => Err(SetError::Expected(format!("a whole number from {} to {}", self.range.0, self.range.1))),
            },
            Value::Bool(_) => match text.trim() {
                "true" | "1" => Ok(Value::Bool(true)),
                "false" | "0" => Ok(Value::Bool(false)),
                _ => Err(SetError::Expected("true or false".into())),
            },
            Value::Choice(_) => self
                .choices
                .iter()
                .find(|c| **c == text.trim())
                .map(|c| Value::Choice(c))
                .ok_or_else(|| SetError::Expected(format!("one of {}", self.choices.join(", ")))),
            Value::Rungs(_) => RungList::parse(text)
                .map(Value::Rungs)
                .map_err(|what| SetError::Expected(format!("a list like `D0 THP | D0 4k | D1 THP`, but {what}"))),
            Value::Weights(_) => NodeWeights::parse(text)
                .map(Value::Weights)
                .map_err(|what| SetError::Expected(format!("nodes with weights like `0:3 1:1`, but {what}"))),
        }
    }
}

/// A group of tunables (made by [`tunables!`](crate::tunables)).
pub trait Group: Default + Clone {
    /// Group name, the part before the dot in `--set group.key=value`.
    const NAME: &'static str;
    /// Declarations, in order.
    const DECLS: &'static [Decl];
    /// Conditions under which any of the tunables is read.
    const READ_WHEN: &'static [ReadWhen];
    /// Value of the declaration at `index` in `DECLS`.
    fn get(&self, index: usize) -> Value;
    /// Sets the tunable at `index` in `DECLS`. The value must be of the kind of its declaration, as [`Decl::parse`]
    /// returns it.
    fn put(&mut self, index: usize, value: Value);
    /// Sets the tunable named `key` from text.
    ///
    /// # Errors
    /// [`SetError`] if there is no such key or `text` is not a legal value.
    fn set(&mut self, key: &str, text: &str) -> Result<(), SetError> {
        let index = Self::DECLS.iter().position(|d| d.key == key).ok_or(SetError::Unknown)?;
        let value = Self::DECLS[index].parse(text)?;
        self.put(index, value);
        Ok(())
    }
}

/// Types of the fields of a tunable group.
pub trait Field: Copy {
    /// Legal words; empty for types that have none.
    const WORDS: &'static [&'static str] = &[];
    /// Converts to a [`Value`].
    fn into_value(self) -> Value;
    /// Converts from a [`Value`]; `None` if it is of another kind or out of range.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! int_field {
    ($($t:ty),*) => {$(
        impl Field for $t {
            fn into_value(self) -> Value { Value::Int(self as i64) }
            fn from_value(value: Value) -> Option<Self> {
                match value { Value::Int(v) => <$t>::try_from(v).ok(), _ => None }
            }
        }
    )*};
}
int_field!(u8, u16, u32, u64, i32, i64);

impl Field for bool {
    fn into_value(self) -> Value {
        Value::Bool(self)
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Bool(v) => Some(v),
            _ => None,
        }
    }
}

impl Field for RungList {
    fn into_value(self) -> Value {
        Value::Rungs(self)
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Rungs(v) => Some(v),
            _ => None,
        }
    }
}

impl Field for NodeWeights {
    fn into_value(self) -> Value {
        Value::Weights(self)
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Weights(v) => Some(v),
            _ => None,
        }
    }
}

/// Declares a group of tunables once: key, type, default, unit, the kernel's own name, and for numbers the legal range.
///
/// * `read when` states a condition under which a tunable, or at the head of the group every tunable of it, is read at
///   all. An option that is not read is refused. `unread = true` marks what no backend reads yet.
/// * The fields of `given` are no tunables: the code that makes the struct for a kernel takes them from a role or from
///   another group.
///
/// ```
/// numalab_base::words! {
///     /// Form of the adaptation.
///     pub enum Adaptation {
///         /// Fixed bounds.
///         V38 = "v38",
///         /// By locality.
///         V313 = "v313",
///     }
/// }
/// numalab_base::tunables! {
///     /// Pace of the scanner.
///     pub struct Pace: "pace" {
///         read when "system.numa_balancing" is Needs::Not("0");
///         given {
///             /// Timer ticks per second.
///             hz: u32 = 250;
///         }
///         /// Delay before the first scan; a description may
///         /// go on in the next line.
///         scan_delay_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/scan_delay_ms", range 0..=600_000;
///         /// Form of the adaptation.
///         adaptation: Adaptation = Adaptation::V313, "", "model";
///         /// Local share from which the period grows.
///         threshold: u8 = 7, "1/10", "model", range 1..=10,
///             read when "pace.adaptation" is Adaptation::V313.or_later();
///     }
/// }
/// use numalab_base::tunable::{Group, Needs};
/// let mut p = Pace::default();
/// p.set("scan_delay_ms", "500").unwrap();
/// p.set("adaptation", "v38").unwrap();
/// assert_eq!((p.hz, p.scan_delay_ms, p.adaptation), (250, 500, Adaptation::V38));
/// assert!(Pace::DECLS[0].doc.ends_with("a description may go on in the next line."));
/// assert!(p.set("adaptation", "v1").is_err() && p.set("hz", "100").is_err());
/// assert_eq!(Pace::DECLS[2].read_when[0].needs, Needs::OneOf(&["v313"]));
/// ```
#[macro_export]
macro_rules! tunables {
    (
        $( #[$meta:meta] )*
        pub struct $name:ident : $group:literal {
            $( read when $gsubject:literal is $gneeds:expr; )*
            $( given { $( $( #[doc = $given_doc:literal] )+ $given:ident : $given_ty:ty = $given_default:expr; )* } )?
            $( $( #[doc = $doc:literal] )+ $field:ident : $ty:ty = $default:expr, $unit:literal, $kname:literal
               $(, range $lo:literal ..= $hi:literal)?
               $(, read when $subject:literal is $needs:expr)*
               $(, unread = $unread:literal)? ; )*
        }
    ) => {
        $( #[$meta] )*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $( $( $( #[doc = $given_doc] )+ pub $given: $given_ty, )* )?
            $( $( #[doc = $doc] )+ pub $field: $ty, )*
        }
        impl Default for $name {
            fn default() -> Self {
                Self { $( $( $given: $given_default, )* )? $( $field: $default, )* }
            }
        }
        impl $crate::tunable::Group for $name {
            const NAME: &'static str = $group;
            const READ_WHEN: &'static [$crate::tunable::ReadWhen] =
                &[ $( $crate::tunable::ReadWhen { subject: $gsubject, needs: $gneeds }, )* ];
            const DECLS: &'static [$crate::tunable::Decl] = &[
                $( $crate::tunable::Decl {
                    key: stringify!($field),
                    kernel_name: $kname,
                    unit: $unit,
                    default: || <$ty as $crate::tunable::Field>::into_value($default),
                    range: $crate::tunable_range!($($lo, $hi)?),
                    choices: <$ty as $crate::tunable::Field>::WORDS,
                    read_when: &[ $( $crate::tunable::ReadWhen { subject: $subject, needs: $needs }, )* ],
                    unread: $crate::tunable_unread!($($unread)?),
                    doc: concat!($( $doc ),+),
                }, )*
            ];
            fn get(&self, index: usize) -> $crate::tunable::Value {
                let all = [ $( $crate::tunable::Field::into_value(self.$field) ),* ];
                all[index]
            }
            #[allow(unused_assignments)]
            fn put(&mut self, index: usize, value: $crate::tunable::Value) {
                let mut i = 0;
                $(
                    if i == index {
                        if let Some(v) = <$ty as $crate::tunable::Field>::from_value(value) { self.$field = v; }
                    }
                    i += 1;
                )*
            }
        }
    };
}

/// Whether a declaration says `unread = true` (helper of `tunables!`).
#[doc(hidden)]
#[macro_export]
macro_rules! tunable_unread {
    () => {
        false
    };
    ($unread:literal) => {
        $unread
    };
}

/// Range of a declaration (helper of `tunables!`).
#[doc(hidden)]
#[macro_export]
macro_rules! tunable_range {
    () => {
        (i64::MIN, i64::MAX)
    };
    ($lo:literal, $hi:literal) => {
        ($lo as i64, $hi as i64)
    };
}
