//! Prints the outcome of the request in a file, as the native build has it: what a test compares with WebAssembly.
#![allow(clippy::unwrap_used)]

use numalab_wasm::asked::Asked;
use numalab_wasm::session::Session;

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let asked: Asked = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    match Session::start(&asked, false).and_then(Session::finish) {
        Ok(outcome) => print!("{}", serde_json::to_string(&outcome).unwrap()),
        Err(what) => print!("{what}"),
    }
}
