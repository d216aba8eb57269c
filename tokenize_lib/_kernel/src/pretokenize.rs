//! From a text to its pretokens: special tokens are cut out, the rest is normalized, then cut.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use fancy_regex::Regex;

use crate::error::{KernelError, Result};
use crate::normalize::Normalizer;
use crate::scanners::{Text, cl100k, gpt2, o200k};
use crate::unicode::{CASELESS, Class, Classes, MARK, NUMBER, PUNCTUATION, SPACE, WORD};
use crate::{window_rules, windows};

/// What stands for a space in `metaspace` pretokens: U+2581, lower one eighth block.
const METASPACE: char = '\u{2581}';

/// The rule by which a text is cut.
enum Rule {
    Gpt2,
    Cl100k,
    O200k,
    Whitespace,
    Bert,
    Metaspace,
    SpacePrefixed,
    None,
    Regex(Box<Regex>),
}

impl Rule {
    fn named(spec: &str) -> Result<Self> {
        if let Some(pattern) = spec.strip_prefix("regex:") {
            let regex = Regex::new(pattern).map_err(|error| {
                KernelError::Value(format!("the pattern {pattern} cannot be run: {}", why_no_pattern(&error)))
            })?;
            return Ok(Self::Regex(Box::new(regex)));
        }
        Ok(match spec {
            "gpt2" => Self::Gpt2,
            "cl100k" => Self::Cl100k,
            "o200k" => Self::O200k,
            "whitespace" => Self::Whitespace,
            "bert" => Self::Bert,
            "metaspace" => Self::Metaspace,
            "space-prefixed" => Self::SpacePrefixed,
            "none" => Self::None,
            other => return Err(KernelError::Value(format!("no pretokenizer {other:?}"))),
        })
    }
}

/// What is wrong with a pattern, in one line and without the layers that found it.
fn why_no_pattern(error: &fancy_regex::Error) -> String {
    use fancy_regex::{CompileError, Error};
    use regex_syntax::Error as SyntaxError;
    let inner = match error {
        Error::ParseError(position, error) => return format!("{error}, at its byte {position}"),
        Error::CompileError(error) => match error.as_ref() {
            CompileError::InnerError(inner) => inner,
            other => return other.to_string(),
        },
        other => return other.to_string(),
    };
    match inner.syntax_error() {
        Some(SyntaxError::Parse(error)) => error.kind().to_string(),
        Some(SyntaxError::Translate(error)) => error.kind().to_string(),
        _ => std::error::Error::source(inner).map_or_else(|| inner.to_string(), |cause| cause.to_string()),
    }
}

/// A rule with everything that comes before it; the same one serves any number of threads.
pub struct Pretokenizer {
    rule: Rule,
    normalizer: Normalizer,
    special_tokens: Option<AhoCorasick>,
}

impl Pretokenizer {
    /// `spec` is a name of `Rule`, in lower case with hyphens, or `regex:` and a pattern.
    pub fn new(spec: &str, special_tokens: &[String], normalize: &str, lowercase: bool) -> Result<Self> {
        if special_tokens.iter().any(String::is_empty) {
            return Err(KernelError::Value("a special token is empty".to_owned()));
        }
        let special_tokens = match special_tokens {
            [] => None,
            tokens => Some(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(tokens)
                    .map_err(|error| KernelError::Value(format!("special tokens: {error}")))?,
            ),
        };
        Ok(Self { rule: Rule::named(spec)?, normalizer: Normalizer::new(normalize, lowercase)?, special_tokens })
    }

    /// True if pretokens are slices of the text that is given, none of them rewritten.
    pub fn keeps_text(&self) -> bool {
        self.normalizer.is_identity() && !matches!(self.rule, Rule::Metaspace)
    }

    /// True if the rule is a pattern that matches the empty text between any two characters, as `a*` does: it cuts
    /// what it does not match into single characters.
    pub fn cuts_everywhere(&self) -> bool {
        let Rule::Regex(regex) = &self.rule else { return false };
        // Of private use, so that hardly a pattern names them.
        let unknown = "\u{E000}\u{E001}\u{E002}";
        regex.find_iter(unknown).flatten().any(|found| found.range() == (3..3))
    }

    /// Calls `visit` with each text between special tokens, as the rule is to see it, and with the
    /// offset of its first byte in the document: the bytes of the texts visited before, plus those
    /// of the special tokens.
    pub fn for_each_section<'t>(
        &self,
        document: &'t str,
        mut visit: impl FnMut(Cow<'t, str>, usize) -> Result<()>,
    ) -> Result<()> {
        let mut offset = 0;
        let mut start = 0;
        for special in self.special_tokens.iter().flat_map(|tokens| tokens.find_iter(document)) {
            let section = self.prepare(&document[start..special.start()]);
            let length = section.len();
            visit(section, offset)?;
            offset += length + special.len();
            start = special.end();
        }
        visit(self.prepare(&document[start..]), offset)
    }

    fn prepare<'t>(&self, section: &'t str) -> Cow<'t, str> {
        let normalized = self.normalizer.apply(section);
        match self.rule {
            Rule::Metaspace => Cow::Owned(with_metaspaces(&normalized)),
            _ => normalized,
        }
    }

    /// Calls `visit` with the byte range of each pretoken of a section, from left to right.
    #[inline(always)]
    pub fn for_each_pretoken(&self, section: &str, mut visit: impl FnMut(Range<usize>)) -> Result<()> {
        match &self.rule {
            Rule::Gpt2 => windows::cut(section, 0, window_rules::gpt2, gpt2, visit),
            Rule::Cl100k => windows::cut(section, NUMBER, window_rules::cl100k, cl100k, visit),
            Rule::O200k => {
                let left_out = NUMBER | CASELESS | MARK;
                windows::cut(section, left_out, window_rules::o200k, o200k, visit);
            }
            Rule::Whitespace => cut_runs(section, whitespace_kind, visit),
            Rule::Bert => cut_runs(section, bert_kind, visit),
            Rule::Metaspace => cut_before(section, METASPACE, visit),
            Rule::SpacePrefixed => cut(section, space_prefixed, visit),
            Rule::None if section.is_empty() => {}
            Rule::None => visit(0..section.len()),
            Rule::Regex(regex) => return cut_at_matches(section, regex, visit),
        }
        Ok(())
    }
}

/// Cuts a text where `end_of` says, from its start on.
#[inline(always)]
fn cut(section: &str, end_of: impl Fn(Text<'_>, usize) -> usize, mut visit: impl FnMut(Range<usize>)) {
    let text = Text::new(section);
    let mut start = 0;
    while start < section.len() {
        let end = end_of(text, start);
        visit(start..end);
        start = end;
    }
}

/// ` ?\S+|\s+`
fn space_prefixed(text: Text<'_>, start: usize) -> usize {
    let word = start + usize::from(text.bytes()[start] == b' ');
    let word_end = text.run(word, |_, class| class & SPACE == 0);
    if word_end > word { word_end } else { text.run_of(start, SPACE) }
}

/// How a character stands to its neighbours where a rule cuts between kinds of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// In no pretoken.
    Dropped,
    /// A pretoken by itself.
    Alone,
    /// One pretoken with its neighbours of the same kind.
    Word,
    /// The same.
    Other,
}

/// `\w+|[^\w\s]+`, Hugging Face's `Whitespace`.
fn whitespace_kind(class: Class) -> Kind {
    match class {
        _ if class & WORD != 0 => Kind::Word,
        _ if class & SPACE != 0 => Kind::Dropped,
        _ => Kind::Other,
    }
}

/// Hugging Face's `BertPreTokenizer`: white space is dropped, punctuation cut out character by
/// character.
fn bert_kind(class: Class) -> Kind {
    match class {
        _ if class & SPACE != 0 => Kind::Dropped,
        _ if class & PUNCTUATION != 0 => Kind::Alone,
        _ => Kind::Word,
    }
}

fn cut_runs(section: &str, kind_of: impl Fn(Class) -> Kind, mut visit: impl FnMut(Range<usize>)) {
    let classes = Classes::get();
    let mut start = 0;
    let mut running = Kind::Dropped;
    for (at, character) in section.char_indices() {
        let kind = kind_of(classes.of(character));
        if kind != running || kind == Kind::Alone {
            if running != Kind::Dropped {
                visit(start..at);
            }
            (start, running) = (at, kind);
        }
    }
    if running != Kind::Dropped {
        visit(start..section.len());
    }
}

/// Cuts a text before every `mark`.
fn cut_before(section: &str, mark: char, mut visit: impl FnMut(Range<usize>)) {
    let mut start = 0;
    for (at, _) in section.match_indices(mark).filter(|(at, _)| *at > 0) {
        visit(start..at);
        start = at;
    }
    if start < section.len() {
        visit(start..section.len());
    }
}

/// Hugging Face's `Metaspace` with `prepend_scheme="always"`: a mark for each space and, unless
/// there is one, before the text.
fn with_metaspaces(text: &str) -> String {
    let mut marked = String::with_capacity(text.len() + text.len() / 2 + METASPACE.len_utf8());
    if !text.is_empty() && !text.starts_with([' ', METASPACE]) {
        marked.push(METASPACE);
    }
    marked.extend(text.chars().map(|character| if character == ' ' { METASPACE } else { character }));
    marked
}

/// Cuts a text at both ends of every match, also of an empty one.
fn cut_at_matches(section: &str, regex: &Regex, mut visit: impl FnMut(Range<usize>)) -> Result<()> {
    let mut start = 0;
    for found in regex.find_iter(section) {
        let found = found.map_err(|error| {
            KernelError::Value(format!(
                "the pattern {:?} cannot be run on a text of {} bytes: {error}",
                regex.as_str(),
                section.len()
            ))
        })?;
        for end in [found.start(), found.end()] {
            if end > start {
                visit(start..end);
                start = end;
            }
        }
    }
    if start < section.len() {
        visit(start..section.len());
    }
    Ok(())
}
