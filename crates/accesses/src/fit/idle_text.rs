//! The idle thread of a process, as TOML: a group that waits for the end of the others at a barrier.

use super::fitted::Fit;
use super::image::FittedProcess;
use std::fmt::{Result, Write};

impl Fit {
    /// Barriers at which processes with an idle thread end.
    pub(super) fn barriers_of_idle(&self, out: &mut String) -> Result {
        let mut idle = self.processes.iter().filter(|p| p.idles);
        idle.try_for_each(|p| {
            writeln!(out, "\n[[barrier]]\nname = \"{}\"", barrier(p))?;
            if p.count > 1 {
                writeln!(out, "over = \"0..{}\"", p.count - 1)?;
            }
            Ok(())
        })
    }

    /// The thread of a process that does nothing, as a group.
    pub(super) fn idle_thread(&self, out: &mut String, p: &FittedProcess) -> Result {
        if !p.idles {
            return Ok(());
        }
        writeln!(
            out,
            "\n# It stands for threads that live to the end and do next to nothing: with it the process has"
        )?;
        writeln!(out, "# several threads, so pages are marked wherever they are.")?;
        writeln!(out, "[[process.group]]\nname = \"idle\"\nthreads = 1")?;
        meet(out, p, "process.group.phase")
    }
}

/// The end of a process with an idle thread, for a thread of it.
pub fn meet(out: &mut String, p: &FittedProcess, table: &str) -> Result {
    if !p.idles {
        return Ok(());
    }
    let index = if p.count > 1 { "[process]" } else { "" };
    writeln!(out, "\n[[{table}]]\nname = \"until all end\"\nbarrier = \"{}{index}\"", barrier(p))
}

fn barrier(p: &FittedProcess) -> String {
    format!("over_{}", p.name)
}
