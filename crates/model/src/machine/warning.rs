//! Warnings that a machine file carries with it.

/// How a warning of an imported machine begins that says where a source contradicts itself or another one.
pub const DOUBT: &str = "doubtful: ";

/// What a machine file assumes, as a warning. Where an import found that two things disagree is no assumption.
pub(super) fn of_assumed(assumed: &str) -> String {
    match assumed.starts_with(DOUBT) {
        true => assumed.to_string(),
        false => format!("assumed: {assumed}"),
    }
}
