//! Tests that record programs. They need `qemu-x86_64` and a C compiler, and say so where one is missing.
#![allow(clippy::unwrap_used)]

mod faulty;
mod forks;
mod guest;
mod kernel_work;
mod known;
mod recording;
mod support;
mod unix;
