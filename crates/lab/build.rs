//! Builds the worker as a static program, for `src/worker.rs` to embed.
//!
//! The worker is built by a cargo of its own, with fixed settings and in a folder of its own beside the profiles, so
//! that every profile of numalab embeds the same bytes and none builds them twice. Where no static program can be
//! built, nothing is embedded but the reason, and the backends `vm` and `host` say it.
//!
//! `NUMALAB_EMBED` names a worker that is embedded as it is, or is `none`: checks and lints need no worker.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Settings of the worker's build: small, since every guest unpacks it at its boot, and the same for all profiles.
const SETTINGS: [(&str, &str); 8] = [
    ("OPT_LEVEL", "s"),
    ("LTO", "true"),
    ("CODEGEN_UNITS", "1"),
    ("STRIP", "true"),
    ("DEBUG", "false"),
    ("DEBUG_ASSERTIONS", "false"),
    ("OVERFLOW_CHECKS", "false"),
    ("INCREMENTAL", "false"),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=NUMALAB_EMBED");
    let built = match env::var("NUMALAB_EMBED") {
        Ok(word) if word == "none" => Err("NUMALAB_EMBED=none when numalab was built".to_string()),
        Ok(path) if !path.is_empty() => {
            println!("cargo::rerun-if-changed={path}");
            fs::read(&path).map_err(|e| format!("NUMALAB_EMBED={path}: {e}"))
        }
        _ => build(),
    };
    let (worker, why) = built.map_or_else(|why| (Vec::new(), why), |worker| (worker, String::new()));
    if env::var("NUMALAB_EMBED").as_deref() != Ok("none") {
        for line in why.lines() {
            println!("cargo::warning=no worker is embedded, backends vm and host will not run: {line}");
        }
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    fs::write(out.join("worker"), worker)?;
    fs::write(out.join("worker.why"), why)
}

/// A variable that cargo sets for build scripts, or nothing.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// The bytes of a static worker: linked with musl if its target is installed, else with a static libc of the system.
fn build() -> Result<Vec<u8>, String> {
    let architecture = variable("CARGO_CFG_TARGET_ARCH");
    let musl = format!("{architecture}-unknown-linux-musl");
    let library = library_of(&musl)?;
    // What is not there yet would count as changed each time: its folder changes when it comes.
    if let Some(there) = library.ancestors().find(|p| p.is_dir()) {
        println!("cargo::rerun-if-changed={}", there.display());
    }
    if library.is_dir() {
        return build_for(&musl, "");
    }
    let gnu = format!("{architecture}-unknown-linux-gnu");
    build_for(&gnu, "-Ctarget-feature=+crt-static")
        .map_err(|why| format!("target {musl} is not installed (rustup target add {musl}), and for {gnu}: {why}"))
}

/// Folder of the standard library for a target. It exists if the target is installed.
fn library_of(target: &str) -> Result<PathBuf, String> {
    let rustc = variable("RUSTC");
    let output = Command::new(&rustc).args(["--print", "target-libdir", "--target", target]).output();
    let output = output.map_err(|e| format!("{rustc}: {e}"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Builds the worker for a target.
fn build_for(target: &str, flag: &str) -> Result<Vec<u8>, String> {
    let root = PathBuf::from(variable("DEP_NUMALAB_WORKER_ROOT"));
    let manifest = root.join("Cargo.toml");
    // A package has a list of locked versions of its own, a workspace one for all.
    let locks = [root.join("Cargo.lock"), root.join("../../Cargo.lock")];
    let folder = target_folder().join("worker");
    let cargo = variable("CARGO");
    let mut command = Command::new(&cargo);
    command.args(["build", "--release", "--bin", "numalab-worker", "--target", target]);
    command.arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(&folder);
    if locks.iter().any(|l| l.is_file()) {
        command.arg("--locked");
    }
    for (name, value) in SETTINGS {
        command.env(format!("CARGO_PROFILE_RELEASE_{name}"), value);
    }
    // The settings of the build around this one must not reach the worker: it has the same bytes everywhere.
    for name in ["RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_TARGET_DIR", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(name);
    }
    let home = env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", variable("HOME")));
    let flags = [flag.to_string(), format!("--remap-path-prefix={home}=cargo")];
    let flags: Vec<&str> = flags.iter().map(String::as_str).filter(|f| !f.is_empty()).collect();
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let output = command.output().map_err(|e| format!("{cargo}: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let error = said.lines().find(|l| l.starts_with("error")).unwrap_or("cargo build failed");
        return Err(format!("{error} (cargo build --manifest-path {} --target {target})", manifest.display()));
    }
    let program = folder.join(target).join("release/numalab-worker");
    watch(&program.with_extension("d"), &folder);
    for file in locks.iter().chain([&manifest]).filter(|f| f.is_file()) {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    fs::read(&program).map_err(|e| format!("{}: {e}", program.display()))
}

/// The folder of all profiles: that of the output without the target, the profile and the package.
fn target_folder() -> PathBuf {
    let out = PathBuf::from(variable("OUT_DIR"));
    let Some(folder) = out.ancestors().nth(4) else { return out };
    let of_target = folder.file_name().is_some_and(|n| *n == *variable("TARGET"));
    folder.parent().filter(|_| of_target).unwrap_or(folder).to_path_buf()
}

/// Has this script run again when a source of the worker changes: cargo writes a list of them beside the program. What
/// the build itself wrote is no source.
fn watch(list: &Path, built: &Path) {
    let text = fs::read_to_string(list).unwrap_or_default();
    let sources = text.split_once(": ").map_or("", |(_, sources)| sources).replace("\\ ", "\0");
    for source in sources.split_whitespace().map(|s| s.replace('\0', " ")) {
        if source.ends_with(".rs") && !Path::new(&source).starts_with(built) {
            println!("cargo::rerun-if-changed={source}");
        }
    }
}
