//! What the comparison of an image says: the text, the JSON and the pages are made of it.

use super::calibrate;
use super::compare::Workload;
use serde::Serialize;

/// The comparison of an image with its model.
#[derive(Serialize)]
pub struct Compared {
    /// Image, as the user named it.
    pub image: String,
    /// Release and hash of the image.
    pub release: String,
    /// Name of the simulated kernel.
    pub kernel: String,
    /// Name of the machine.
    pub machine: String,
    /// Measured times that the simulated machine was given.
    pub calibration: Vec<calibrate::Figure>,
    /// Results by setting of huge pages.
    pub thp: Vec<ThpCompared>,
    /// Runs of both sides that reached their limit of time. They have no result and are not compared.
    pub timeouts: Vec<String>,
}

/// The comparison with one setting of huge pages.
#[derive(Serialize)]
pub struct ThpCompared {
    /// Setting of `transparent_hugepage/enabled`.
    pub thp: &'static str,
    /// Workloads in the order of the experiment.
    pub workloads: Vec<Workload>,
}
