//! Text: a document a line. Also the check of texts that came from elsewhere (Parquet, whole files).

use std::borrow::Cow;

use arrow_array::{Array, LargeBinaryArray};

use crate::nfc::count_not_nfc;
use crate::records::{Marks, RecordRules, Records};

/// Each line of a block with its offset. A line ends at `\n` and nowhere else: `\r`, NUL and U+2028 are text.
/// The last one may lack its end; a `\n` at the end of the block starts no further line.
pub fn lines(block: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    let mut ends = memchr::memchr_iter(b'\n', block);
    std::iter::from_fn(move || {
        if start >= block.len() {
            return None;
        }
        let line_start = start;
        let end = ends.next().unwrap_or(block.len());
        start = end + 1;
        Some((line_start, &block[line_start..end]))
    })
}

/// The text if it is UTF-8, or mended (and so `Owned`) if the rules say so, else what is wrong with it.
pub fn checked_text<'a>(bytes: &'a [u8], rules: &RecordRules) -> Result<Cow<'a, str>, String> {
    match simdutf8::compat::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(_) if rules.replace => Ok(String::from_utf8_lossy(bytes)),
        Err(error) => Err(format!("invalid UTF-8 at its byte {}", error.valid_up_to())),
    }
}

/// Reads a block of whole lines. `position` is the block's offset in its file, `row` its first line's number.
/// Gives the number of lines.
pub fn parse_lines(block: &[u8], position: i64, row: i64, rules: &RecordRules, records: &mut Records) -> i64 {
    // One pass over the whole block is much faster than one check a line; a line is valid if all are.
    let all_valid = simdutf8::basic::from_utf8(block).is_ok();
    let mut count = 0;
    for (start, line) in lines(block) {
        let place = position + start as i64;
        if line.len() > rules.max_document_bytes {
            records.push_bad(place, row + count, &rules.too_long());
        } else if all_valid {
            records.push_document(place, line, false);
        } else {
            match checked_text(line, rules) {
                Ok(text) => records.push_document(place, text.as_bytes(), matches!(text, Cow::Owned(_))),
                Err(reason) => records.push_bad(place, row + count, &reason),
            }
        }
        count += 1;
    }
    count
}

/// If every value is a document as it stands, so that the array can be used without a copy: what they are.
pub fn all_fit(texts: &LargeBinaryArray, rules: &RecordRules) -> Option<Marks> {
    let offsets = texts.value_offsets();
    let (first, last) = (offsets[0] as usize, offsets[texts.len()] as usize);
    // Valid as a whole, and no value starts inside a character: then each value is valid.
    if texts.null_count() > 0 || simdutf8::basic::from_utf8(&texts.values()[first..last]).is_err() {
        return None;
    }
    let mut empty = 0;
    for ends in offsets.windows(2) {
        let (start, end) = (ends[0] as usize, ends[1] as usize);
        let starts_inside = start < last && (texts.values()[start] & 0xC0) == 0x80;
        if end - start > rules.max_document_bytes || starts_inside {
            return None;
        }
        empty += usize::from(start == end);
    }
    Some(Marks { empty, mended: 0, not_nfc: count_not_nfc(texts.values(), offsets) })
}

/// Reads texts one by one; the place of a text is its index. `field` names the column in reasons.
pub fn screen_texts(texts: &LargeBinaryArray, field: &str, rules: &RecordRules, records: &mut Records) {
    for index in 0..texts.len() {
        let place = index as i64;
        if texts.is_null(index) {
            match rules.null_as_empty {
                true => records.push_document(place, b"", false),
                false => records.push_bad(place, place, &format!("field {field:?} is null")),
            }
            continue;
        }
        let text = texts.value(index);
        if text.len() > rules.max_document_bytes {
            records.push_bad(place, place, &rules.too_long());
            continue;
        }
        match checked_text(text, rules) {
            Ok(text) => records.push_document(place, text.as_bytes(), matches!(text, Cow::Owned(_))),
            Err(reason) => records.push_bad(place, place, &reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(block: &str) -> Vec<(usize, String)> {
        let text = |(start, line): (usize, &[u8])| (start, String::from_utf8_lossy(line).into_owned());
        lines(block.as_bytes()).map(text).collect()
    }

    #[test]
    fn a_line_ends_at_newline_alone() {
        let expected = [(0, "a\r"), (3, ""), (4, "b\u{2028}\0c"), (11, "d")];
        assert_eq!(cut("a\r\n\nb\u{2028}\0c\nd"), expected.map(|(at, line)| (at, line.to_owned())));
    }

    #[test]
    fn a_final_newline_starts_no_line() {
        assert_eq!(cut(""), []);
        assert_eq!(cut("\n"), [(0, String::new())]);
        assert_eq!(cut("a\n"), [(0, "a".to_owned())]);
    }

    #[test]
    fn a_character_across_two_texts_is_two_bad_texts() {
        let rules = RecordRules { replace: false, null_as_empty: false, max_document_bytes: 100 };
        let texts = LargeBinaryArray::from(vec![&b"a\xc3"[..], b"\xa9b"]);
        assert_eq!(all_fit(&texts, &rules), None);
        let whole = LargeBinaryArray::from(vec![&b"\xc3\xa9"[..], b"", b"b"]);
        assert_eq!(all_fit(&whole, &rules), Some(Marks { empty: 1, mended: 0, not_nfc: 0 }));
    }
}
