//! A published cell beside its simulated counterpart, and how near the two are.

use crate::trust::FigureKind;
use serde::Serialize;

/// Largest distance of a simulated ratio from a published ratio of exactly 1.
const UNCHANGED: f64 = 0.01;
/// Tolerance of that comparison, so that 1.01 itself passes in binary.
const SLACK: f64 = 1e-9;
/// Bound of a near miss, as a factor between the ratios.
pub(super) const NEAR: f64 = 1.25;
/// Bound of a wide miss, as a factor between the ratios.
pub(super) const WIDE: f64 = 2.0;

/// Whether a cell set something in the model, or is predicted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Calibrated: the amount of work was chosen so that this cell fits. It is not scored.
    Calibrated,
    /// Derived: a figure of the model was derived from this cell, or chosen with it in view. It is not scored.
    Derived,
    /// Predicted: nothing was chosen to fit this cell. It is scored.
    Predicted,
}

/// A published cell and its simulated counterpart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Identifier in the published table.
    pub id: String,
    /// Name of its table in the mail.
    pub group: String,
    /// Kernel: its column.
    pub kernel: String,
    /// Metric: its row.
    pub metric: String,
    /// Kind of figure.
    pub figure: FigureKind,
    /// Published value.
    pub published: Option<f64>,
    /// Simulated value; `None` if there was no such run.
    pub simulated: Option<f64>,
    /// Published value over that of the baseline column.
    pub published_ratio: Option<f64>,
    /// Simulated value over that of the simulated baseline column.
    pub simulated_ratio: Option<f64>,
    /// Whether the cell set something in the model or is predicted.
    pub role: Role,
    /// What was derived from the cell; empty unless its role is [`Role::Derived`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub derived: String,
    /// Between which ratios the published table counts the cell as reproduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<(f64, f64)>,
    /// Whether the cell belongs to the baseline column. Its ratio is then 1 by definition, and it is not scored.
    pub baseline: bool,
    /// Suspected cause of a miss; not part of the JSON form.
    #[serde(skip)]
    pub note: String,
}

impl Cell {
    pub(super) fn ratios(&self) -> Option<(f64, f64)> {
        self.published_ratio.zip(self.simulated_ratio)
    }
    /// Factor between the two ratios, at least 1. `None` if a ratio is missing, or if it is not positive and they are
    /// not both 0.
    pub fn factor(&self) -> Option<f64> {
        match self.ratios()? {
            // Neither side has any.
            (0.0, 0.0) => Some(1.0),
            (p, s) if p > 0.0 && s > 0.0 => Some((p / s).max(s / p)).filter(|f| f.is_finite()),
            _ => None,
        }
    }
    /// Whether the ratios are within `bound` of each other.
    pub fn within(&self, bound: f64) -> bool {
        self.factor().is_some_and(|f| f <= bound)
    }
    /// Whether the direction of the change is the published one.
    pub fn direction_right(&self) -> bool {
        match self.ratios() {
            Some((1.0, s)) => (s - 1.0).abs() <= UNCHANGED + SLACK,
            Some((p, s)) => (p > 1.0 && s > 1.0) || (p < 1.0 && s < 1.0),
            None => false,
        }
    }
    /// Whether the cell counts in scores: it is predicted, and its ratio is not 1 by definition.
    pub fn is_scored(&self) -> bool {
        self.role == Role::Predicted && !self.baseline
    }
    /// Whether the simulated ratio is in the cell's band; `None` without a band.
    pub fn in_band(&self) -> Option<bool> {
        self.band.map(|(least, largest)| self.simulated_ratio.is_some_and(|r| least <= r && r <= largest))
    }
    pub(super) fn missed(&self) -> bool {
        let near = self.direction_right() && self.within(NEAR);
        self.is_scored() && (!near || self.in_band() == Some(false))
    }
    /// A sign for how well the cell came out.
    pub(super) fn sign(&self) -> char {
        match self.role {
            Role::Calibrated => 'c',
            Role::Derived => 'd',
            Role::Predicted if self.baseline => ' ',
            Role::Predicted if !self.direction_right() => '!',
            Role::Predicted if self.within(NEAR) => '=',
            Role::Predicted if self.within(WIDE) => '~',
            Role::Predicted => '>',
        }
    }
}
