use super::*;

const SYNTAX: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    " ",
    "\t",
    "\r",
    "\"text\"",
    "\"id\"",
    "\"a\":{\"b\":",
    "\"te\\u0078t\"",
    "\"x\"",
    "{\"text\":\"y\"}",
    "[1,[]]",
    "{}",
    "\u{1}",
    "é",
    "1",
    "01",
    "1.",
    "null",
    "nul",
];
const WORDS: &[&str] = &[
    "word ",
    "é",
    "ភាសា",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\t\\r\\b\\f",
    "\\u00e9",
    "\\u17D2",
    "\\ud83d\\ude00",
    "\u{7F}",
    "a longer piece of text, of more than a window of sixty-four bytes at a time, without any escape",
];
const ODD_WORDS: &[&str] = &["\\ud83d", "\\udc00", "\\ud83d\\u0041", "\\x", "\\u12", "\\u12g4", "\t", "\\"];
const SCALARS: &[&str] = &["1", "-0.5e3", "true", "false", "null", "0"];

/// Numbers that look random, from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn of(&mut self, pieces: &[&'static str]) -> &'static str {
        pieces[self.below(pieces.len())]
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth < 3 { 8 } else { 6 }) {
            0 => self.of(SCALARS).to_owned(),
            1..6 => {
                let is_odd = self.below(6) == 0;
                let words: Vec<&str> = (0..self.below(12)).map(|_| self.of(WORDS)).collect();
                format!("\"{}{}\"", words.concat(), if is_odd { self.of(ODD_WORDS) } else { "" })
            }
            6 => format!("[{}, {}]", self.value(depth + 1), self.value(depth + 1)),
            _ => self.object(depth + 1),
        }
    }

    fn object(&mut self, depth: usize) -> String {
        let keys = ["\"text\"", "\"text\"", "\"id\"", "\"a\"", "\"a.b\"", "\"other\"", "\"\"", "\"te\\u0078t\""];
        let members: Vec<String> =
            (0..self.below(5)).map(|_| format!("{}:{}", keys[self.below(keys.len())], self.value(depth))).collect();
        format!("{{{}}}", members.join(if self.below(2) == 0 { "," } else { " , " }))
    }

    fn record(&mut self) -> String {
        let mut record =
            if self.below(8) == 0 { (0..self.below(12)).map(|_| self.of(SYNTAX)).collect() } else { self.object(0) };
        if self.below(4) == 0 {
            let places: Vec<usize> = record.char_indices().map(|(at, _)| at).chain([record.len()]).collect();
            record.insert_str(places[self.below(places.len())], self.of(SYNTAX));
        }
        record
    }
}

/// What `serde_json` makes of each record alone: the text and the kept fields, or none.
type Outcome = Option<(Vec<u8>, Vec<Option<String>>)>;

fn kept(reader: &RecordReader) -> Vec<Option<String>> {
    reader.fields().map(|value| value.map(str::to_owned)).collect()
}

/// Reads both ways; gives how many records the quick way read.
fn agrees(records: &[String], fields: &[&str]) -> usize {
    let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    let rules = RecordRules { replace: false, null_as_empty: true, max_document_bytes: 1 << 20 };
    let block = records.join("\n");
    let (mut reader, mut plain) = (RecordReader::new(&fields, &rules), PlainReader::new(block.as_bytes()));
    let mut read_quickly = 0;
    for (start, line) in lines(block.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap();
        let expected: Outcome =
            reader.read(line.trim_end_matches(is_space)).ok().map(|()| (reader.text().to_vec(), kept(&reader)));
        let mut text = b"before".to_vec();
        if reader.read_plain(&mut plain, start..start + line.len(), &mut text).is_some() {
            assert_eq!(Some((text[6..].to_vec(), kept(&reader))), expected, "{line:?}");
            assert!(std::str::from_utf8(&text).is_ok() && text.starts_with(b"before"), "{line:?}");
            assert!(!reader.is_mended());
            read_quickly += 1;
        }
    }
    read_quickly
}

#[test]
fn the_quick_way_reads_what_serde_json_reads() {
    let mut chance = Chance(1);
    let records: Vec<String> = (0..10_000).map(|_| chance.record()).collect();
    for fields in [&["text"][..], &["text", "id"], &["a.b", "a"], &["a", "id", "other"]] {
        let read_quickly = agrees(&records, fields);
        assert!(read_quickly > 200, "{fields:?}: {read_quickly}");
    }
    assert_eq!(agrees(&records, &["text", "text"]), 0);
}

#[test]
fn common_records_are_read_the_quick_way() {
    for padding in 0..140 {
        let text = format!("{}\\n\\\"é\\u00e9\\ud83d\\ude00{}\\\\", "x".repeat(padding), "y".repeat(140 - padding));
        let record =
            format!("{{\"id\": -1.5e3, \"meta\": {{\"a\": [1, \"\\u12ab\", null]}}, \"text\": \"{text}\"}} \r");
        assert_eq!(agrees(&[record.clone(), String::new(), record], &["text", "id"]), 2, "{padding}");
    }
}

#[test]
fn the_last_of_a_key_wins_and_halves_of_characters_are_left_to_serde_json() {
    assert_eq!(agrees(&[r#"{"text":"one","text":"two"}"#.to_owned()], &["text"]), 1);
    for left in
        [r#"{"text":"\ud83d"}"#, r#"{"text":"\ud83d\u0041"}"#, r#"{"te\u0078t":"a"}"#, r#"{"text":1}"#, "[]", "{}"]
    {
        assert_eq!(agrees(&[left.to_owned()], &["text"]), 0, "{left}");
    }
}
