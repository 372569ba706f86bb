//! Names of programs as names of columns and files.

/// `text` with everything but ASCII letters, digits and `._+-` replaced by `_`, and at most `longest` characters of it;
/// `otherwise` if it is empty.
pub fn plain_name(text: &str, longest: usize, otherwise: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let plain: String = text.chars().map(|c| if fits(c) { c } else { '_' }).take(longest).collect();
    if plain.is_empty() {
        otherwise.into()
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_characters_are_left() {
        assert_eq!(plain_name("a/b, c\n(x)", 40, "unnamed"), "a_b__c__x_");
        assert_eq!(plain_name("postgres-17.2+é", 40, "unnamed"), "postgres-17.2+_");
        assert_eq!(plain_name("abcdef", 3, "unnamed"), "abc");
        assert_eq!(plain_name("", 3, "unnamed"), "unnamed");
    }
}
