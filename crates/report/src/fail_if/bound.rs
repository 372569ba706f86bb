//! The right side of a bound: a change, a factor, or a figure with its unit.

use numalab_model::spec::SpecError;

/// Name of the option, the place in error messages.
const PLACE: &str = "--fail-if";

/// What a mean must not pass, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    /// A ratio to the baseline.
    Ratio {
        ratio: f64,
        /// The number of a percentage without a sign, which means something else of a share.
        unsigned: Option<String>,
    },
    /// A figure in a unit.
    Figure { value: f64, unit: String },
}

/// What a mean must not pass, of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// A ratio to the baseline.
    Ratio(f64),
    /// A figure in the metric's unit.
    Figure(f64),
}

impl Limit {
    /// The limit beside a baseline.
    pub(super) fn of(self, base: f64) -> f64 {
        match self {
            Self::Ratio(ratio) => base * ratio,
            Self::Figure(figure) => figure,
        }
    }
}

/// Units of times and of sizes, each with how many of the first of its kind it has.
const UNITS: [&[(&str, f64)]; 2] = [
    &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("sec", 1e9),
        ("seconds", 1e9),
        ("min", 60e9),
        ("h", 3600e9),
    ],
    &[
        ("B", 1.0),
        ("bytes", 1.0),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
    ],
];

impl Bound {
    /// The bound on a metric of this unit.
    ///
    /// # Errors
    /// What is wrong and what was expected, if the unit is another, or the bound may mean two things.
    pub(super) fn of(&self, metric: &str, own: &str) -> Result<Limit, (String, String)> {
        match self {
            Self::Ratio { unsigned: Some(n), .. } if own == "%" => {
                let what = format!("`{n}%` may be a change of `{metric}`, or `{metric}` itself, which is a share");
                Err((what, format!("`> +{n}%` (a change) or `> {n} percent` (the share itself)")))
            }
            Self::Ratio { ratio, .. } => Ok(Limit::Ratio(*ratio)),
            Self::Figure { value, unit } => match factor(unit, own) {
                Some(factor) => Ok(Limit::Figure(value * factor)),
                None => {
                    let own = if own == "%" { "percent" } else { own };
                    let what = format!("`{metric}` is in {own}, not in {unit}");
                    Err((what, format!("a figure as `{value} {own}`, a factor as `{value}x`, or a change as `+3%`")))
                }
            },
        }
    }
}

/// How many of `own` a unit has; `None` if they measure different things.
fn factor(unit: &str, own: &str) -> Option<f64> {
    if unit == own || (unit == "percent" && own == "%") {
        return Some(1.0);
    }
    let of = |unit: &str, list: &[(&str, f64)]| list.iter().find(|u| u.0 == unit).map(|u| u.1);
    UNITS.into_iter().find_map(|list| Some(of(unit, list)? / of(own, list)?))
}

/// Reads a bound that stands behind `operator` at `column`.
///
/// # Errors
/// No number, no unit, or a fall of more than 100 %.
pub(super) fn bound(text: &str, operator: char, column: usize) -> Result<Bound, SpecError> {
    const EXPECTED: &str = "a change as +3% or -5%, a factor as 1.03x, or a figure with its unit as 3 s";
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let (number, unit) = text.split_at(text.find(|c| !of_number(c)).unwrap_or(text.len()));
    let unit = unit.trim();
    let value = match number.parse::<f64>() {
        // `1e3` would have a unit with a digit.
        Ok(x) if x.is_finite() && !unit.contains(|c: char| c.is_ascii_digit() || c.is_whitespace()) => x,
        _ if text.is_empty() => return Err(error(column, "no bound after the comparison", EXPECTED)),
        _ => return Err(error(column, &format!("`{text}` is no bound"), EXPECTED)),
    };
    let signed = number.starts_with(['+', '-']);
    let ratio = match unit {
        "" => {
            let plain = number.trim_start_matches(['+', '-']);
            let sign = if number.starts_with('-') { '-' } else { '+' };
            let expected = format!(
                "`{operator} {plain}x` (a factor of the baseline), `{operator} {sign}{plain}%` (a change), \
                 or the figure with its unit, as `{operator} {plain} s`"
            );
            return Err(error(column, &format!("`{number}` has no unit"), &expected));
        }
        "%" => 1.0 + value / 100.0,
        "x" if signed => {
            let what = format!("`{text}` is a factor with a sign");
            return Err(error(column, &what, EXPECTED));
        }
        "x" => value,
        _ => return Ok(Bound::Figure { value, unit: unit.to_string() }),
    };
    if ratio < 0.0 {
        return Err(error(column, "a fall of more than 100 %", EXPECTED));
    }
    Ok(Bound::Ratio { ratio, unsigned: (unit == "%" && !signed).then(|| number.to_string()) })
}

/// A mistake at a column of a bound.
pub(super) fn error(column: usize, what: &str, expected: &str) -> SpecError {
    SpecError { file: PLACE.into(), line: 1, column, what: what.into(), expected: expected.into(), nearest: None }
}
