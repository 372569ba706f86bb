//! Expressions: sizes, times and counts written in terms of the machine.
//!
//! Problem: a workload must fit any machine (`cpus // 2`, `8 * llc_total`, `3GiB / threads`). A wrong expression must
//! be refused with its place; it must never panic or silently mean something else.
//! Approach: a small grammar is read into a tree. Every number carries a unit of bytes or time, so `10s` cannot be used
//! as a size, and a plain `10` cannot be used as a time.
//! Units: bytes and nanoseconds inside.
//! Invariants: a value is finite. A tree has at most [`MAX_NODES`] nodes and nests at most [`MAX_DEPTH`] deep. Only
//! IEEE basic operations are used, so a value is the same everywhere.
//!
//! ```text
//! expression = both { "or" both }                                        0 is false, all else true
//! both       = inverse { "and" inverse }
//! inverse    = "not" inverse | comparison
//! comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]        1 if it holds, else 0
//! sum        = term { ("+" | "-") term }
//! term       = unary { ("*" | "/" | "//" | "%") unary }                  // and % round down
//! unary      = "-" unary | number [unit] | name | function "(" … ")" | "(" expression ")"
//! name       = word { "." word }
//! unit       = B KiB MiB GiB TiB KB MB GB TB | ns us ms s
//! function   = min max floor ceil round log2 if
//! ```

mod error;
mod eval;
mod formula;
mod parse;
mod parsed;
mod tree;
mod value;

pub use error::{shift, ExprError};
pub use eval::Env;
pub use formula::Formula;
pub use parsed::Expr;
pub use tree::{MAX_BYTES, MAX_DEPTH, MAX_NODES};
pub use value::{Unit, Value};
