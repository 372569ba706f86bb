//! Programs to record, and a directory for their records.

use numalab_accesses::record::{self, AccessRecord};
use numalab_accesses::recorder::{self, Look, RecordError, Recorded, Settings};
use std::path::PathBuf;
use std::process::Command;

/// A new directory; `None`, with a reason on standard error, where programs cannot be recorded.
pub fn bench() -> Option<Bench> {
    for program in ["cc", recorder::QEMU] {
        if Command::new(program).arg("--version").output().is_err() {
            eprintln!("skipped: no {program} here (crates/lab/setup.sh test installs it)");
            return None;
        }
    }
    Some(Bench { dir: tempfile::tempdir().unwrap() })
}

/// A directory with programs and records.
pub struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    /// Compiles a C program; returns its path.
    pub fn program(&self, name: &str, text: &str) -> String {
        let source = self.path(&format!("{name}.c"));
        std::fs::write(&source, text).unwrap();
        let out = self.path(name);
        let done = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&out).arg(&source).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        out.display().to_string()
    }
    /// Records a command in `rec`.
    pub fn try_record(&self, command: &[&str], settings: &Settings) -> Result<Recorded, RecordError> {
        let command: Vec<String> = command.iter().map(|c| c.to_string()).collect();
        recorder::record(&self.path("rec"), &command, settings, &mut |_| Look::GoOn)
    }
    /// Records a command in `rec`, and reads the record.
    pub fn record(&self, command: &[&str], settings: &Settings) -> (Recorded, AccessRecord) {
        let recorded = self.try_record(command, settings).unwrap();
        (recorded, record::read(&self.path("rec")).unwrap())
    }
}
