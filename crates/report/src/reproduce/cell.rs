//! A published cell beside its simulated counterpart, and how near the two are.

use serde::Serialize;

/// How near a simulated ratio must be to a published ratio of exactly 1.
const UNCHANGED: f64 = 0.01;
/// Slack of that comparison, so that 1.01 itself is near enough in binary.
const SLACK: f64 = 1e-9;
/// The near band.
pub(super) const NEAR: f64 = 1.25;
/// The wide band.
pub(super) const WIDE: f64 = 2.0;

/// What a cell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The amount of work was chosen so that this cell fits; not scored.
    Calibrated,
    /// Came out by itself; scored.
    Predicted,
}

/// A published cell and its simulated counterpart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Identifier in the published table.
    pub id: String,
    /// Which table of the mail.
    pub group: String,
    /// Column.
    pub kernel: String,
    /// Row.
    pub metric: String,
    /// Published value.
    pub published: Option<f64>,
    /// Simulated value; `None` if there was no such run.
    pub simulated: Option<f64>,
    /// Published value over that of the baseline column.
    pub published_ratio: Option<f64>,
    /// Simulated value over that of the simulated baseline column.
    pub simulated_ratio: Option<f64>,
    /// What the cell is for.
    pub role: Role,
    /// The cell belongs to the baseline column, so its ratio is 1 by definition; not scored.
    pub baseline: bool,
    /// What is suspected behind a miss; not part of the JSON form.
    #[serde(skip)]
    pub note: String,
}

impl Cell {
    pub(super) fn ratios(&self) -> Option<(f64, f64)> {
        self.published_ratio.zip(self.simulated_ratio)
    }
    /// How far apart the ratios are, at least 1; `None` if one is missing or not positive.
    pub fn factor(&self) -> Option<f64> {
        match self.ratios()? {
            // Neither happened at all.
            (0.0, 0.0) => Some(1.0),
            (p, s) if p > 0.0 && s > 0.0 => Some((p / s).max(s / p)).filter(|f| f.is_finite()),
            _ => None,
        }
    }
    /// Whether the ratios are within `bound` of each other.
    pub fn within(&self, bound: f64) -> bool {
        self.factor().is_some_and(|f| f <= bound)
    }
    /// Whether the change went the published way.
    pub fn direction_right(&self) -> bool {
        match self.ratios() {
            Some((1.0, s)) => (s - 1.0).abs() <= UNCHANGED + SLACK,
            Some((p, s)) => (p > 1.0 && s > 1.0) || (p < 1.0 && s < 1.0),
            None => false,
        }
    }
    pub(super) fn scored(&self) -> bool {
        self.role == Role::Predicted && !self.baseline
    }
    pub(super) fn missed(&self) -> bool {
        self.scored() && !(self.direction_right() && self.within(NEAR))
    }
    /// One sign per cell: how well it came out.
    pub(super) fn sign(&self) -> char {
        match self.role {
            Role::Calibrated => 'c',
            Role::Predicted if self.baseline => ' ',
            Role::Predicted if !self.direction_right() => '!',
            Role::Predicted if self.within(NEAR) => '=',
            Role::Predicted if self.within(WIDE) => '~',
            Role::Predicted => '>',
        }
    }
}
