//! Structs of event counters, declared together with a table of their names and descriptions.

/// Declares a struct of `u64` counters with the constant `TABLE` and the method `values`.
///
/// ```
/// numalab_base::counters! {
///     /// Page faults.
///     pub struct Faults {
///         /// All page faults.
///         pgfault,
///         /// Page faults that read from a device.
///         pgmajfault,
///     }
/// }
/// let faults = Faults { pgfault: 3, ..Faults::default() };
/// assert_eq!(Faults::TABLE[1].0, "pgmajfault");
/// assert_eq!(faults.values(), [3, 0]);
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $( #[doc = $doc:literal] $field:ident, )+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $( #[doc = $doc] pub $field: u64, )+ }
        impl $name {
            /// Name and description of every counter, in order.
            pub const TABLE: &'static [(&'static str, &'static str)] = &[ $( (stringify!($field), $doc), )+ ];
            /// Values in the order of [`Self::TABLE`].
            pub fn values(&self) -> [u64; Self::TABLE.len()] {
                [ $( self.$field, )+ ]
            }
        }
    };
}
