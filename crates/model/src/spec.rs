//! Reading TOML specs with errors that users can act on.
//!
//! Problem: a wrong key, kind or name must be refused with file, line, column, what was expected and the nearest valid
//! name. Nothing may be ignored.
//! Approach: [`Doc`] keeps the text and `toml_edit`'s spans. A [`Table`] remembers which keys were asked for, and
//! [`Table::finish`] refuses every other key, with the nearest of those asked for.

mod error;
mod places;
mod spot;
mod syntax;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use error::did_you_mean;
pub use error::{nearest, SpecError};
pub use spot::Spot;
pub(crate) use table::check_title;
pub use table::{parsed_texts, Doc, Table};
pub(crate) use text::{clip, shown};
pub use text::{is_hidden, position};
