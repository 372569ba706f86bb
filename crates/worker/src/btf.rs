//! Where the fields of a kernel's structures are, from the description that the kernel has of itself (BTF).
//!
//! A description has a head, types and names. Types follow each other and are numbered from 1; each has a head of 12
//! bytes and as much more as its kind says. Source: Documentation/bpf/btf.rst.

/// The running kernel's description.
pub const FILE: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
/// Typedef, volatile, const, restrict, and tags of types: they stand for another type.
const ALIASES: [u32; 5] = [8, 9, 10, 11, 18];
/// Most aliases and structures within structures that are followed.
const MOST_DEEP: u32 = 32;

/// A description.
#[derive(Debug)]
pub struct Btf<'a> {
    names: &'a [u8],
    /// From its head on, by number minus 1.
    types: Vec<&'a [u8]>,
}

impl<'a> Btf<'a> {
    /// Reads a description; `None` if it is cut, or of another form.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        if u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let head = |at: usize| number(bytes, at).map(|n| n as usize);
        let begin = head(4)?;
        let part = |offset: usize, length: usize| {
            let from = begin.checked_add(offset)?;
            bytes.get(from..from.checked_add(length)?)
        };
        let (mut rest, names) = (part(head(8)?, head(12)?)?, part(head(16)?, head(20)?)?);
        let mut types = Vec::new();
        while !rest.is_empty() {
            let length = 12 + more(number(rest, 4)?)?;
            types.push(rest.get(..length)?);
            rest = &rest[length..];
        }
        Some(Self { names, types })
    }

    /// Bytes from the begin of a structure to a field: `offset("dentry", "d_name.name")`.
    pub fn offset(&self, structure: &str, path: &str) -> Option<u64> {
        let is_it = |t: &&&[u8]| kind(t) == Some(STRUCT) && self.name(t, 0) == Some(structure.as_bytes());
        let mut at = *self.types.iter().find(is_it)?;
        let mut bits = 0;
        for part in path.split('.') {
            let (offset, of) = self.member(at, part.as_bytes(), MOST_DEEP)?;
            bits += offset;
            at = self.resolve(of).unwrap_or(&[]);
        }
        Some(bits / 8)
    }

    /// Offset in bits and type of a member, also of one in a structure without a name.
    fn member(&self, of: &[u8], name: &[u8], depth: u32) -> Option<(u64, u32)> {
        if depth == 0 || !matches!(kind(of)?, STRUCT | UNION) {
            return None;
        }
        let has_sizes = number(of, 4)? >> 31 == 1;
        for member in of.get(12..)?.chunks_exact(12) {
            let offset = number(member, 8)?;
            let offset = u64::from(if has_sizes { offset & 0xff_ffff } else { offset });
            let own = self.name(member, 0)?;
            if own == name {
                return Some((offset, number(member, 4)?));
            }
            if own.is_empty() {
                let inner = self.resolve(number(member, 4)?).and_then(|t| self.member(t, name, depth - 1));
                if let Some((inside, of)) = inner {
                    return Some((offset + inside, of));
                }
            }
        }
        None
    }

    /// A type by its number, without aliases.
    fn resolve(&self, number_of: u32) -> Option<&'a [u8]> {
        let mut id = number_of;
        for _ in 0..MOST_DEEP {
            let of = *self.types.get((id as usize).checked_sub(1)?)?;
            if !ALIASES.contains(&kind(of)?) {
                return Some(of);
            }
            id = number(of, 8)?;
        }
        None
    }

    fn name(&self, of: &[u8], at: usize) -> Option<&'a [u8]> {
        let from = self.names.get(number(of, at)? as usize..)?;
        from.split(|&b| b == 0).next()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn kind(of: &[u8]) -> Option<u32> {
    Some(number(of, 4)? >> 24 & 0x1f)
}

/// Bytes of a type behind its head, from the head's second number.
fn more(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    match info >> 24 & 0x1f {
        1 | 14 | 17 => Some(4),
        3 => Some(12),
        STRUCT | UNION | 15 | 19 => Some(12 * count),
        6 | 13 => Some(8 * count),
        2 | 7..=12 | 16 | 18 => Some(0),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A member of a structure: name, offset in bits, and type by number (0 = none).
    pub(crate) type Member<'a> = (&'a str, u32, u32);

    /// A description of structures: name and members.
    pub(crate) fn described(structures: &[(&str, &[Member<'_>])]) -> Vec<u8> {
        let (mut types, mut names) = (Vec::new(), vec![0u8]);
        let mut name = |text: &str| {
            let at = if text.is_empty() { 0 } else { names.len() as u32 };
            if at > 0 {
                names.extend(text.bytes().chain([0]));
            }
            at
        };
        for (of, members) in structures {
            let head = [name(of), STRUCT << 24 | members.len() as u32, 64];
            types.extend(head.iter().flat_map(|n| n.to_le_bytes()));
            for (member, bits, kind) in *members {
                types.extend([name(member), *kind, *bits].iter().flat_map(|n| n.to_le_bytes()));
            }
        }
        let mut out = MAGIC.to_le_bytes().to_vec();
        out.extend([1, 0]);
        let (t, n) = (types.len() as u32, names.len() as u32);
        out.extend([24, 0, t, t, n].iter().flat_map(|n| n.to_le_bytes()));
        out.extend(types);
        out.extend(names);
        out
    }

    #[test]
    fn fields_are_found_through_structures_with_and_without_names() {
        let bytes = described(&[
            ("", &[("inner", 64, 0)]),
            ("qstr", &[("name", 64, 0)]),
            ("mm", &[("first", 0, 0), ("", 128, 1), ("d_name", 256, 2)]),
        ]);
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.offset("mm", "first"), Some(0));
        assert_eq!(btf.offset("mm", "inner"), Some(24));
        assert_eq!(btf.offset("mm", "d_name.name"), Some(40));
        assert_eq!((btf.offset("mm", "no"), btf.offset("no", "first")), (None, None));
        assert_eq!(btf.offset("mm", "first.more"), None, "it is no structure");
    }

    #[test]
    fn what_is_cut_or_goes_in_circles_ends() {
        let whole = described(&[("a", &[("", 0, 1), ("x", 8, 0)])]);
        assert_eq!(Btf::parse(&whole).unwrap().offset("a", "x"), Some(1), "a structure in itself");
        for length in 0..whole.len() {
            assert!(Btf::parse(&whole[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn the_running_kernel_describes_its_tasks() {
        let Ok(bytes) = std::fs::read(FILE) else {
            eprintln!("skipped: no {FILE}");
            return;
        };
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.offset("task_struct", "thread_info"), Some(0));
        let (pid, tgid) = (btf.offset("task_struct", "pid").unwrap(), btf.offset("task_struct", "tgid").unwrap());
        assert_eq!(tgid, pid + 4);
        assert!(btf.offset("dentry", "d_name.name").is_some() && btf.offset("mm_struct", "pgd").is_some());
    }
}
