//! The functions that JavaScript calls.
//!
//! A call with text is made in three steps: [`numalab_input`] gives the place for the text, the function reads it, and
//! [`numalab_output`] with [`numalab_output_len`] tells where the answer is. So no function takes a pointer. Each
//! returns 0, or 1 if the answer is a message of what is wrong.

use crate::answer::{answer, Compared};
use crate::asked::Asked;
use crate::offer;
use crate::session::Session;
use serde::de::DeserializeOwned;
use std::cell::RefCell;

/// What lasts between calls.
#[derive(Default)]
struct Page {
    input: Vec<u8>,
    output: Vec<u8>,
    session: Option<Session>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// What is wrong where a run is needed.
const NO_RUN: &str = "no run has been started; expected `start` before";

fn call(f: impl FnOnce(&mut Page) -> Result<String, String>) -> u32 {
    PAGE.with_borrow_mut(|page| {
        let (text, code) = match f(page) {
            Ok(text) => (text, 0),
            Err(what) => (what, 1),
        };
        page.output = text.into_bytes();
        code
    })
}

impl Page {
    fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.input).map_err(|e| format!("request: {e}; expected UTF-8"))
    }
    fn asked<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_str(self.text()?).map_err(|e| format!("request: {e}"))
    }
    fn session(&mut self) -> Result<&mut Session, String> {
        self.session.as_mut().ok_or_else(|| NO_RUN.to_string())
    }
}

/// Place for `len` bytes of a request, valid until the next call.
#[no_mangle]
pub extern "C" fn numalab_input(len: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.input = vec![0; len];
        page.input.as_mut_ptr()
    })
}

/// Where the answer of the last call is.
#[no_mangle]
pub extern "C" fn numalab_output() -> *const u8 {
    PAGE.with_borrow(|page| page.output.as_ptr())
}

/// Length of that answer, bytes.
#[no_mangle]
pub extern "C" fn numalab_output_len() -> usize {
    PAGE.with_borrow(|page| page.output.len())
}

/// What the catalog offers ([`offer::offer`]).
#[no_mangle]
pub extern "C" fn numalab_offer() -> u32 {
    call(|_| offer::offer().map(|v| v.to_string()).map_err(|e| e.to_string()))
}

/// The file of the workload that the request names.
#[no_mangle]
pub extern "C" fn numalab_workload_text() -> u32 {
    call(|page| {
        let name = page.text()?;
        offer::workload_text(name).ok_or_else(|| format!("no workload `{name}`; expected one of the catalog"))
    })
}

/// Tunables of the kernel that the request names.
#[no_mangle]
pub extern "C" fn numalab_tunables() -> u32 {
    call(|page| offer::tunables(page.text()?).map(|v| v.to_string()).map_err(|e| e.to_string()))
}

/// Starts the run of a request ([`Asked`]); `live` is 1 if events are to be kept for looks. Answers with what a page
/// draws.
#[no_mangle]
pub extern "C" fn numalab_start(live: u32) -> u32 {
    call(|page| {
        let session = Session::start(&page.asked::<Asked>()?, live == 1)?;
        let opening = session.opening().to_string();
        page.session = Some(session);
        Ok(opening)
    })
}

/// Goes on up to the first event at `until_ns` of model time or later. Returns model time, ns, or below 0 if the run is
/// over: minus the time, less 1. NaN without a run.
#[no_mangle]
pub extern "C" fn numalab_advance(until_ns: f64) -> f64 {
    PAGE.with_borrow_mut(|page| {
        let Ok(session) = page.session() else { return f64::NAN };
        // Times of the model are below 2^53 ns, which is 104 days.
        let over = session.advance(until_ns as u64);
        let now_ns = session.now_ns() as f64;
        if over {
            -now_ns - 1.0
        } else {
            now_ns
        }
    })
}

/// The run as it is.
#[no_mangle]
pub extern "C" fn numalab_look() -> u32 {
    call(|page| page.session().map(|s| s.look().to_string()))
}

/// Runs to the end; answers with the outcome.
#[no_mangle]
pub extern "C" fn numalab_finish() -> u32 {
    call(|page| {
        let outcome = page.session.take().ok_or(NO_RUN)?.finish()?;
        serde_json::to_string(&outcome).map_err(|e| e.to_string())
    })
}

/// The answer of outcomes ([`Compared`]).
#[no_mangle]
pub extern "C" fn numalab_answer() -> u32 {
    call(|page| answer(&page.asked::<Compared>()?).map(|v| v.to_string()))
}
