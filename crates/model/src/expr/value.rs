//! Numbers with a unit of bytes and time, and their text.

/// Powers of bytes and of time that a number carries: a rate in bytes per second is `{bytes: 1, time: -1}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Power of bytes, -4..=4.
    pub bytes: i8,
    /// Power of time, -4..=4.
    pub time: i8,
}

impl Unit {
    /// A plain number.
    pub const NONE: Unit = Unit { bytes: 0, time: 0 };
    /// Bytes.
    pub const BYTES: Unit = Unit { bytes: 1, time: 0 };
    /// Time.
    pub const TIME: Unit = Unit { bytes: 0, time: 1 };
    /// Largest power of either kind.
    const MAX_POWER: i8 = 4;

    /// The unit of a product (`sign` 1) or a quotient (`sign` -1); `None` beyond the fourth power.
    pub(super) fn combine(self, other: Unit, sign: i8) -> Option<Unit> {
        let unit = Unit { bytes: self.bytes + sign * other.bytes, time: self.time + sign * other.time };
        (unit.bytes.abs() <= Self::MAX_POWER && unit.time.abs() <= Self::MAX_POWER).then_some(unit)
    }
    /// Words for a number of this unit, for messages.
    pub fn describe(self) -> &'static str {
        match (self.bytes, self.time) {
            (0, 0) => "a plain number",
            (1, 0) => "a size in bytes",
            (0, 1) => "a time",
            (0, -1) => "a rate per time",
            (1, -1) => "a rate in bytes per time",
            (-1, 0) => "a number per byte",
            _ => "a number of another unit",
        }
    }
}

/// A finite number with its unit. Sizes are in bytes, times in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The number.
    pub number: f64,
    /// Its unit.
    pub unit: Unit,
}

/// Suffixes of sizes with their bytes: binary units, then decimal ones, largest first.
pub(super) const SIZES: [(&str, f64); 9] = [
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("B", 1.0),
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("KB", 1e3),
];
/// Suffixes of times with their ns, largest first.
pub(super) const TIMES: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];

impl Value {
    /// A plain number.
    pub fn plain(number: f64) -> Self {
        Self { number, unit: Unit::NONE }
    }
    /// A number of bytes.
    pub fn bytes(number: f64) -> Self {
        Self { number, unit: Unit::BYTES }
    }
    /// A time, ns.
    pub fn time_ns(number: f64) -> Self {
        Self { number, unit: Unit::TIME }
    }
    /// Whether the value is a plain 0, which fits every unit.
    pub fn is_plain_zero(self) -> bool {
        self.number == 0.0 && self.unit == Unit::NONE
    }
}

/// Writes text that parses to the same value: `3GiB`, `1.5ms`, `24`, `20000*1/1s`.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scale, suffixes): (f64, &[(&str, f64)]) = match self.unit {
            Unit::NONE => return write!(f, "{}", self.number),
            Unit::BYTES => (1024.0, &SIZES[..5]),
            Unit::TIME => (1.0, &TIMES),
            unit => {
                write!(f, "{}", self.number)?;
                for (power, one) in [(unit.bytes, "1B"), (unit.time, "1ns")] {
                    let sign = if power < 0 { "/" } else { "*" };
                    (0..power.abs()).try_for_each(|_| write!(f, "{sign}{one}"))?;
                }
                return Ok(());
            }
        };
        // The largest suffix that leaves a short exact number. A size must stay a whole number, so 4000000 is
        // `4000000B`.
        for (suffix, factor) in suffixes {
            let n = self.number / factor;
            let short = if scale > 1.0 { n.fract() == 0.0 } else { (n * 1000.0).fract() == 0.0 };
            if n.abs() >= 1.0 && short && n * factor == self.number {
                return write!(f, "{n}{suffix}");
            }
        }
        let (suffix, _) = suffixes[suffixes.len() - 1];
        write!(f, "{}{suffix}", self.number)
    }
}
