//! A figure of the kernel beside that of the simulator, and how far apart they are.

use numalab_model::counters::BALANCING;
use numalab_report::held;
use numalab_stats::describe;
use serde::Serialize;

/// Largest factor outside the kernel's own range at which a figure counts as close.
pub const CLOSE: f64 = held::CLOSE;
/// Largest factor outside the kernel's own range at which a figure counts as near.
pub const NEAR: f64 = 2.0;

/// A figure of the kernel and of the simulator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Counter, reason, score, or `pages on nodeN`.
    pub name: String,
    /// Smallest of the kernel's runs.
    pub min: f64,
    /// Median of the kernel's runs.
    pub median: f64,
    /// Largest of the kernel's runs.
    pub max: f64,
    /// Median of the simulator's runs.
    pub simulated: f64,
}

impl Row {
    /// The simulated value divided by the kernel's median; `None` if the median is 0.
    pub fn ratio(&self) -> Option<f64> {
        (self.median != 0.0).then(|| self.simulated / self.median)
    }
    /// Distance of the simulated value from the kernel's own range: 1 inside the range, else the factor to its nearer
    /// end.
    pub fn off_by(&self) -> f64 {
        held::off_by(self.min, self.max, self.simulated)
    }
    /// The distance as a character: `=` inside, `+` close, `~` near, `!` further off.
    pub fn mark(&self) -> char {
        match self.off_by() {
            1.0 => '=',
            d if d <= CLOSE => '+',
            d if d <= NEAR => '~',
            _ => '!',
        }
    }
}

/// The rows of the figures that both sides have.
pub fn rows(kernel: &[Vec<(String, f64)>], model: &[Vec<(String, f64)>]) -> Vec<Row> {
    let values = |side: &[Vec<(String, f64)>], name: &str| -> Vec<f64> {
        side.iter().filter_map(|run| run.iter().find(|f| f.0 == name)).map(|f| f.1).collect()
    };
    let Some(first) = kernel.first() else { return Vec::new() };
    let row = |name: &str| -> Option<Row> {
        let k = values(kernel, name);
        let (min, median, max) = (describe::min(&k)?, describe::median(&k)?, describe::max(&k)?);
        let simulated = describe::median(&values(model, name))?;
        let row = Row { name: name.into(), min, median, max, simulated };
        // Every program is judged by the counters of balancing, zero or not.
        (row.max != 0.0 || row.simulated != 0.0 || BALANCING.contains(&name)).then_some(row)
    };
    first.iter().filter_map(|f| row(&f.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(min: f64, max: f64, simulated: f64) -> Row {
        Row { name: "x".into(), min, median: (min + max) / 2.0, max, simulated }
    }

    #[test]
    fn the_kernels_own_spread_is_no_miss() {
        assert_eq!(row(10.0, 20.0, 20.0).off_by(), 1.0);
        assert_eq!(row(10.0, 20.0, 40.0).off_by(), 2.0);
        assert_eq!(row(10.0, 20.0, 5.0).off_by(), 2.0);
        assert_eq!(row(0.0, 0.0, 5.0).off_by(), f64::INFINITY);
        assert_eq!(row(4.0, 6.0, 0.0).off_by(), f64::INFINITY);
        assert_eq!(
            [row(1.0, 2.0, 1.5), row(1.0, 2.0, 2.4), row(1.0, 2.0, 4.0), row(1.0, 2.0, 4.1)].map(|r| r.mark()),
            ['=', '+', '~', '!']
        );
    }

    #[test]
    fn rows_need_both_sides_and_something_to_show() {
        let run = |a: f64, b: f64| {
            vec![("a".to_string(), a), ("zero".into(), 0.0), ("kernel only".into(), 1.0), ("b".into(), b)]
        };
        let kernel = [run(1.0, 5.0), run(3.0, 7.0)];
        let model = [vec![("a".to_string(), 2.5), ("zero".into(), 0.0), ("b".into(), 0.0)]];
        let rows = rows(&kernel, &model);
        assert_eq!(rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((rows[0].min, rows[0].median, rows[0].max, rows[0].ratio()), (1.0, 2.0, 3.0, Some(1.25)));
    }
}
