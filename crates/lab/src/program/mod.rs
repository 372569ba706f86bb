//! A program of the user that runs in place of a workload: what it needs, and how it is started.
//!
//! Problem: a guest has no file of the host. A program needs its libraries there, its interpreter, and its data.
//! Approach: [`Program::find`] resolves it as a shell would. [`tree::Tree`] copies it with the loader and the libraries
//! that `ldd` names, scripts with their interpreters, and whatever else is named. Paths and links are those of the
//! host. Files are read once, so all guests of a run have the same, and the digest of all is part of the plan.

mod error;
mod find;
mod ldd;
pub mod tree;

pub use error::ProgramError;

use numalab_model::workload::Workload;
use numalab_worker::job::Invocation;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use tree::Tree;

/// Folders in which a guest's programs are looked for.
const GUEST_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Files of the host that many programs read, and that a guest gets if they are there.
const USUAL: [&str; 6] =
    ["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ld.so.cache", "/etc/localtime"];

/// A program, its arguments, and what it needs.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name in reports: the last part of its path.
    pub name: String,
    /// How it is started.
    pub invocation: Invocation,
    /// Longest time of a run, on the clock of the machine it runs on, ns.
    pub limit_ns: u64,
    /// Its files, for guests; empty on this machine.
    pub tree: Tree,
    /// SHA-256 of the program and of all files, hexadecimal.
    pub digest: String,
}

/// What a program is given.
#[derive(Clone, Debug, Default)]
pub struct Given<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// Further files, directories and programs, as the user named them.
    pub with: &'a [String],
    /// Further variables of the environment.
    pub environment: &'a [(String, String)],
    /// Longest time of a run, ns.
    pub limit_ns: u64,
}

impl Program {
    /// The program with everything that it needs in a guest.
    ///
    /// # Errors
    /// It is missing, or a library or a named file is; it is too large.
    pub fn for_guests(given: &Given<'_>) -> Result<Self, ProgramError> {
        let mut program = Self::for_host(given)?;
        let mut tree = Tree::default();
        let directory = PathBuf::from(&program.invocation.directory);
        tree.add_program(Path::new(&program.invocation.path))?;
        for argument in program.invocation.argv.iter().skip(1) {
            // A data file or a script among the arguments is meant to be there.
            let path = directory.join(argument);
            if path.is_file() {
                tree.add(&path)?;
            }
        }
        let mut folders: Vec<String> = GUEST_PATH.split(':').map(str::to_string).collect();
        for name in given.with {
            let (path, by_name) = find::named(name)?;
            tree.add(&path)?;
            let folder = path.parent().map(|f| f.display().to_string()).unwrap_or_default();
            if by_name && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        for path in USUAL.iter().map(Path::new).filter(|p| p.is_file()) {
            tree.add(path)?;
        }
        tree.directory(&directory);
        let usual = [("HOME", "/root"), ("LANG", "C.UTF-8"), ("PATH", &folders.join(":")), ("TMPDIR", "/tmp")]
            .map(|(n, v)| (n.to_string(), v.to_string()));
        // The libraries that were found through it are found through it there too.
        let libraries = std::env::var("LD_LIBRARY_PATH").ok().filter(|path| !path.is_empty());
        let libraries = libraries.map(|path| ("LD_LIBRARY_PATH".to_string(), path));
        program.invocation.environment.splice(0..0, libraries.into_iter().chain(usual));
        tree.directory(Path::new("/root"));
        program.digest = tree.digest();
        program.tree = tree;
        Ok(program)
    }

    /// The program as it runs on this machine, which has all its files.
    ///
    /// # Errors
    /// It is missing, or cannot be read.
    pub fn for_host(given: &Given<'_>) -> Result<Self, ProgramError> {
        let command = given.command.first().ok_or_else(|| ProgramError::Missing("".into()))?;
        let path = find::program(command)?;
        let unreadable = |e: std::io::Error| ProgramError::Unreadable(format!("{}: {e}", path.display()));
        let digest = numalab_model::plan::hex(&Sha256::digest(std::fs::read(&path).map_err(unreadable)?));
        let directory = std::env::current_dir().map_err(unreadable)?;
        Ok(Self {
            name: name_of(command),
            invocation: Invocation {
                path: path.display().to_string(),
                argv: given.command.to_vec(),
                environment: given.environment.to_vec(),
                directory: directory.display().to_string(),
            },
            limit_ns: given.limit_ns,
            tree: Tree::default(),
            digest,
        })
    }

    /// The workload that stands for it in a plan: without processes, since they are its own.
    pub fn workload(&self) -> Workload {
        let params = [
            ("command", shell_line(&self.invocation.argv)),
            ("environment", shell_line(&self.environment())),
            ("directory", self.invocation.directory.clone()),
            ("files_sha256", self.digest.clone()),
        ];
        Workload {
            name: self.name.clone(),
            title: format!("the program {}", self.name),
            processes: Vec::new(),
            barrier_widths: Vec::new(),
            channels: 0,
            futexes: Vec::new(),
            scores: Vec::new(),
            limit_ns: self.limit_ns,
            params: params.into_iter().map(|(n, v)| (n.to_string(), v)).collect(),
            warnings: Vec::new(),
            histograms: Default::default(),
        }
    }

    /// Variables as `NAME=value`.
    fn environment(&self) -> Vec<String> {
        self.invocation.environment.iter().map(|(n, v)| format!("{n}={v}")).collect()
    }

    /// What a record keeps of it, as TOML: arguments, environment, and every file with its digest.
    pub fn to_toml(&self) -> String {
        let quoted = |s: &String| serde_json::to_string(s).unwrap_or_default();
        let list = |all: &[String]| all.iter().map(quoted).collect::<Vec<_>>().join(", ");
        let mut out = format!(
            "# The program of this run. `numalab run … -- {}` runs it again.\nname = {}\nargv = [{}]\npath = {}\n\
             directory = {}\nenvironment = [{}]\nsha256 = \"{}\"\n",
            shell_line(&self.invocation.argv).replace(char::is_control, " "),
            quoted(&self.name),
            list(&self.invocation.argv),
            quoted(&self.invocation.path),
            quoted(&self.invocation.directory),
            list(&self.environment()),
            self.digest,
        );
        for (path, size_bytes, sha256) in self.tree.files() {
            out += &format!("\n[[file]]\npath = {}\nsize_bytes = {size_bytes}\nsha256 = \"{sha256}\"\n", quoted(&path));
        }
        out
    }
}

/// Words as a line of the shell, in which each is one word again.
fn shell_line(words: &[String]) -> String {
    let plain = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c));
    let one = |w: &String| match plain(w) {
        true => w.clone(),
        false => format!("'{}'", w.replace('\'', "'\\''")),
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The last part of a program's path, as a name of reports and directories.
pub fn name_of(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = name.chars().map(|c| if fits(c) { c } else { '_' }).take(40).collect();
    match plain.trim_start_matches(['.', '-']) {
        "" => "program".into(),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(command: &[&str], with: &[&str]) -> Result<Program, ProgramError> {
        let own = |all: &[&str]| all.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let (command, with) = (own(command), own(with));
        Program::for_guests(&Given { command: &command, with: &with, environment: &[], limit_ns: 1 })
    }

    fn paths(program: &Program) -> Vec<String> {
        program.tree.files().iter().map(|f| f.0.clone()).collect()
    }

    #[test]
    fn a_program_comes_with_its_loader_and_libraries() {
        let p = given(&["sh", "-c", "exit 3"], &[]).unwrap();
        let files = paths(&p);
        assert!(files.iter().any(|f| f.contains("ld-linux-x86-64")), "{files:?}");
        assert!(files.iter().any(|f| f.contains("libc.so.6")), "{files:?}");
        assert_eq!((p.name.as_str(), p.invocation.argv[1].as_str()), ("sh", "-c"));
        assert!(p.to_toml().contains("argv = [\"sh\", \"-c\", \"exit 3\"]"), "{}", p.to_toml());
        let other = given(&["sh", "-c", "exit 3"], &["env"]).unwrap();
        assert_ne!(p.digest, other.digest, "another file is another program");
    }

    #[test]
    fn scripts_bring_their_interpreters_and_files_of_arguments_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("go");
        crate::child::tests::script(&script, "cat \"$1\"\n");
        let data = dir.path().join("data.txt");
        std::fs::write(&data, "x").unwrap();
        let folder = dir.path().join("folder");
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        std::fs::write(folder.join("deep/y"), "y").unwrap();
        let text = |p: &Path| p.display().to_string();
        let p = given(&[&text(&script), &text(&data)], &["cat", &text(&folder)]).unwrap();
        let files = paths(&p);
        for wanted in [text(&script), text(&data), text(&folder.join("deep/y"))] {
            assert!(files.contains(&wanted), "{wanted}: {files:?}");
        }
        assert!(files.iter().any(|f| f.ends_with("/dash") || f.ends_with("/sh")), "{files:?}");
        assert!(files.iter().any(|f| f.ends_with("/cat")), "{files:?}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |command: &[&str], with: &[&str]| given(command, with).unwrap_err().to_string();
        assert!(error(&["no-such-program"], &[]).contains("no-such-program: no such program"));
        assert!(error(&["/"], &[]).contains("/: no such program"));
        assert!(error(&["sh"], &["/no/such/file"]).contains("--with /no/such/file"));
    }

    #[test]
    fn names_fit_into_reports() {
        assert_eq!(name_of("/usr/bin/a b"), "a_b");
        assert_eq!(shell_line(&["sh", "-c", "it's", ""].map(String::from)), "sh -c 'it'\\''s' ''");
        assert_eq!((name_of("./x.sh").as_str(), name_of("/..").as_str()), ("x.sh", "program"));
    }
}
