//! Keys that a pattern declares for workload files.

/// A key of a pattern. A step that names the pattern must have it.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    name: &'static str,
    range: Range,
}

/// The values that a key can have.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// A size; fractions of a byte are cut off.
    Bytes {
        /// The smallest, bytes.
        least: u64,
    },
    /// A plain number.
    Number {
        /// The smallest.
        least: f64,
        /// The largest.
        most: f64,
        /// Says both, in messages.
        expected: &'static str,
    },
    /// A whole number.
    Whole {
        /// The largest.
        most: u64,
    },
}

impl Key {
    /// A size of at least `least` bytes; fractions of a byte are cut off.
    pub const fn bytes(name: &'static str, least: u64) -> Self {
        Self { name, range: Range::Bytes { least } }
    }
    /// A plain number from `least` to `most`; `expected` says so in messages.
    pub const fn number(name: &'static str, least: f64, most: f64, expected: &'static str) -> Self {
        Self { name, range: Range::Number { least, most, expected } }
    }
    /// A whole number from 0 to `most`, which is below 2^53.
    pub const fn whole(name: &'static str, most: u64) -> Self {
        Self { name, range: Range::Whole { most } }
    }
    /// Its name in workload files.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The values that it can have.
    pub fn range(&self) -> Range {
        self.range
    }
    /// Adds the value to the text of a pattern. Sizes end in `_bytes` and are whole numbers.
    pub(super) fn write(&self, out: &mut std::fmt::DebugStruct<'_, '_>, value: f64) {
        match self.range {
            Range::Bytes { .. } => out.field(&format!("{}_bytes", self.name), &(value as u64)),
            Range::Number { .. } => out.field(self.name, &value),
            Range::Whole { .. } => out.field(self.name, &(value as u64)),
        };
    }
}
