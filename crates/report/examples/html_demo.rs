//! Writes a page of made-up figures and the same comparison as JSON: `html_demo DIR [hostile|large|wide]`.
//!
//! Used by the browser tests; `hostile` has names that try to break out of the page, `large` ten runs of a minute,
//! `wide` many kernels on many nodes.
#![allow(clippy::unwrap_used)]

#[path = "../tests/it/support/synthetic.rs"]
mod synthetic;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("usage: html_demo DIR [hostile|large|wide]")?);
    let made = match arguments.next().as_deref() {
        Some("hostile") => synthetic::hostile(),
        Some("large") => synthetic::make(&synthetic::large()),
        Some("wide") => synthetic::make(&synthetic::wide()),
        _ => synthetic::make(&synthetic::demo()),
    };
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("report.html"), numalab_report::html::render(&made.input()))?;
    std::fs::write(dir.join("report.json"), numalab_report::json::report(&made.comparison)?)?;
    println!("{}", dir.join("report.html").display());
    Ok(())
}
