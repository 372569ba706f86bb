//! What is wrong with a program that is to run in a guest or on this machine.

/// Why a program cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// There is no such program.
    #[error("{0}: no such program; expected a program (`command -v` says whether there is one)")]
    Missing(String),
    /// There is no such file.
    #[error("--with {0}: no such file, directory or program; expected one of this machine")]
    NoFile(String),
    /// A library of it is missing.
    #[error("{program} needs the library {library}, which is not found; expected it installed, or LD_LIBRARY_PATH")]
    Library {
        /// Path of the program.
        program: String,
        /// Name of the library.
        library: String,
    },
    /// The interpreter of a script is missing.
    #[error("{script}: its interpreter {interpreter} is not there; expected it installed")]
    Interpreter {
        /// Path of the script.
        script: String,
        /// The interpreter.
        interpreter: String,
    },
    /// It is not for guests of x86-64.
    #[error("{0}: a program of another architecture; expected one of x86-64, or a script of one")]
    Foreign(String),
    /// The files are too large for a guest.
    #[error("program and files take more than {} MiB; expected less, since all is memory of the guest", .0 >> 20)]
    TooLarge(u64),
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
}
