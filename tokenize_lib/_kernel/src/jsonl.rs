//! JSON Lines: a document an object (RFC 8259, parsed by serde_json). The whole line is validated, and only
//! the wanted fields are kept. A bad line is set aside with its reason; the lines around it are not touched.
//!
//! A wanted field is a dotted path. In an object, a key matches if it is the whole path, or the part before
//! one of its dots and the rest is looked for in its value. Of keys that match, the last wins.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::lines::{checked_text, lines};
use crate::plain_json::{PlainReader, wanted_by};
use crate::records::{RecordRules, Records};

/// Paths are matched in one machine word.
pub const MAX_FIELDS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Found {
    Missing,
    Null,
    LoneSurrogate,
    Wrong(&'static str),
    Value,
}

/// What a wanted field of the current record holds. The memory of `value` serves all records.
struct Slot {
    found: Found,
    value: Vec<u8>,
    replace: bool,
    /// Whether something was replaced in `value`.
    is_mended: bool,
}

impl Slot {
    fn bytes(&self) -> Option<&[u8]> {
        (self.found == Found::Value).then_some(&self.value)
    }

    /// Takes an unescaped JSON string: UTF-8, but for lone surrogates, which come as WTF-8.
    fn set_string(&mut self, bytes: &[u8]) {
        self.value.clear();
        self.value.extend_from_slice(bytes);
        self.found = Found::Value;
        self.is_mended = false;
        if simdutf8::basic::from_utf8(&self.value).is_err() {
            match self.replace {
                true => {
                    replace_surrogates(&mut self.value);
                    self.is_mended = true;
                }
                false => self.found = Found::LoneSurrogate,
            }
        }
    }

    /// Takes the value of a kept field.
    fn set_plain(&mut self, plain: &mut PlainReader) -> Option<()> {
        self.value.clear();
        self.is_mended = false;
        self.found = Found::Value;
        if plain.is_at_string() {
            return plain.string(&mut self.value);
        }
        match plain.scalar()? {
            b"null" => self.found = Found::Null,
            raw => self.value.extend_from_slice(raw),
        }
        Some(())
    }

    fn set_raw(&mut self, raw: &str, only_strings: bool) -> Result<(), serde_json::Error> {
        self.found = match raw.as_bytes()[0] {
            b'"' => {
                return serde_json::Deserializer::from_str(raw).deserialize_bytes(StringInto(self));
            }
            b'n' => Found::Null,
            b'{' => Found::Wrong("an object"),
            b'[' => Found::Wrong("an array"),
            b't' | b'f' if only_strings => Found::Wrong("a boolean"),
            _ if only_strings => Found::Wrong("a number"),
            _ => {
                self.value.clear();
                self.value.extend_from_slice(raw.as_bytes());
                self.is_mended = false;
                Found::Value
            }
        };
        Ok(())
    }
}

/// A surrogate in WTF-8 is ED A0..BF xx, three bytes as U+FFFD is.
fn replace_surrogates(bytes: &mut [u8]) {
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 {
            bytes[at..at + 3].copy_from_slice("\u{FFFD}".as_bytes());
        }
    }
}

/// A wanted field, from the current object downwards: `(slot, rest of its path)`.
type Path<'p> = (usize, &'p str);

/// One object, from which the slots of `paths` are filled.
struct Object<'p, 's> {
    paths: &'p [Path<'p>],
    slots: &'s mut [Slot],
    /// Unescape a text straight from the line. Otherwise every wanted value is first taken raw: slower, but a value
    /// of the wrong type then ends nothing, and a later key can still win.
    direct: bool,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(matched) = map.next_key_seed(Key(self.paths))? {
            if matched.paths == 0 {
                map.next_value::<IgnoredAny>()?;
            } else if self.direct && matched.is_text(self.paths) {
                map.next_value_seed(TextInto(&mut self.slots[0]))?;
            } else {
                let raw = map.next_value::<&RawValue>()?.get();
                for (index, &(slot, path)) in self.paths.iter().enumerate() {
                    if matched.paths >> index & 1 == 1 {
                        let rest = path.get(matched.key_bytes + 1..);
                        fill_slot(self.slots, slot, rest, raw).map_err(A::Error::custom)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Fills a slot from a value, or from what `rest` of its path names inside the value.
fn fill_slot(slots: &mut [Slot], slot: usize, rest: Option<&str>, raw: &str) -> Result<(), serde_json::Error> {
    let Some(rest) = rest else {
        return slots[slot].set_raw(raw, slot == 0);
    };
    slots[slot].found = if raw == "null" { Found::Null } else { Found::Missing };
    match raw.starts_with('{') {
        true => Object { paths: &[(slot, rest)], slots, direct: false }
            .deserialize(&mut serde_json::Deserializer::from_str(raw)),
        false => Ok(()),
    }
}

/// Which paths a key matched, as bits.
struct Matched {
    paths: u64,
    key_bytes: usize,
}

impl Matched {
    /// The text alone, and not something inside it.
    fn is_text(&self, paths: &[Path]) -> bool {
        paths[0].0 == 0 && self.paths == 1 && paths[0].1.len() == self.key_bytes
    }
}

struct Key<'p>(&'p [Path<'p>]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Matched;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Matched, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Matched;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<Matched, E> {
        let mut paths = 0;
        for (index, (_, path)) in self.0.iter().enumerate() {
            if let Some(rest) = path.as_bytes().strip_prefix(key) {
                paths |= u64::from(rest.is_empty() || rest[0] == b'.') << index;
            }
        }
        Ok(Matched { paths, key_bytes: key.len() })
    }
}

/// A string, or null.
struct TextInto<'s>(&'s mut Slot);

impl<'de> DeserializeSeed<'de> for TextInto<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for TextInto<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a string or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.0.found = Found::Null;
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_bytes(StringInto(self.0))
    }
}

struct StringInto<'s>(&'s mut Slot);

impl Visitor<'_> for StringInto<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<(), E> {
        self.0.set_string(bytes);
        Ok(())
    }
}

/// Reads records of the same fields, one after another.
struct RecordReader<'f> {
    paths: Vec<Path<'f>>,
    slots: Vec<Slot>,
    rules: RecordRules,
}

impl<'f> RecordReader<'f> {
    fn new(fields: &'f [String], rules: &RecordRules) -> Self {
        let slot = |_| Slot { found: Found::Missing, value: Vec::new(), replace: rules.replace, is_mended: false };
        Self {
            paths: fields.iter().map(String::as_str).enumerate().collect(),
            slots: fields.iter().map(slot).collect(),
            rules: *rules,
        }
    }

    /// Fills the slots from a line; an error is the reason why the record is bad.
    fn read(&mut self, line: &str) -> Result<(), String> {
        // serde_json unescapes bytes (the way that lets lone surrogates through) without refusing control characters.
        if has_control(line) && serde_json::from_str::<IgnoredAny>(line).is_err() {
            return Err(why_no_object(line));
        }
        if self.fill(line, true).is_err() && self.fill(line, false).is_err() {
            return Err(why_no_object(line));
        }
        self.paths.iter().try_for_each(|&(slot, path)| match (self.slots[slot].found, slot) {
            (Found::Value, _) | (Found::Missing | Found::Null, 1..) => Ok(()),
            (Found::Null, 0) if self.rules.null_as_empty => Ok(()),
            (Found::Null, _) => Err(format!("field {path:?} is null")),
            (Found::Missing, _) => Err(format!("no field {path:?}")),
            (Found::LoneSurrogate, _) => Err(format!("field {path:?} has a lone surrogate")),
            (Found::Wrong(kind), 0) => Err(format!("field {path:?} is {kind}, not a string")),
            (Found::Wrong(kind), _) => Err(format!("field {path:?} is {kind}, not a string, number or boolean")),
        })
    }

    fn fill(&mut self, line: &str, direct: bool) -> Result<(), serde_json::Error> {
        self.slots.iter_mut().for_each(|slot| slot.found = Found::Missing);
        let mut parser = serde_json::Deserializer::from_str(line);
        Object { paths: &self.paths, slots: &mut self.slots, direct }.deserialize(&mut parser)?;
        parser.end()
    }

    /// Does the same for most records, in a fifth of the time, and appends the text to `text` instead. None if the record
    /// must be read the other way; what was appended is then to be dropped.
    #[inline]
    fn read_plain(&mut self, plain: &mut PlainReader, record: Range<usize>, text: &mut Vec<u8>) -> Option<()> {
        let begin = text.len();
        self.slots.iter_mut().for_each(|slot| slot.found = Found::Missing);
        plain.open(record)?;
        while let Some(key) = plain.next_key()? {
            match wanted_by(&self.paths, key)? {
                None => plain.skip_value()?,
                Some(0) => {
                    text.truncate(begin);
                    plain.string(text)?;
                    self.slots[0].found = Found::Value;
                }
                Some(slot) => self.slots[slot].set_plain(plain)?,
            }
        }
        (self.slots[0].found == Found::Value).then_some(())
    }

    fn is_mended(&self) -> bool {
        self.slots.iter().any(|slot| slot.found == Found::Value && slot.is_mended)
    }

    fn text(&self) -> &[u8] {
        self.slots[0].bytes().unwrap_or_default()
    }

    fn fields(&self) -> impl Iterator<Item = Option<&str>> {
        // A value is UTF-8: set_string saw to it.
        self.slots[1..].iter().map(|slot| slot.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok()))
    }
}

/// Without an early end, so that it is compiled to vector instructions: nearly always there is none to find.
fn has_control(line: &str) -> bool {
    line.bytes().fold(false, |found, byte| found | (byte < b' '))
}

fn why_no_object(line: &str) -> String {
    match serde_json::from_str::<IgnoredAny>(line) {
        Ok(_) => "not a JSON object".to_owned(),
        Err(error) => format!("invalid JSON: {error}").replace(" at line 1 column ", " at column "),
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// Reads a block of whole lines. `fields`: the path of the text, then those of the fields to keep beside it.
/// Blank lines are lines, but no records. Gives the number of lines.
pub fn parse_jsonl(
    block: &[u8],
    position: i64,
    row: i64,
    fields: &[String],
    rules: &RecordRules,
    records: &mut Records,
) -> i64 {
    let all = simdutf8::basic::from_utf8(block).ok();
    let mut reader = RecordReader::new(fields, rules);
    let mut plain = all.map(|_| PlainReader::new(block));
    let mut count = 0;
    for (start, line) in lines(block) {
        let (place, line_row) = (position + start as i64, row + count);
        count += 1;
        if line.len() > rules.max_document_bytes {
            records.push_bad(place, line_row, &rules.too_long());
            continue;
        }
        if let Some(plain) = &mut plain {
            if reader.read_plain(plain, start..start + line.len(), records.text()).is_some() {
                records.close_document(place, false);
                records.push_fields(reader.fields());
                continue;
            }
            records.drop_text();
        }
        let text = match all {
            Some(all) => Ok(Cow::Borrowed(&all[start..start + line.len()])),
            None => checked_text(line, rules),
        };
        let outcome = text.and_then(|text| match text.trim_end_matches(is_space) {
            "" => Ok(None),
            record => reader.read(record).map(|()| Some(matches!(text, Cow::Owned(_)) || reader.is_mended())),
        });
        match outcome {
            Ok(None) => {}
            Ok(Some(is_mended)) => {
                records.push_document(place, reader.text(), is_mended);
                records.push_fields(reader.fields());
            }
            Err(reason) => records.push_bad(place, line_row, &reason),
        }
    }
    count
}

#[cfg(test)]
mod tests;
