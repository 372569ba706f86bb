//! How long each thread could not go on with its program, as records tell it ([`numalab_nouns::record::stalls`]).

use numalab_nouns::record::stalls::TaskStalls;

/// The stalls of all threads.
#[derive(Debug, Default)]
pub struct Stalls {
    /// By task; a task without any may have no entry.
    pub tasks: Vec<TaskStalls>,
}

impl Stalls {
    /// Stalls of a task.
    #[inline]
    pub fn of(&mut self, task: u32) -> &mut TaskStalls {
        let at = task as usize;
        if at >= self.tasks.len() {
            self.tasks.resize_with(at + 1, TaskStalls::default);
        }
        &mut self.tasks[at]
    }
}
