//! Special tokens: texts that are one token each, wherever they stand.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{KernelError, Result};

pub struct SpecialTokens {
    finder: AhoCorasick,
    ids: Vec<u32>,
}

impl SpecialTokens {
    pub fn new(texts: &[String], ids: Vec<u32>) -> Result<Self> {
        if texts.len() != ids.len() {
            return Err(KernelError::Value(format!("{} special tokens have {} ids", texts.len(), ids.len())));
        }
        if texts.iter().any(String::is_empty) {
            return Err(KernelError::Value("a special token is empty".to_owned()));
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(texts)
            .map_err(|error| KernelError::Value(format!("special tokens: {error}")))?;
        Ok(Self { finder, ids })
    }

    /// Calls `visit` with what stands before each special token (it may be empty) and the token's id,
    /// then with what stands after the last one.
    pub fn for_each_part<'t>(
        &self,
        text: &'t str,
        mut visit: impl FnMut(&'t str, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        for found in self.finder.find_iter(text) {
            visit(&text[start..found.start()], Some(self.ids[found.pattern().as_usize()]))?;
            start = found.end();
        }
        visit(&text[start..], None)
    }
}
