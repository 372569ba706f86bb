//! The table of releases as part of the catalog: its rows are kernels beside the files.

use super::natural::natural;
use crate::kernel::{Releases, Version};
use crate::spec::SpecError;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

/// Name of the file, beside the folders.
pub(super) const RELEASES: &str = "releases.toml";

/// The table that the program was built with.
pub(super) static BUILT_IN: LazyLock<Result<Arc<ReleaseTable>, SpecError>> = LazyLock::new(|| {
    let text = include_str!("../../catalog/releases.toml");
    ReleaseTable::parse(&format!("catalog/{RELEASES}"), Cow::Borrowed(text)).map(Arc::new)
});

/// A table of releases and the text that it was read from.
#[derive(Clone, Debug)]
pub(super) struct ReleaseTable {
    text: Cow<'static, str>,
    parsed: Releases,
}

impl ReleaseTable {
    /// Parses `text`; `label` is used in messages.
    ///
    /// # Errors
    /// See [`Releases::parse`].
    pub(super) fn parse(label: &str, text: Cow<'static, str>) -> Result<Self, SpecError> {
        Ok(Self { parsed: Releases::parse(label, &text)?, text })
    }

    /// Its rows.
    pub(super) fn parsed(&self) -> &Releases {
        &self.parsed
    }

    /// The text that it was read from.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Order of kernels: by the release that their names begin with, then by the rest. Other names come last.
pub(super) fn by_release(a: &str, b: &str) -> Ordering {
    match (Version::of(a), Version::of(b)) {
        (Some((x, x_rest)), Some((y, y_rest))) => x.cmp(&y).then_with(|| natural(x_rest, y_rest)),
        (x, y) => y.is_some().cmp(&x.is_some()).then_with(|| natural(a, b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Kind};
    use crate::kernel::Lookup;

    #[test]
    fn kernels_are_in_order_of_release() {
        let c = Catalog::embedded();
        let kernels: Vec<_> = c.names(Kind::Kernel).collect();
        let at = |n: &str| kernels.iter().position(|k| *k == n).unwrap_or_else(|| panic!("{n} is missing"));
        assert!(at("6.4-rc2+rfc-v3") < at("6.4") && at("4.20-rc1") < at("4.20"), "a candidate is before its release");
        assert!(at("3.7") < at("3.7-vanilla") && at("3.7-vanilla") < at("3.8"));
    }

    #[test]
    fn no_kernel_extends_a_later_one() {
        let c = Catalog::embedded();
        for name in c.names(Kind::Kernel) {
            let base = c.kernel_spec(name).unwrap().unwrap().extends.map(|base| base.value);
            let time = |name: &str| Version::of(name).map(|(version, _)| version);
            if let (Some(own), Some(base)) = (time(name), base.as_deref()) {
                assert!(time(base).is_some_and(|before| before <= own), "{name} extends {base}");
            }
        }
    }
}
