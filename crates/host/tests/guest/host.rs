//! The host's side: boots kernels and reads what their guests print.

use crate::guest;
use cpio::newc::{trailer, Builder, ModeFileType};
use numalab_lab::cache::Cache;
use numalab_lab::image::{resolve, ImageSpec, PackageVersion};
use numalab_lab::probe;
use numalab_lab::qemu::{self, Launch, Timing, DEFAULT_SHIFT};
use numalab_lab::topology::GuestTopology;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Scenarios of the short form.
const SHORT: [&str; 5] = ["wrong-node", "pinned", "sigkill", "exit-exec-fork", "hot-and-idle"];
/// Longest wall time of a guest.
const LIMIT: Duration = Duration::from_secs(1500);

/// Runs the tests that the arguments ask for.
pub fn main(args: &[String]) {
    let has = |word: &str| args.iter().any(|a| a == word);
    if has("--list") {
        return println!("balance_in_guests: test");
    }
    if !has("--ignored") && !has("--include-ignored") {
        return println!("test balance_in_guests ... ignored, needs a guest: scripts/vm-tests.sh runs it");
    }
    let kernels: &[&str] = if has("full") { &["debian-6.12", "debian-6.1"] } else { &["debian-6.12"] };
    let known = guest::names();
    let mut asked: Vec<&str> = known.iter().copied().filter(|n| has(n)).collect();
    if asked.is_empty() {
        asked = if has("full") { known } else { SHORT.to_vec() };
    }
    let named = std::env::var("NUMALAB_TEST_KERNEL").ok();
    for kernel in named.as_deref().map_or(kernels.to_vec(), |k| vec![k]) {
        let text = boot(kernel, &asked);
        let results: Vec<&str> = text.lines().filter(|l| l.contains("RESULT ")).collect();
        results.iter().for_each(|l| println!("{kernel}: {l}"));
        let well = |l: &&str| l.contains(" ok");
        assert!(text.contains("ALL DONE"), "{kernel}: the guest did not finish:\n{}", tail(&text));
        assert!(
            results.len() == asked.len() && results.iter().all(well),
            "{kernel}: a scenario failed:\n{}",
            tail(&text)
        );
    }
    println!("test balance_in_guests ... ok");
}

/// The last lines of a console.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(120)..].join("\n")
}

/// Largest number of boots of a kernel whose guests the emulator breaks.
const BOOTS: usize = 4;
/// What such a kernel says: it replaces its own code, and a processor of the emulator ran a breakpoint that was gone.
const STALE_BREAKPOINT: &str = "Oops: int3";

/// Boots a kernel, under KVM if that works, and returns what its console showed.
fn boot(kernel: &str, scenarios: &[&str]) -> String {
    let program = qemu::default_program();
    if probe::kvm(&program).is_ok() {
        match boot_under(kernel, scenarios, &program, true) {
            Ok(text) => return text,
            Err(why) => println!("{kernel}: without KVM, as it fails here: {why}"),
        }
    }
    let emulated = || boot_under(kernel, scenarios, &program, false).unwrap_or_else(|why| panic!("{kernel}: {why}"));
    let mut text = emulated();
    for _ in 1..BOOTS {
        if !text.contains(STALE_BREAKPOINT) {
            break;
        }
        println!("{kernel}: booted again, as the emulator ran a breakpoint that was gone");
        text = emulated();
    }
    text
}

/// Boots a kernel with four nodes of two CPUs. An error is one of KVM's own, which leaves the guest hanging.
fn boot_under(kernel: &str, scenarios: &[&str], program: &Path, kvm: bool) -> Result<String, String> {
    let cache = Cache::open().unwrap();
    let spec = ImageSpec::parse(kernel).unwrap();
    let image = resolve(&spec, PackageVersion::Kept, &cache, &mut |what| eprintln!("{what}")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("initrd"), initrd()).unwrap();
    for file in ["console", "report"] {
        std::fs::write(at(file), "").unwrap();
    }
    let mut machine = numalab_model::machine::from_shorthand("4x1x2x1").unwrap();
    machine.nodes.iter_mut().for_each(|n| n.memory_bytes = 384 << 20);
    let topology = GuestTopology::of(&machine).unwrap();
    let launch = Launch {
        qemu: program,
        topology: &topology,
        kernel: &image.path,
        initrd: &at("initrd"),
        console: &at("console"),
        report: &at("report"),
        timing: Timing::Counters,
        kvm,
        seed: 1,
        shift: DEFAULT_SHIFT,
        plugin: None,
        boot_options: &[format!("{}={}", guest::ASKED, scenarios.join(","))],
    };
    let errors = std::fs::File::create(at("errors")).unwrap();
    let mut guest = Command::new(program)
        .args(qemu::arguments(&launch))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .unwrap();
    let text = |name: &str| String::from_utf8_lossy(&std::fs::read(at(name)).unwrap()).into_owned();
    let broken = || text("errors").lines().find(|l| l.starts_with("KVM internal error")).map(str::to_string);
    let begun = Instant::now();
    let mut failed = None;
    while failed.is_none() && guest.try_wait().unwrap().is_none() && begun.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(100));
        failed = broken();
    }
    let _ = guest.kill();
    let _ = guest.wait();
    if let Some(why) = failed {
        return Err(why);
    }
    println!("{kernel}: the guest ran for {:.0} s", begun.elapsed().as_secs_f64());
    Ok(text("console") + &text("errors"))
}

/// The initial RAM disk: this program as `/init`, and the libraries that it is linked with.
fn initrd() -> Vec<u8> {
    let own = std::env::current_exe().unwrap();
    let mut files: Vec<(String, PathBuf)> = vec![("init".into(), own.clone())];
    let listed = Command::new("ldd").arg(&own).output().unwrap();
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        // libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…), or /lib64/ld-linux-x86-64.so.2 (0x…).
        let path = line.split_whitespace().find(|w| w.starts_with('/'));
        if let Some(path) = path {
            files.push((path.trim_start_matches('/').into(), path.into()));
        }
    }
    let mut bytes = Vec::new();
    let mut made = std::collections::BTreeSet::new();
    let mut number = 0;
    let mut add = |builder: Builder, content: &[u8]| {
        number += 1;
        let mut writer = builder.ino(number).write(&mut bytes, content.len() as u32);
        std::io::Write::write_all(&mut writer, content).unwrap();
        writer.finish().unwrap();
    };
    let mut folders: Vec<PathBuf> = ["dev", "proc", "sys", "tmp", "run"].map(PathBuf::from).to_vec();
    for (place, _) in &files {
        let parents: Vec<PathBuf> = Path::new(place).ancestors().skip(1).map(Path::to_path_buf).collect();
        folders.extend(parents.into_iter().rev());
    }
    for folder in folders.iter().filter(|f| !f.as_os_str().is_empty()) {
        if made.insert(folder.clone()) {
            let name = folder.display().to_string();
            add(Builder::new(&name).mode(0o755).nlink(2).set_mode_file_type(ModeFileType::Directory), &[]);
        }
    }
    let device = |name: &str, major, minor| {
        Builder::new(name).mode(0o600).set_mode_file_type(ModeFileType::Char).rdev_major(major).rdev_minor(minor)
    };
    add(device("dev/console", 5, 1), &[]);
    add(device("dev/null", 1, 3), &[]);
    for (place, path) in &files {
        let content = stripped(path);
        add(Builder::new(place).mode(0o755).set_mode_file_type(ModeFileType::Regular), &content);
    }
    trailer(bytes).unwrap()
}

/// A program without debug information, which would fill the guest's memory; whole where `strip` is absent.
fn stripped(path: &Path) -> Vec<u8> {
    let out = tempfile::NamedTempFile::new().unwrap();
    let done = Command::new("strip").arg("-o").arg(out.path()).arg(path).stderr(Stdio::null()).status();
    let from = if done.is_ok_and(|s| s.success()) { out.path() } else { path };
    std::fs::read(from).unwrap()
}
