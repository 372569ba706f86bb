//! Tunables: options of the modelled kernel, declared once in the file of the policy that reads them.
//!
//! The macro [`tunables!`](crate::tunables) makes a struct with typed, documented fields and the table of its
//! [`Decl`]s. Command-line help, run manifests and the documentation are generated from that table, so they cannot
//! differ from the code.

use crate::rung_list::RungList;

/// One of a few fixed words: the type of tunables with choices.
pub type Word = &'static str;

/// Value of a tunable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A switch.
    Bool(bool),
    /// One of the choices in the declaration.
    Choice(&'static str),
    /// A ladder of distance classes and page sizes.
    Rungs(RungList),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Int(v) => write!(f, "{v}"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::Choice(v) => f.write_str(v),
            Value::Rungs(v) => write!(f, "{v}"),
        }
    }
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
    /// Default value.
    pub default: Value,
    /// Smallest and largest legal value of a number; ignored for other kinds.
    pub range: (i64, i64),
    /// Legal words of a choice; empty for other kinds.
    pub choices: &'static [&'static str],
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
        match self.default {
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
        }
    }
}

/// A group of tunables (made by [`tunables!`](crate::tunables)).
pub trait Group: Default + Clone {
    /// Group name, the part before the dot in `--set group.key=value`.
    const NAME: &'static str;
    /// Declarations, in order.
    const DECLS: &'static [Decl];
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

impl Field for &'static str {
    fn into_value(self) -> Value {
        Value::Choice(self)
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Choice(v) => Some(v),
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

/// Declares a group of tunables once.
///
/// ```
/// use numalab_base::tunable::Word;
/// numalab_base::tunables! {
///     /// Pace of the scanner.
///     pub struct Pace: "pace" {
///         /// Delay before the first scan; a description may
///         /// go on in the next line.
///         scan_delay_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/scan_delay_ms", range 0..=600_000;
///         /// Form of the adaptation.
///         period_model: Word = "v414", "", "model", choices ["v38", "v313", "v414"];
///     }
/// }
/// use numalab_base::tunable::Group;
/// let mut p = Pace::default();
/// p.set("scan_delay_ms", "500").unwrap();
/// assert_eq!(p.scan_delay_ms, 500);
/// assert!(Pace::DECLS[0].doc.ends_with("a description may go on in the next line."));
/// assert!(p.set("period_model", "v1").is_err());
/// ```
#[macro_export]
macro_rules! tunables {
    (
        $(#[$meta:meta])*
        pub struct $name:ident : $group:literal {
            $( $( #[doc = $doc:literal] )+ $field:ident : $ty:ident = $default:expr, $unit:literal, $kname:literal
               $(, range $lo:literal ..= $hi:literal)? $(, choices [$($c:literal),*])? ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $( $( #[doc = $doc] )+ pub $field: $ty, )* }
        impl Default for $name {
            fn default() -> Self { Self { $( $field: $default, )* } }
        }
        impl $crate::tunable::Group for $name {
            const NAME: &'static str = $group;
            const DECLS: &'static [$crate::tunable::Decl] = &[
                $( $crate::tunable::Decl {
                    key: stringify!($field),
                    kernel_name: $kname,
                    unit: $unit,
                    default: $crate::tunable_default!($ty, $default),
                    range: $crate::tunable_range!($($lo, $hi)?),
                    choices: &[$($($c),*)?],
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

/// Default of a declaration as a constant [`Value`] (helper of `tunables!`).
#[doc(hidden)]
#[macro_export]
macro_rules! tunable_default {
    (bool, $d:expr) => {
        $crate::tunable::Value::Bool($d)
    };
    (Word, $d:expr) => {
        $crate::tunable::Value::Choice($d)
    };
    (RungList, $d:expr) => {
        $crate::tunable::Value::Rungs($d)
    };
    ($t:ident, $d:expr) => {
        $crate::tunable::Value::Int($d as i64)
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
