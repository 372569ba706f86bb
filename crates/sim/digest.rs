// A digest of what decides figures in Rust sources, for the build script; `crates/sim/tests/it/digest.rs` tests it.
//
// Comments, documentation, the form of lines and everything under `#[cfg(test)]` are left out: a fix of theirs keeps
// all records valid.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Digest of the code below each folder, in order: 12 hexadecimal digits. A folder has a name in the digest, and a
/// path.
///
/// # Errors
/// A source that cannot be read, or is no Rust.
pub fn of_folders(folders: &[(&str, PathBuf)]) -> io::Result<String> {
    let mut hash = Sha256::new();
    for (name, folder) in folders {
        let mut files = Vec::new();
        collect(folder, Path::new(name), &mut files)?;
        files.sort();
        let mut tests = BTreeSet::new();
        let mut codes = Vec::new();
        for (name, file) in files {
            let text = fs::read_to_string(&file)?;
            let (code, modules) = code_of(&text)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", file.display())))?;
            let own = folder_of(&name);
            tests.extend(modules.iter().map(|module| own.join(module)));
            codes.push((name, code));
        }
        // A module of tests in a file or folder of its own.
        let is_test =
            |name: &Path| tests.contains(&name.with_extension("")) || name.ancestors().any(|f| tests.contains(f));
        for (name, code) in codes.iter().filter(|(name, _)| !is_test(name)) {
            hash.update(name.to_string_lossy().replace('\\', "/").as_bytes());
            hash.update((code.len() as u64).to_le_bytes());
            hash.update(code.as_bytes());
        }
    }
    Ok(hash.finalize().iter().take(6).map(|b| format!("{b:02x}")).collect())
}

/// Adds every Rust source below `dir`: its name in the digest, and its path.
fn collect(dir: &Path, name: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = name.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else if name.extension().is_some_and(|e| e == "rs") {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}

/// The folder in which the modules of a file are: its own for `mod.rs` and `lib.rs`, one of its name otherwise.
fn folder_of(file: &Path) -> PathBuf {
    match file.file_stem().and_then(|s| s.to_str()) {
        Some("mod" | "lib" | "main") => file.parent().unwrap_or(file).to_path_buf(),
        _ => file.with_extension(""),
    }
}

/// The code of a source as tokens, and the names of its modules of tests that stand in other files.
///
/// # Errors
/// The text is no Rust.
pub fn code_of(text: &str) -> Result<(String, Vec<String>), String> {
    let tokens: TokenStream = text.parse().map_err(|e: proc_macro2::LexError| e.to_string())?;
    let (mut out, mut modules) = (String::new(), Vec::new());
    write(tokens, &mut out, &mut modules);
    Ok((out, modules))
}

/// Writes tokens one after the other, each with a space behind it.
fn write(tokens: TokenStream, out: &mut String, modules: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match attribute(&tokens[at..]) {
            Some((_, text)) if text == "cfg (test)" => {
                at += length_of_item(&tokens[at..], modules);
                continue;
            }
            Some((length, text)) if text.starts_with("doc =") => {
                at += length;
                continue;
            }
            _ => {}
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("( ", ") "),
                    Delimiter::Brace => ("{ ", "} "),
                    Delimiter::Bracket => ("[ ", "] "),
                    Delimiter::None => ("", ""),
                };
                out.push_str(open);
                write(group.stream(), out, modules);
                out.push_str(close);
            }
            TokenTree::Punct(punct) => {
                out.push(punct.as_char());
                // `&&` is not `& &`.
                if punct.spacing() == Spacing::Alone {
                    out.push(' ');
                }
            }
            word => {
                out.push_str(&word.to_string());
                out.push(' ');
            }
        }
        at += 1;
    }
}

fn is(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == c)
}

/// Number of tokens, and text in brackets, of the attribute at the start of `tokens`.
fn attribute(tokens: &[TokenTree]) -> Option<(usize, String)> {
    let inner = usize::from(is(tokens.get(1), '!'));
    match tokens.get(1 + inner) {
        Some(TokenTree::Group(g)) if is(tokens.first(), '#') && g.delimiter() == Delimiter::Bracket => {
            Some((2 + inner, g.stream().to_string().replace("cfg(", "cfg (")))
        }
        _ => None,
    }
}

/// Number of tokens of the item at the start of `tokens`, with its attributes. It ends with a semicolon, or with a
/// block unless it begins with a word behind which a block does not end it.
fn length_of_item(tokens: &[TokenTree], modules: &mut Vec<String>) -> usize {
    let mut at = 0;
    while let Some((length, _)) = attribute(&tokens[at..]) {
        at += length;
    }
    let words: Vec<String> = tokens[at..].iter().take(4).map(ToString::to_string).collect();
    let ends_with_block =
        !["use", "const", "static", "type", "let"].iter().any(|w| words.first().is_some_and(|f| f == w))
            || words.get(1).is_some_and(|w| w == "fn");
    let semicolon = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ';');
    let block = |t: &TokenTree| matches!(t, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
    let end = tokens[at..].iter().position(|t| semicolon(t) || ends_with_block && block(t));
    let module = words.iter().position(|w| w == "mod").and_then(|m| words.get(m + 1));
    if let (Some(module), Some(true)) = (module, end.map(|end| semicolon(&tokens[at + end]))) {
        modules.push(module.clone());
    }
    end.map_or(tokens.len(), |end| at + end + 1)
}
