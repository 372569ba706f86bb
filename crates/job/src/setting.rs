//! A setting that a job asks for and the running kernel does not have, take or keep.

use serde::{Deserialize, Serialize};

/// Exit code of a worker on this machine that ends for a [`SettingError`]; its standard error has it as a line.
pub const EXIT_SETTING: i32 = 3;
/// First word of that line.
pub const SETTING_LINE: &str = "setting ";

/// A setting that the running kernel does not have, take or keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("`{name}`: {problem}")]
pub struct SettingError {
    /// The kernel's name of it, as the job has it: `vm.x`, `debugfs p/q`, or an absolute path.
    pub name: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Problem {
    /// The name stands for no file.
    #[error("no file of a running kernel")]
    NoName,
    /// The file is not there.
    #[error("this kernel has no such file in {folder}")]
    NoFile {
        /// The deepest folder on the way to it that is there.
        folder: String,
        /// Whether that is the file's own folder.
        own_folder: bool,
        /// Names of what is in it.
        has: Vec<String>,
    },
    /// The file cannot be read; the reason.
    #[error("{0}")]
    Unreadable(String),
    /// The kernel takes no such value.
    #[error("the kernel refuses {value}: {reason}")]
    Refused {
        /// The value.
        value: String,
        /// The kernel's reason.
        reason: String,
        /// What the file showed: of a choice, all words.
        shown: String,
    },
    /// The value was accepted, and another one is there.
    #[error("{value} was accepted but the kernel has {now}")]
    Changed {
        /// The value.
        value: String,
        /// What is there.
        now: String,
    },
}
