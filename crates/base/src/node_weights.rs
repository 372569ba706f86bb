//! The value of tunables that name nodes with weights, as the `dests` of a DAMON scheme.

/// Largest number of nodes in a list.
const MOST: usize = 16;

/// Nodes with weights, in order, written `0:3 1:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeWeights {
    len: u8,
    /// Node and weight.
    list: [(u16, u16); MOST],
}

impl NodeWeights {
    /// No node; written `none`.
    pub const NONE: Self = Self { len: 0, list: [(0, 0); MOST] };

    /// Whether this is [`Self::NONE`].
    pub fn is_none(&self) -> bool {
        self.len == 0
    }
    /// The nodes with their weights, in order.
    pub fn as_slice(&self) -> &[(u16, u16)] {
        &self.list[..usize::from(self.len)]
    }
    /// Reads a list like `0:3 1:1`, or `none`. A weight is 1 to 65535.
    ///
    /// # Errors
    /// A sentence that names the first part that cannot be read, is there twice or is one too many.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut out = Self::NONE;
        if text.trim() == "none" {
            return Ok(out);
        }
        for part in text.split_whitespace() {
            let pair = part.split_once(':').and_then(|(n, w)| Some((n.parse().ok()?, w.parse().ok()?)));
            let Some((node, weight)) = pair.filter(|(_, weight)| *weight > 0) else {
                return Err(format!("`{part}` is no node with its weight, such as `0:3`"));
            };
            if out.as_slice().iter().any(|known| known.0 == node) {
                return Err(format!("node {node} is in the list twice"));
            }
            let Some(free) = out.list.get_mut(usize::from(out.len)) else {
                return Err(format!("it has more than {MOST} nodes"));
            };
            *free = (node, weight);
            out.len += 1;
        }
        if out.is_none() {
            return Err("it is empty".into());
        }
        Ok(out)
    }
}

impl std::fmt::Display for NodeWeights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        for (i, (node, weight)) in self.as_slice().iter().enumerate() {
            write!(f, "{}{node}:{weight}", if i > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_bad_parts_named() {
        let list = NodeWeights::parse(" 0:3  2:1 ").unwrap();
        assert_eq!((list.as_slice(), list.to_string().as_str()), (&[(0, 3), (2, 1)][..], "0:3 2:1"));
        assert_eq!(NodeWeights::parse(&list.to_string()), Ok(list));
        assert_eq!((NodeWeights::parse("none"), NodeWeights::NONE.to_string()), (Ok(NodeWeights::NONE), "none".into()));
        for bad in ["0", "0:0", "0:3,1:1", "a:1", "0:-1", "0:70000", "none 0:1"] {
            assert!(NodeWeights::parse(bad).is_err_and(|e| e.contains("is no node with its weight")), "{bad}");
        }
        assert!(NodeWeights::parse("0:1 0:2").is_err_and(|e| e.contains("twice")));
        assert!(NodeWeights::parse("  ").is_err_and(|e| e.contains("empty")));
        let many: Vec<String> = (0..=MOST).map(|n| format!("{n}:1")).collect();
        assert!(NodeWeights::parse(&many.join(" ")).is_err_and(|e| e.contains("more than")));
    }
}
