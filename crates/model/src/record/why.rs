//! The file of a decision log. [`numalab_nouns::record::why`] has the log.

use super::events::Header;
use crate::plan::hex;
pub use numalab_nouns::record::why::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// `ID.why.json`: the decision log of a run, with the names that its numbers stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyFile {
    /// What the numbers of the log stand for.
    pub header: Header,
    /// The log.
    pub why: Why,
}

/// The text before the digest at the end of a [`WhyFile`].
const SEAL: &str = ",\"sha256\":\"";

impl WhyFile {
    /// The text of the file: JSON whose last key, `sha256`, is the digest of the text without that key.
    ///
    /// # Errors
    /// None in practice: every field is text, a number or a list of those.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        let digest = hex(&Sha256::digest(&text));
        text.pop();
        Ok(format!("{text}{SEAL}{digest}\"}}"))
    }

    /// Reads the text of [`WhyFile::to_text`]. A text without a digest, as releases up to 0.13.0 wrote, is accepted.
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    pub fn from_text(text: &str) -> Result<Self, String> {
        if let Some((whole, digest)) = text.rsplit_once(SEAL) {
            let said = digest.strip_suffix("\"}").unwrap_or_default();
            if said != hex(&Sha256::digest(format!("{whole}}}"))) {
                return Err("its contents differ from their digest".into());
            }
        }
        let file: Self = serde_json::from_str(text).map_err(|e| e.to_string())?;
        // Readers index the mappings by the number in a chunk.
        match file.why.chunks.iter().find(|c| c.vma as usize >= file.why.vmas.len()) {
            Some(c) => Err(format!("a stretch of mapping {}, and there are {} mappings", c.vma, file.why.vmas.len())),
            None => Ok(file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_noticed_and_one_without_a_digest_is_read() {
        let f = WhyFile { why: Why { end_ns: 1234, balancing: true, ..Why::default() }, ..WhyFile::default() };
        let text = f.to_text().unwrap();
        assert_eq!(WhyFile::from_text(&text), Ok(f.clone()));
        for (from, to) in [("1234", "1235"), ("true", "false"), ("\"sha256\":\"", "\"sha256\":\"0")] {
            let e = WhyFile::from_text(&text.replacen(from, to, 1)).unwrap_err();
            assert!(e.contains("differ from their digest"), "{e}");
        }
        assert_eq!(WhyFile::from_text(&serde_json::to_string(&f).unwrap()), Ok(f.clone()));
        let mut lost = f;
        lost.why.chunks.push(ChunkWhy { vma: 7, ..ChunkWhy::default() });
        let e = WhyFile::from_text(&serde_json::to_string(&lost).unwrap()).unwrap_err();
        assert_eq!(e, "a stretch of mapping 7, and there are 0 mappings");
    }
}
