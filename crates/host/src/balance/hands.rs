//! What the daemon does to other processes.

use crate::sys;
use std::io;

/// What the daemon does to other processes.
pub trait Hands {
    /// The node of each page, or a negative error number.
    ///
    /// # Errors
    /// The process has ended, or may not be looked at.
    fn page_nodes(&mut self, pid: u32, pages: &[u64], nodes: &mut Vec<i32>) -> io::Result<()>;
    /// Moves pages that only this process maps; `status` receives nodes or negative error numbers.
    ///
    /// # Errors
    /// The process has ended, or its pages may not be moved.
    fn move_pages(&mut self, pid: u32, pages: &[u64], node: u32, status: &mut Vec<i32>) -> io::Result<()>;
    /// Lets a thread run on `cpus` only.
    ///
    /// # Errors
    /// The thread has ended, or may not be changed.
    fn set_affinity(&mut self, tid: u32, cpus: &[u32]) -> io::Result<()>;
}

/// The calls of the running kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Hands for Kernel {
    fn page_nodes(&mut self, pid: u32, pages: &[u64], nodes: &mut Vec<i32>) -> io::Result<()> {
        sys::page_nodes(pid, pages, nodes)
    }
    fn move_pages(&mut self, pid: u32, pages: &[u64], node: u32, status: &mut Vec<i32>) -> io::Result<()> {
        sys::move_pages(pid, pages, node, status)
    }
    fn set_affinity(&mut self, tid: u32, cpus: &[u32]) -> io::Result<()> {
        sys::set_affinity(tid, cpus)
    }
}
