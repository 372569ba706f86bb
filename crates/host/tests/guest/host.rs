//! The host's side: boots kernels and reads what their guests print.

use cpio::newc::{trailer, Builder, ModeFileType};
use numalab_lab::cache::Cache;
use numalab_lab::image::{resolve, ImageSpec, PackageVersion};
use numalab_lab::qemu::{self, Launch, Timing, DEFAULT_SHIFT};
use numalab_lab::topology::GuestTopology;
use numalab_model::machine::Machine;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    let named = std::env::var("NUMALAB_TEST_KERNEL").ok();
    for kernel in named.as_deref().map_or(kernels.to_vec(), |k| vec![k]) {
        let text = boot(kernel);
        let results: Vec<&str> = text.lines().filter(|l| l.contains("RESULT ")).collect();
        results.iter().for_each(|l| println!("{kernel}: {l}"));
        let well = |l: &&str| l.contains(" ok");
        assert!(text.contains("ALL DONE"), "{kernel}: the guest did not finish:\n{}", tail(&text));
        assert!(results.len() == 5 && results.iter().all(well), "{kernel}: a scenario failed:\n{}", tail(&text));
    }
    println!("test balance_in_guests ... ok");
}

/// The last lines of a console.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(120)..].join("\n")
}

/// Boots a kernel with four nodes of two CPUs, and returns what its console showed.
fn boot(kernel: &str) -> String {
    let cache = Cache::open().unwrap();
    let spec = ImageSpec::parse(kernel).unwrap();
    let image = resolve(&spec, PackageVersion::Kept, &cache, &mut |what| eprintln!("{what}")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("initrd"), initrd()).unwrap();
    for file in ["console", "report"] {
        std::fs::write(at(file), "").unwrap();
    }
    let mut machine = Machine::from_shorthand("4x1x2x1").unwrap();
    machine.nodes.iter_mut().for_each(|n| n.memory_bytes = 384 << 20);
    let topology = GuestTopology::of(&machine).unwrap();
    let program = qemu::default_program();
    let launch = Launch {
        qemu: &program,
        topology: &topology,
        kernel: &image.path,
        initrd: &at("initrd"),
        console: &at("console"),
        report: &at("report"),
        timing: Timing::Counters,
        kvm: numalab_lab::probe::kvm(&program).is_ok(),
        seed: 1,
        shift: DEFAULT_SHIFT,
        plugin: None,
        boot_options: &[],
    };
    let errors = std::fs::File::create(at("errors")).unwrap();
    let mut guest = Command::new(&program)
        .args(qemu::arguments(&launch))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while guest.try_wait().unwrap().is_none() && begun.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = guest.kill();
    let _ = guest.wait();
    println!("{kernel}: the guest ran for {:.0} s", begun.elapsed().as_secs_f64());
    let text = |name: &str| String::from_utf8_lossy(&std::fs::read(at(name)).unwrap()).into_owned();
    text("console") + &text("errors")
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
