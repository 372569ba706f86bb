//! Readers of texts, as functions of bytes. Bytes that are no UTF-8 are read as a text with marks in their place.

use numalab_host::advise::http::Url;
use numalab_host::advise::metric::Series;
use numalab_host::procfs::{maps, numa_maps, stat, status};
use numalab_job::frame;
use numalab_job::Job;
use numalab_lab::image::ImageSpec;
use numalab_lab::plugin::report::PluginReport;
use numalab_model::experiment::{self, Numactl};
use numalab_model::expr::{Env, Expr};
use numalab_model::kernel::{self, Releases, Setting};
use numalab_model::machine::{self, import, Machine};
use numalab_model::published;
use numalab_model::spec::Spot;
use numalab_model::workload;
use numalab_report::{columns, fail_if::FailIf, trust};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A machine that workloads are resolved for.
static MACHINE: LazyLock<Option<Machine>> = LazyLock::new(|| machine::from_shorthand("2x1x2x1").ok());

pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

pub(crate) fn experiment(bytes: &[u8]) {
    let _ = experiment::parse("input", &text(bytes));
}

pub(crate) fn machine(bytes: &[u8]) {
    let _ = machine::from_toml("input", &text(bytes)).map(|m| machine::show(&m, 100));
}

pub(crate) fn shorthand(bytes: &[u8]) {
    let _ = machine::from_shorthand(&text(bytes));
}

pub(crate) fn workload(bytes: &[u8]) {
    let Some(machine) = MACHINE.as_ref() else { return };
    let _ = workload::parse("input", &text(bytes)).map(|spec| spec.resolve(machine, 1, &[]));
}

/// A workload with one parameter.
const WITH_A_SIZE: &str = include_str!("../seeds/with-a-size.toml");

/// The value of that parameter.
pub(crate) fn param(bytes: &[u8]) {
    let _ = resolved(WITH_A_SIZE, &text(bytes));
}

/// The workload of a file, with this value of its parameter `size`.
fn resolved(file: &str, size: &str) -> Result<workload::Workload, String> {
    let machine = MACHINE.as_ref().ok_or("no machine")?;
    let spec = workload::parse("input", file).map_err(|e| e.to_string())?;
    spec.resolve(machine, 1, &[("size".to_string(), size.to_string())]).map_err(|e| e.to_string())
}

pub(crate) fn kernel(bytes: &[u8]) {
    let _ = kernel::parse("input", &text(bytes));
}

/// A series of patches, and settings of its knobs.
pub(crate) fn series(bytes: &[u8]) {
    let Ok(series) = kernel::series::parse("input", &text(bytes)) else { return };
    for knob in &series.knobs {
        if let Ok(setting) = Setting::from_argument("input", &format!("{}={}", knob.name.value, knob.default)) {
            let _ = series.check(&[setting]);
        }
        let _ = knob.simulated(&knob.default);
    }
}

pub(crate) fn releases(bytes: &[u8]) {
    let _ = Releases::parse("input", &text(bytes));
}

pub(crate) fn published(bytes: &[u8]) {
    let _ = published::parse("input", &text(bytes));
}

pub(crate) fn columns(bytes: &[u8]) {
    let _ = columns::with_own("input", &text(bytes));
}

pub(crate) fn trust(bytes: &[u8]) {
    let _ = trust::parse("input", &text(bytes));
}

/// Descriptions of a machine by other tools, and archives of sysfs.
pub(crate) fn import(bytes: &[u8]) {
    let _ = import::bytes("input", bytes, "imported");
}

pub(crate) fn expression(bytes: &[u8]) {
    let _ = Expr::parse(&text(bytes)).map(|e| e.eval(&Env::default()));
}

pub(crate) fn set(bytes: &[u8]) {
    let _ = Setting::from_argument("--set", &text(bytes));
}

pub(crate) fn fail_if(bytes: &[u8]) {
    let _ = FailIf::parse(&text(bytes));
}

pub(crate) fn numactl(bytes: &[u8]) {
    let value = text(bytes).into_owned();
    let _ = Numactl::parse(Spot { value, file: "input".into(), line: 1, column: 1 });
}

pub(crate) fn size(bytes: &[u8]) {
    let _ = machine::size::read_option(&text(bytes));
}

pub(crate) fn cpulist(bytes: &[u8]) {
    let _ = machine::cpulist::parse(&text(bytes));
}

/// What `uname -r` prints, among kernels of the catalog.
pub(crate) fn uname(bytes: &[u8]) {
    let names = ["6.1", "6.12", "rhel-9.4", "ubuntu-24.04"].map(String::from);
    let _ = kernel::uname::nearest(&text(bytes), &names);
}

/// What Linux shows of a process.
pub(crate) fn procfs(bytes: &[u8]) {
    let text = text(bytes);
    let _ = (maps::parse(&text), numa_maps::parse(&text), stat::Stat::parse(&text), status::Status::parse(&text));
}

/// A series of a Prometheus page, and the page.
pub(crate) fn metric(bytes: &[u8]) {
    let text = text(bytes);
    let (name, page) = text.split_once('\n').unwrap_or((&text, ""));
    let _ = Series::parse(name).map(|s| s.sum(page));
    // A name would be looked up in the network.
    if name.starts_with("http://127.") {
        let _ = Url::parse(name);
    }
}

pub(crate) fn image(bytes: &[u8]) {
    let _ = ImageSpec::parse(&text(bytes));
}

pub(crate) fn plugin_report(bytes: &[u8]) {
    let _ = PluginReport::parse(&text(bytes), 4);
}

/// The channel on which a guest reports, in two portions.
pub(crate) fn channel(bytes: &[u8]) {
    let mut reader = frame::Reader::default();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    if reader.feed(first).is_ok() {
        let _ = reader.feed(second);
    }
}

pub(crate) fn job(bytes: &[u8]) {
    let _ = Job::from_bytes(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise nothing behind the first look at a file would be reached.
    #[test]
    fn the_workload_with_a_parameter_is_accepted() {
        assert_eq!(resolved(WITH_A_SIZE, "64MiB").map(|w| w.processes[0].regions[0].size_bytes), Ok(64 << 20));
    }
}
