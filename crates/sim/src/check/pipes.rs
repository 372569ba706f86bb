//! No flow exceeds its pipe.

use crate::check::view::View;

/// No pipe has promised more than it has, and none let more through in an epoch.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    v.sim.hw.contention.check_pipes()
}
