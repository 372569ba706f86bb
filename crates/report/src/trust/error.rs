//! The model's error for each kind of figure: from published cells, as a file, and for a comparison.

use super::figure_kind::FigureKind;
use crate::data::{Comparison, Metric};
use crate::reproduce::Cell;
use numalab_model::spec::{Doc, SpecError};
use std::sync::OnceLock;

/// Text of `catalog/trust.toml`.
const BUILT_IN: &str = include_str!("../../trust.toml");
/// Mark of simulated columns ([`crate::data::Kernel::mark`]).
const SIMULATED: &str = "sim";

/// How far predicted changes of a kind are off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelError {
    /// The kind.
    pub kind: FigureKind,
    /// Number of predicted cells that it is from.
    pub cells: usize,
    /// Half of the predicted changes are off by at most this factor, at least 1.
    pub half: f64,
    /// Four of five are off by at most this factor; infinite if some of those have no figure or the wrong sign.
    pub four_fifths: f64,
}

impl ModelError {
    /// The typical error in percent, as a sentence names it: 6.0 for a factor of 1.06.
    pub fn percent(&self) -> f64 {
        100.0 * (self.half - 1.0)
    }

    /// Whether a change is too small for the model: the factor between both figures is below the typical error. A
    /// change from or to 0 has no factor and is never too small.
    pub fn hides(&self, change_percent: Option<f64>) -> bool {
        let Some(ratio) = change_percent.map(|x| 1.0 + x / 100.0).filter(|r| *r > 0.0 && r.is_finite()) else {
            return false;
        };
        ratio.max(1.0 / ratio) < self.half
    }

    /// The size of the error in words: "about ±6 % for elapsed times".
    pub fn text(&self) -> String {
        let percent = self.percent();
        let digits = usize::from(percent < 9.95);
        format!("about ±{percent:.digits$} % for {}", self.kind.plural())
    }

    /// The interval of a ratio with the model's error joined to the spread of the runs: the two are independent, so
    /// their logarithms add as squares. The model's part is the factor within which four of five predictions lie.
    pub fn join(&self, ratio: f64, low: f64, high: f64) -> (f64, f64) {
        let model = self.four_fifths.ln();
        let side = |bound: f64| ((bound / ratio).ln().powi(2) + model.powi(2)).sqrt().exp();
        (ratio / side(low), ratio * side(high))
    }
}

/// The errors of all kinds that published cells tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Release that was measured.
    pub release: String,
    /// The errors, in the order of [`FigureKind::ALL`].
    pub errors: Vec<ModelError>,
}

impl Trust {
    /// The error of a kind; `None` if no published cell tells.
    pub fn of(&self, kind: FigureKind) -> Option<&ModelError> {
        self.errors.iter().find(|e| e.kind == kind)
    }
}

/// The errors that come with numalab. A file that cannot be read has none, which a test rules out.
pub fn built_in() -> &'static Trust {
    static TRUST: OnceLock<Trust> = OnceLock::new();
    TRUST.get_or_init(|| parse("trust.toml", BUILT_IN).unwrap_or_default())
}

/// Reads the file that [`to_toml`] writes; `file` is used in messages.
///
/// # Errors
/// A [`SpecError`] with the place of the first mistake: syntax, an unknown key or kind, a factor below 1.
pub fn parse(file: &str, text: &str) -> Result<Trust, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let release = root.str("release")?.value;
    let mut errors = Vec::new();
    for table in root.tables("kind")? {
        let name = table.str("name")?;
        let Some(kind) = FigureKind::ALL.into_iter().find(|k| k.word() == name.value) else {
            return Err(name.error(format!("`{}` is no kind of figure", name.value), "elapsed, user, system, …"));
        };
        let cells = table.int("cells", 1..=i64::from(u32::MAX))?;
        let factor = |key: &str| match table.opt_f64(key)? {
            None => Ok(f64::INFINITY),
            Some(factor) if factor.value >= 1.0 => Ok(factor.value),
            Some(factor) => Err(factor.error(format!("`{key}` is a factor"), "at least 1")),
        };
        let (half, four_fifths) = (factor("half")?, factor("four_fifths")?);
        table.finish()?;
        errors.push(ModelError { kind, cells: cells.value as usize, half, four_fifths });
    }
    root.finish()?;
    Ok(Trust { release, errors })
}

/// The errors of predicted cells by kind. A cell without a factor counts as infinitely far off.
pub fn errors_of(cells: &[Cell]) -> Vec<ModelError> {
    let of = |kind: FigureKind| {
        let scored = cells.iter().filter(|c| c.figure == kind && c.is_scored());
        let mut factors: Vec<f64> = scored.map(|c| c.factor().unwrap_or(f64::INFINITY)).collect();
        factors.sort_by(f64::total_cmp);
        // The factor within which a part of the cells lies: the smallest that has at least so many at or below it.
        let within = |part: f64| factors[((part * factors.len() as f64).ceil() as usize).max(1) - 1];
        (!factors.is_empty()).then(|| ModelError {
            kind,
            cells: factors.len(),
            half: within(0.5),
            four_fifths: within(0.8),
        })
    };
    FigureKind::ALL.into_iter().filter_map(of).collect()
}

/// The file of errors of a release.
pub fn to_toml(release: &str, errors: &[ModelError]) -> String {
    let mut out = format!(
        "# How far predicted changes are off, by kind of figure. Written by `make fidelity` from all published tables.\n\
         #   cells        predicted cells of this kind\n\
         #   half         half of them lie within this factor of the published change\n\
         #   four_fifths  four of five lie within this factor\n\
         # A factor is absent where that many cells have no figure.\n\
         release = \"{release}\"\n"
    );
    for e in errors {
        out.push_str(&format!("\n[[kind]]\nname = \"{}\"\ncells = {}\n", e.kind.word(), e.cells));
        for (key, factor) in [("half", e.half), ("four_fifths", e.four_fifths)] {
            if factor.is_finite() {
                out.push_str(&format!("{key} = {factor:.3}\n"));
            }
        }
    }
    out
}

/// The model's error for the change of a metric from the baseline to a kernel; `None` unless both columns are
/// simulated.
pub fn of_comparison(c: &Comparison, m: &Metric, kernel: usize) -> Option<&'static ModelError> {
    let simulated = |k: usize| c.kernels.get(k).is_some_and(|k| k.mark == SIMULATED);
    if !simulated(c.baseline) || !simulated(kernel) {
        return None;
    }
    built_in().of(FigureKind::of(&m.name, &m.unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Role;

    fn cell(figure: FigureKind, published: f64, simulated: f64) -> Cell {
        Cell {
            id: "t/k/m".into(),
            group: "g".into(),
            kernel: "k".into(),
            metric: "m".into(),
            figure,
            published: None,
            simulated: None,
            published_ratio: Some(published),
            simulated_ratio: Some(simulated),
            role: Role::Predicted,
            derived: String::new(),
            band: None,
            baseline: false,
            note: String::new(),
        }
    }

    #[test]
    fn the_shipped_file_has_the_kinds_that_verdicts_need() {
        let trust = parse("trust.toml", BUILT_IN).unwrap();
        for kind in [FigureKind::Elapsed, FigureKind::System, FigureKind::Bandwidth, FigureKind::Throughput] {
            let e = trust.of(kind).unwrap();
            assert!(e.half >= 1.0 && e.four_fifths >= e.half && e.cells > 0, "{e:?}");
        }
    }

    #[test]
    fn half_and_four_fifths_of_the_cells_lie_within_the_factors() {
        let mut cells: Vec<Cell> = [(1.0, 1.1), (2.0, 1.0), (0.5, 0.6), (1.0, 1.0), (3.0, 4.5)]
            .map(|(p, s)| cell(FigureKind::Elapsed, p, s))
            .into();
        cells.push(Cell { role: Role::Derived, ..cell(FigureKind::Elapsed, 1.0, 9.0) });
        cells.push(Cell { simulated_ratio: None, ..cell(FigureKind::System, 1.0, 1.0) });
        let errors = errors_of(&cells);
        // Sorted: 1, 1.1, 1.2, 1.5, 2. The derived cell is not counted.
        assert_eq!(errors[0].cells, 5);
        assert!((errors[0].half - 1.2).abs() < 1e-12 && (errors[0].four_fifths - 1.5).abs() < 1e-12);
        assert_eq!((errors[1].kind, errors[1].half), (FigureKind::System, f64::INFINITY));
        let again = parse("t.toml", &to_toml("1.0", &errors)).unwrap();
        assert_eq!(again, Trust { release: "1.0".into(), errors });
    }

    #[test]
    fn small_changes_are_hidden_both_ways_and_intervals_widen() {
        let e = ModelError { kind: FigureKind::Elapsed, cells: 9, half: 1.06, four_fifths: 1.25 };
        assert_eq!(e.text(), "about ±6.0 % for elapsed times");
        let hidden = |x: f64| e.hides(Some(x));
        assert!(hidden(5.0) && hidden(-5.0) && !hidden(7.0) && !hidden(-7.0));
        assert!(!e.hides(None) && !hidden(-100.0) && !hidden(f64::INFINITY));
        let (low, high) = e.join(0.8, 0.8, 0.8);
        assert!((low - 0.64).abs() < 1e-12 && (high - 1.0).abs() < 1e-12);
        let (low, high) = e.join(0.8, 0.7, 0.9);
        assert!(low < 0.63 && high > 1.01, "{low} {high}");
    }

    #[test]
    fn a_wrong_file_says_where() {
        for (text, want) in [
            (
                "release = \"1\"\n[[kind]]\nname = \"speed\"\ncells = 1\nhalf = 1\nfour_fifths = 1\n",
                "no kind of figure",
            ),
            ("release = \"1\"\n[[kind]]\nname = \"user\"\ncells = 1\nhalf = 0.5\nfour_fifths = 1\n", "is a factor"),
        ] {
            let e = parse("t.toml", text).unwrap_err().to_string();
            assert!(e.contains(want) && e.contains("t.toml:"), "{e}");
        }
    }
}
