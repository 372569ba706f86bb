//! `stat` of a process or a thread.

use numalab_base::visible_text::visible;

/// Fields of a `stat` line (proc(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Name of the program or thread as it may be shown: it can be any bytes, and what cannot be seen became its code.
    pub name: String,
    /// State letter: `R` running, `S` asleep, `D` waiting for a device, `Z` ended.
    pub state: char,
    /// Process id of the parent.
    pub parent: u32,
    /// Kernel flags (`PF_*`).
    pub flags: u64,
    /// CPU time, user and system, in ticks.
    pub ticks: u64,
    /// Part of it that was spent in the kernel, in ticks.
    pub system_ticks: u64,
    /// Start of the process after boot, in ticks; tells it from a later one with the same id.
    pub start: u64,
    /// CPU that it last ran on.
    pub cpu: u32,
}

/// The flag of kernel threads.
const PF_KTHREAD: u64 = 0x0020_0000;

impl Stat {
    /// The fields of a line; `None` if it is cut off or of another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let name = visible(text.get(open + 1..close)?);
        // Fields are counted from 3, the state, after the name, which may hold spaces and parentheses.
        let fields: Vec<&str> = text[close + 1..].split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            name,
            state: fields.first()?.chars().next()?,
            parent: number(4)? as u32,
            flags: number(9)?,
            ticks: number(14)?.saturating_add(number(15)?),
            system_ticks: number(15)?,
            start: number(22)?,
            cpu: u32::try_from(number(39)?).ok()?,
        })
    }

    /// Whether it is a thread of the kernel, which has no memory of its own.
    pub fn is_kernel(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A line with these figures.
    pub(crate) fn line(pid: u32, name: &str, state: char, ticks: u64, cpu: u32) -> String {
        let mut fields: Vec<String> = (3..=52).map(|_| "0".to_string()).collect();
        fields[0] = state.to_string();
        fields[1] = "1".into();
        fields[11] = ticks.to_string();
        fields[19] = (1000 + u64::from(pid)).to_string();
        fields[36] = cpu.to_string();
        format!("{pid} ({name}) {}\n", fields.join(" "))
    }

    #[test]
    fn fields_after_a_hostile_name() {
        let s = Stat::parse(&line(12, "a) R 1 (b", 'S', 700, 3)).unwrap();
        assert_eq!((s.name.as_str(), s.state, s.parent, s.ticks, s.start, s.cpu), ("a) R 1 (b", 'S', 1, 700, 1012, 3));
        assert!(!s.is_kernel());
        let s = Stat::parse(&line(12, "a\n\u{202e}b\u{feff}", 'S', 700, 3)).unwrap();
        assert_eq!((s.name.as_str(), s.ticks), ("a\\u{a}\\u{202e}b\\u{feff}", 700));
        let full = line(12, "x", 'R', 1, 0);
        for end in 0..full.len() {
            // Cut off anywhere, it is a line or none, and no panic.
            let _ = Stat::parse(&full[..end]);
        }
        for bad in ["", "1", ")(", "1 (x) R", "1 (x)", "1 (x) R -1 -1 a b c d e f g h"] {
            assert_eq!(Stat::parse(bad), None, "{bad}");
        }
    }
}
