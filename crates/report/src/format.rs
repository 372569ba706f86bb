//! Numbers as text: as C prints them for prescribed layouts, and short forms for people.
//!
//! Rust's `{:.N}` rounds the exact binary value half to even, as C's `printf` does. Rust has no `%g`; [`general`] is
//! it.

/// `%{width}.{decimals}f` of C. A value that is not finite prints as 0 (mmtests-report.md §1.4).
pub fn fixed(x: f64, width: usize, decimals: usize) -> String {
    let x = if x.is_finite() { x } else { 0.0 };
    format!("{x:width$.decimals$}")
}

/// A number of things: "1 page", "2 pages".
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Whether a percentage prints as something else than 0.00 with two decimals.
pub fn shows(percent: f64) -> bool {
    percent.abs() >= 0.005
}

/// `%.{digits}g` of C: `digits` significant digits, exponent form outside 1e-4 … 10^digits, no trailing zeros.
pub fn general(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return "0".to_string();
    }
    let digits = digits.max(1);
    let scientific = format!("{:.*e}", digits - 1, x);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.unsigned_abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{x:.decimals$}")).to_string()
}

/// [`general`] with a sign also for positive numbers.
pub fn general_signed(x: f64, digits: usize) -> String {
    let text = general(x, digits);
    if text.starts_with('-') {
        text
    } else {
        format!("+{text}")
    }
}

fn trim(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Most decimals of a figure without an exponent. What is smaller reads as 0.
const DECIMALS_MAX: i32 = 12;

/// A figure for people: `digits` significant digits, all digits before the point, no trailing zeros and no exponent.
pub fn plain(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return "0".to_string();
    }
    // The exponent is that of the rounded figure: 9.99 with two digits is 10.
    let scientific = format!("{:.*e}", digits.max(1) - 1, x);
    let exponent = scientific.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    let decimals = (digits as i32 - 1 - exponent).clamp(0, DECIMALS_MAX) as usize;
    match trim(&format!("{x:.decimals$}")) {
        "-0" => "0".to_string(),
        text => text.to_string(),
    }
}

/// A figure where no layout is prescribed: about four significant digits, and no exponent.
pub fn readable(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || size >= 10_000.0 {
        return format!("{x:.0}");
    }
    if size >= 100.0 {
        format!("{x:.1}")
    } else if size >= 1.0 {
        format!("{x:.2}")
    } else if size >= 0.001 {
        format!("{x:.4}")
    } else {
        plain(x, 3)
    }
}

/// A measured figure: four significant digits with trailing zeros, and all digits before the point.
pub fn significant(x: f64) -> String {
    // The exponent is that of the rounded figure: 9.9999 becomes 10.00.
    let scientific = format!("{x:.3e}");
    let exponent = scientific.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    if x == 0.0 || !x.is_finite() {
        return format!("{x:.0}");
    }
    if exponent < -4 {
        return plain(x, 4);
    }
    let decimals = (3 - exponent).max(0) as usize;
    format!("{x:.decimals$}")
}

/// Larger units of a unit, the largest first, and how many of the unit each has.
type Larger = (&'static str, &'static [(&'static str, f64)]);
const LARGER: [Larger; 5] = [
    ("MiB", &[("TiB", 1024.0 * 1024.0), ("GiB", 1024.0)]),
    ("bytes", &[("TiB", 1_099_511_627_776.0), ("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0)]),
    ("ns", &[("s", 1e9), ("ms", 1e6), ("us", 1e3)]),
    ("us", &[("s", 1e6), ("ms", 1e3)]),
    ("ms", &[("s", 1e3)]),
];

/// A readable unit for figures up to `largest`, and the divisor from `unit` to it: MiB become GiB from 1024 on, and ns
/// become ms from a million on. Other units stay.
pub fn unit_for(unit: &str, largest: f64) -> (&str, f64) {
    let list = LARGER.into_iter().find(|(of, _)| *of == unit).map_or(&[][..], |(_, list)| list);
    list.iter().find(|(_, by)| largest.abs() >= *by).copied().unwrap_or((unit, 1.0))
}

/// A ratio with two decimals from 0.1 on, and with more digits below.
pub fn ratio(x: f64) -> String {
    if x == 0.0 || x.abs() >= 0.1 {
        format!("{x:.2}")
    } else {
        readable(x)
    }
}

/// A figure at a glance: four significant digits, with the suffixes k, M, G, T from 10 000 on.
pub fn human(x: f64) -> String {
    for (from, one, suffix) in [(1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")] {
        if x.abs() >= from {
            return format!("{}\u{a0}{suffix}", significant(x / one));
        }
    }
    if x.fract() == 0.0 {
        return format!("{x:.0}");
    }
    significant(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_even_as_in_c() {
        // Expected values are those of printf: "%.2f" of 0.125 0.375 2.675 -0.001, and "%.0f" of 2.5.
        let got = [0.125, 0.375, 2.675, -0.001].map(|x| fixed(x, 0, 2));
        assert_eq!(got, ["0.12", "0.38", "2.67", "-0.00"]);
        assert_eq!(fixed(2.5, 4, 0), "   2");
        assert_eq!(fixed(f64::NAN, 7, 2), "   0.00");
        assert_eq!(fixed(-0.0, 5, 2), "-0.00");
    }

    #[test]
    fn a_percentage_shows_where_its_text_does() {
        for percent in [0.0, 1e-9, 0.0049, 0.004_999_999_999, 0.005, 0.005_000_1, 0.01, 3.0] {
            for percent in [percent, -percent] {
                let text = fixed(percent, 0, 2);
                assert_eq!(shows(percent), text.trim_start_matches('-') != "0.00", "{percent}");
            }
        }
    }

    #[test]
    fn general_form_as_in_c() {
        // Expected values are those of printf: "%.4g" and "%.2g".
        let four = [123_456_789.0, 9.5, 0.000_01, 1234.0, 0.5, 99_995.0].map(|x| general(x, 4));
        assert_eq!(four, ["1.235e+08", "9.5", "1e-05", "1234", "0.5", "1e+05"]);
        assert_eq!(general_signed(123_456.0, 2), "+1.2e+05");
        assert_eq!(general_signed(-123_456.0, 2), "-1.2e+05");
        assert_eq!(general(0.0, 4), "0");
    }

    #[test]
    fn a_figure_has_four_significant_digits() {
        let got =
            [0.0, 12_345.6, 1234.5, 123.45, 12.345, 9.9999, 1.234, 0.5, 0.012_345, 0.000_012_345].map(significant);
        assert_eq!(got, ["0", "12346", "1234", "123.5", "12.35", "10.00", "1.234", "0.5000", "0.01235", "0.00001234"]);
        assert_eq!(significant(-1.5), "-1.500");
    }

    #[test]
    fn figures_for_people_have_no_exponent() {
        let got = [1360.0, 999.6, 0.5, 0.000_012_345, -1_234_567.0, 1e-15, 0.0].map(|x| plain(x, 3));
        assert_eq!(got, ["1360", "1000", "0.5", "0.0000123", "-1234567", "0", "0"]);
        for x in [1e-9, 0.000_5, 1360.0, 2.377e6, 1e14] {
            for text in [readable(x), significant(x), plain(x, 3), human(x)] {
                assert!(!text.contains('e'), "{x}: {text}");
            }
        }
    }

    #[test]
    fn times_have_the_unit_in_which_they_read() {
        let got = [("ns", 2.377e6), ("ns", 950.0), ("ns", 3.2e9), ("us", 2377.0), ("ms", 999.0), ("bytes", 4096.0)];
        let want = [("ms", 1e6), ("ns", 1.0), ("s", 1e9), ("ms", 1e3), ("ms", 1.0), ("KiB", 1024.0)];
        assert_eq!(got.map(|(unit, x)| unit_for(unit, x)), want);
    }

    #[test]
    fn mebibytes_are_counted_in_1024() {
        let got = [("MiB", 1000.0), ("MiB", 11_330.0), ("MiB", 4e6), ("pages", 1e9)].map(|(u, x)| unit_for(u, x));
        assert_eq!(got, [("MiB", 1.0), ("GiB", 1024.0), ("TiB", 1_048_576.0), ("pages", 1.0)]);
    }

    #[test]
    fn readable_keeps_about_four_digits() {
        let got = [0.0, 12_345.6, 123.45, 1.234, 0.1234, 0.000_123].map(readable);
        assert_eq!(got, ["0", "12346", "123.5", "1.23", "0.1234", "0.000123"]);
    }

    #[test]
    fn figures_at_a_glance() {
        let got = [150_531_983.0, 12_345.0, 9_999.0, 0.5, -2.0e9, 0.0].map(human);
        assert_eq!([0.369_04, 1.0, 0.0123, 12.0, 0.0].map(ratio), ["0.37", "1.00", "0.0123", "12.00", "0.00"]);
        assert_eq!(got, ["150.5\u{a0}M", "12.35\u{a0}k", "9999", "0.5000", "-2.000\u{a0}G", "0"]);
    }
}
