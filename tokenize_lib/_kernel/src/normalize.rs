//! Text before it is cut: Unicode normalization, then lower case, each only when asked for.

use std::borrow::Cow;

use unicode_normalization::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};

use crate::error::{KernelError, Result};

/// A normalization form of Unicode Standard Annex 15, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    None,
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// What is done to a text before it is cut into pretokens.
#[derive(Clone, Copy, Debug)]
pub struct Normalizer {
    form: Form,
    lowercase: bool,
}

impl Normalizer {
    pub fn new(form: &str, lowercase: bool) -> Result<Self> {
        let form = match form {
            "none" => Form::None,
            "nfc" => Form::Nfc,
            "nfd" => Form::Nfd,
            "nfkc" => Form::Nfkc,
            "nfkd" => Form::Nfkd,
            other => {
                return Err(KernelError::Value(format!(
                    "no normalization {other:?}: take none, nfc, nfd, nfkc or nfkd"
                )));
            }
        };
        Ok(Self { form, lowercase })
    }

    /// True if every text is given back as it is.
    pub fn is_identity(self) -> bool {
        self.form == Form::None && !self.lowercase
    }

    pub fn apply(self, text: &str) -> Cow<'_, str> {
        let normalized = self.form.apply(text);
        if !self.lowercase {
            return normalized;
        }
        // Character by character, as Hugging Face's Lowercase does: no special final sigma.
        Cow::Owned(normalized.chars().flat_map(char::to_lowercase).collect())
    }
}

impl Form {
    fn apply(self, text: &str) -> Cow<'_, str> {
        if text.is_ascii() || self.holds_for(text) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(match self {
            Self::None => text.to_owned(),
            Self::Nfc => text.nfc().collect(),
            Self::Nfd => text.nfd().collect(),
            Self::Nfkc => text.nfkc().collect(),
            Self::Nfkd => text.nfkd().collect(),
        })
    }

    /// True only if the text is surely in this form already.
    fn holds_for(self, text: &str) -> bool {
        let quick_check = match self {
            Self::None => return true,
            Self::Nfc => is_nfc_quick(text.chars()),
            Self::Nfd => is_nfd_quick(text.chars()),
            Self::Nfkc => is_nfkc_quick(text.chars()),
            Self::Nfkd => is_nfkd_quick(text.chars()),
        };
        quick_check == IsNormalized::Yes
    }
}
