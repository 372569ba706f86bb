//! Where the running kernel keeps what the recorder of accesses reads of it: who runs on a CPU, and which program that
//! is.
//!
//! The recorder is a plugin of QEMU, which sees a guest's memory and knows nothing of its kernel. So the worker finds
//! addresses of symbols (`/proc/kallsyms`) and offsets of fields ([`btf`](crate::btf)), and lays them down as text in
//! the page of marks: a word and a hexadecimal number in each line. `kernel.c` of the recorder has the same words.

use crate::btf::{self, Btf};
use std::collections::BTreeMap;

/// Symbols that every kernel has.
const SYMBOLS: [&str; 5] = ["do_syscall_64", "do_exit", "linux_banner", "page_offset_base", "__per_cpu_offset"];
/// Fields: word, structure, path.
const FIELDS: [(&str, &str, &str); 30] = [
    ("task.pid", "task_struct", "pid"),
    ("task.tgid", "task_struct", "tgid"),
    ("task.flags", "task_struct", "flags"),
    ("task.mm", "task_struct", "mm"),
    ("task.real_parent", "task_struct", "real_parent"),
    ("task.signal", "task_struct", "signal"),
    ("task.files", "task_struct", "files"),
    ("task.clear_child_tid", "task_struct", "clear_child_tid"),
    ("signal.group_exit_code", "signal_struct", "group_exit_code"),
    ("signal.live", "signal_struct", "live"),
    ("mm.pgd", "mm_struct", "pgd"),
    ("mm.exe_file", "mm_struct", "exe_file"),
    ("mm.start_code", "mm_struct", "start_code"),
    ("mm.end_code", "mm_struct", "end_code"),
    ("mm.start_data", "mm_struct", "start_data"),
    ("mm.start_brk", "mm_struct", "start_brk"),
    ("file.dentry", "file", "f_path.dentry"),
    ("dentry.parent", "dentry", "d_parent"),
    ("dentry.name", "dentry", "d_name.name"),
    ("files.fdt", "files_struct", "fdt"),
    ("fdt.fd", "fdtable", "fd"),
    ("fdt.max_fds", "fdtable", "max_fds"),
    ("file.inode", "file", "f_inode"),
    ("file.private", "file", "private_data"),
    ("inode.mode", "inode", "i_mode"),
    ("inode.number", "inode", "i_ino"),
    ("socket.sock", "socket", "sk"),
    ("sock.family", "sock_common", "skc_family"),
    ("sock.port", "sock_common", "skc_num"),
    ("sock.peer_port", "sock_common", "skc_dport"),
];
/// Fields that a kernel may do without; 0 where it does.
const OPTIONAL: [(&str, &str, &str); 1] = [("unix.peer", "unix_sock", "peer")];
/// Figures of each CPU: word, their symbol since 6.15 and before 6.2, and their field of `pcpu_hot` between.
const PER_CPU: [(&str, &str, &str); 2] =
    [("current_task", "current_task", "current_task"), ("top_of_stack", "cpu_current_top_of_stack", "top_of_stack")];
/// Structure and symbol of what each CPU uses most.
const HOT: &str = "pcpu_hot";

/// The text for the running kernel.
///
/// # Errors
/// The kernel has no BTF, or lacks a symbol or a field.
pub fn read() -> Result<String, String> {
    let symbols = std::fs::read_to_string("/proc/kallsyms").map_err(|e| format!("/proc/kallsyms: {e}"))?;
    let lacks = "expected a kernel that describes itself (CONFIG_DEBUG_INFO_BTF), as packaged ones do";
    let bytes = std::fs::read(btf::FILE).map_err(|e| format!("{}: {e}; {lacks}", btf::FILE))?;
    let btf = Btf::parse(&bytes).ok_or_else(|| format!("{}: its form is not known; {lacks}", btf::FILE))?;
    text(&symbols, &btf)
}

fn text(symbols: &str, btf: &Btf<'_>) -> Result<String, String> {
    let symbols = wanted(symbols);
    let symbol = |name: &str| symbols.get(name).copied();
    let missing = |what: &str| format!("the kernel does not say where `{what}` is; expected a kernel since 5.15");
    let mut out = String::new();
    let mut line = |word: &str, value: Option<u64>, what: &str| {
        out += &format!("{word} {:x}\n", value.ok_or_else(|| missing(what))?);
        Ok::<(), String>(())
    };
    for name in SYMBOLS {
        line(name, symbol(name), name)?;
    }
    for (word, name, field) in PER_CPU {
        let hot = symbol(HOT).zip(btf.offset(HOT, field)).map(|(begin, offset)| begin + offset);
        line(word, hot.or(symbol(name)), name)?;
    }
    for (word, structure, path) in FIELDS {
        line(word, btf.offset(structure, path), &format!("{structure}.{path}"))?;
    }
    for (word, structure, path) in OPTIONAL {
        line(word, btf.offset(structure, path).or(Some(0)), word)?;
    }
    Ok(out)
}

/// Addresses of the symbols that are needed; those of modules do not count.
fn wanted(symbols: &str) -> BTreeMap<&str, u64> {
    let names = || SYMBOLS.into_iter().chain(PER_CPU.map(|p| p.1)).chain([HOT]);
    let mut out = BTreeMap::new();
    for line in symbols.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(_), Some(name), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        if let (true, Ok(address)) = (names().any(|n| n == name), u64::from_str_radix(address, 16)) {
            out.entry(name).or_insert(address);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::tests::{described, Member};

    /// All structures that are read, with all fields.
    fn description() -> Vec<u8> {
        let mut of = BTreeMap::<&str, Vec<(&str, u32, u32)>>::new();
        for (_, structure, path) in FIELDS.into_iter().chain([("", "unix_sock", "addr"), OPTIONAL[0]]) {
            let members = of.entry(structure).or_default();
            let (first, second) = path.split_once('.').unwrap_or((path, ""));
            let inner = match second {
                "dentry" => 1,
                "name" => 2,
                _ => 0,
            };
            members.push((first, 64 * members.len() as u32, inner));
        }
        of.insert(HOT, vec![("current_task", 0, 0), ("top_of_stack", 128, 0)]);
        let own: [(&str, &[Member<'_>]); 2] = [("path", &[("dentry", 64, 0)]), ("qstr", &[("name", 64, 0)])];
        let all: Vec<_> = own.into_iter().chain(of.iter().map(|(name, m)| (*name, m.as_slice()))).collect();
        described(&all)
    }

    const SYMBOLS_OF_ALL: &str = "ffffffff81000010 T do_syscall_64\nffffffff81000020 T do_exit\n\
        ffffffff82000000 R linux_banner\nffffffff82000040 D page_offset_base\nffffffff82000080 D __per_cpu_offset\n\
        ffffffffc0000000 t do_exit\t[module]\n";

    #[test]
    fn the_current_task_is_found_in_old_and_new_kernels() {
        let bytes = description();
        let btf = Btf::parse(&bytes).unwrap();
        let of = |more: &str| text(&format!("{SYMBOLS_OF_ALL}{more}"), &btf);
        let hot = of("0000000000034900 A pcpu_hot\n").unwrap();
        assert!(hot.contains("current_task 34900\ntop_of_stack 34910\n"), "{hot}");
        let old = "000000000001f000 A current_task\n000000000001f010 A cpu_current_top_of_stack\n";
        assert!(of(old).unwrap().contains("current_task 1f000\ntop_of_stack 1f010\n"));
        assert!(of("").unwrap_err().contains("where `current_task` is"));
        assert!(hot.contains("do_exit ffffffff81000020\n") && hot.len() < 3000, "{hot}");
        assert!(hot.contains("unix.peer 8\n"), "{hot}");
        assert!(hot.contains("file.dentry 8\n") && hot.contains("dentry.name 10\n"), "{hot}");
    }
}
