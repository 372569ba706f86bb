//! Sizes as text: `256 GiB`, `512 KiB`, `4810956 KiB`.
//!
//! Problem: machine files state caches and memory from KiB to TiB, and a bare number would leave the unit open.
//! Approach: a size is a number and one of the units of [`UNITS`], with or without a space.
//! Units: bytes inside.

use crate::spec::{clip, nearest, SpecError, Spot};

/// Units with their bytes, in rising order.
pub const UNITS: [(&str, u64); 5] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Units that only command-line options take. In a machine file `256 GB` of memory most likely means GiB.
const DECIMAL_UNITS: [(&str, u64); 4] =
    [("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)];

/// Largest size accepted, bytes: 1 PiB, which is beyond any machine and far from overflow.
pub const MAX_BYTES: u64 = 1 << 50;

/// What a size looks like, for messages.
pub const EXPECTED: &str = "a size such as \"256 GiB\" (B, KiB, MiB, GiB or TiB)";

const EXPECTED_OPTION: &str = "a size such as 8GiB (B, KiB, MiB, GiB, TiB, KB, MB, GB or TB)";

/// Reads a size at its place in a file.
///
/// # Errors
/// The text is not a number with a unit, is negative, or is above [`MAX_BYTES`]. The error names the nearest unit.
pub fn read(spot: &Spot<String>) -> Result<u64, SpecError> {
    read_in(spot, &UNITS, EXPECTED)
}

/// Reads a size given as a command-line option: as [`read`], but with decimal units too, as workload parameters have.
///
/// # Errors
/// The text is no size; the error is what was expected.
pub fn read_option(text: &str) -> Result<u64, String> {
    let units: Vec<(&str, u64)> = UNITS.into_iter().chain(DECIMAL_UNITS).collect();
    let spot = Spot { value: text.to_string(), file: String::new(), line: 0, column: 0 };
    read_in(&spot, &units, EXPECTED_OPTION).map_err(|e| e.expected)
}

fn read_in(spot: &Spot<String>, units: &[(&str, u64)], expected: &str) -> Result<u64, SpecError> {
    let text = spot.value.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), &text[split..]);
    let shown = clip(text);
    let Some(&(_, bytes)) = units.iter().find(|(u, _)| *u == unit) else {
        let mut e = spot.error(format!("size `{shown}` has no known unit"), expected);
        e.nearest = nearest_unit(unit);
        return Err(e);
    };
    let wrong = |what: &str| spot.error(format!("size `{shown}` {what}"), expected);
    let value: f64 = number.parse().map_err(|_| wrong("is not a number with a unit"))?;
    if value < 0.0 {
        return Err(wrong("is negative"));
    }
    let total = value * bytes as f64;
    if !total.is_finite() || total > MAX_BYTES as f64 {
        return Err(wrong("is above 1024 TiB"));
    }
    Ok(total.round() as u64)
}

/// The unit that is most likely meant: by its first letter, as `GB`, `gib` and `G` mean GiB to most people.
fn nearest_unit(unit: &str) -> Option<String> {
    let first = unit.chars().next()?.to_ascii_uppercase();
    let same = UNITS.iter().find(|(u, _)| u.starts_with(first) && u.len() > 1);
    same.map(|(u, _)| u.to_string()).or_else(|| nearest(unit, UNITS.iter().map(|(u, _)| *u)))
}

/// A size as exact text, in the largest unit that needs no fraction.
pub fn exact(bytes: u64) -> String {
    let (unit, one) =
        UNITS.iter().rev().find(|(_, one)| bytes >= *one && bytes.is_multiple_of(*one)).unwrap_or(&UNITS[0]);
    format!("{} {unit}", bytes / one)
}

/// A size as text for people, with at most one decimal, in the largest unit that gives 1 or more.
pub fn short(bytes: u64) -> String {
    let (unit, one) = UNITS.iter().rev().find(|(_, one)| bytes >= *one).unwrap_or(&UNITS[0]);
    let value = bytes as f64 / *one as f64;
    let text = format!("{value:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(text: &str) -> Spot<String> {
        Spot { value: text.into(), file: "m.toml".into(), line: 3, column: 5 }
    }

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [("256 GiB", 256 << 30), ("512KiB", 512 << 10), ("4.5 MiB", 4_718_592), ("0 B", 0)] {
            assert_eq!(read(&spot(text)).unwrap(), bytes, "{text}");
        }
        assert_eq!(read_option("5GB"), Ok(5_000_000_000));
        assert_eq!(read_option("2 GiB"), Ok(2 << 30));
        assert!(read_option("5G").unwrap_err().contains("GiB, TiB, KB"));
        assert_eq!(exact(4_810_956 << 10), "4810956 KiB");
        assert_eq!(exact(256 << 30), "256 GiB");
        assert_eq!(exact(0), "0 B");
        assert_eq!(short(4_810_956 << 10), "4.6 GiB");
        assert_eq!(short(32 << 20), "32 MiB");
    }

    #[test]
    fn wrong_sizes_are_refused_at_their_place() {
        for (text, what, near) in [
            ("-4 GiB", "is negative", None),
            ("256 GB", "has no known unit", Some("GiB")),
            ("256", "has no known unit", None),
            ("x GiB", "has no known unit", None),
            ("1..5 GiB", "is not a number", None),
            ("99999999999 TiB", "is above 1024 TiB", None),
        ] {
            let e = read(&spot(text)).unwrap_err();
            assert!(e.what.contains(what), "{text}: {e}");
            assert_eq!((e.line, e.column), (3, 5));
            assert_eq!(e.nearest.as_deref(), near, "{text}");
        }
    }
}
