//! All tests of this crate that use it from outside, one program: a module a subject.
#![allow(clippy::unwrap_used)]

mod machine_hostile;
mod machine_import;
mod machine_load;
mod machine_presets;
mod machine_routes;
mod machine_show;
mod machine_sources;
mod workload;
