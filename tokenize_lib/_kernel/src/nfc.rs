//! Which documents are in Unicode's composed form (NFC, Unicode Standard Annex 15), told at a small part of what
//! counting costs.
//!
//! A character is *stable* if it may stand in NFC anywhere and has no combining class: nothing before it reaches
//! into it or past it. So a text is NFC if each run of characters that are not stable is, seen with the one stable
//! character before it. Most scripts have few such runs, and their commonest kinds are judged without normalizing.

use std::sync::LazyLock;

use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical};
use unicode_normalization::{IsNormalized, is_nfc, is_nfc_quick};

use crate::windows::{WIDTH, below, decode, length_beyond_ascii, within};

/// What keeps a character from being stable; in the table together with `DECOMPOSES`.
type Traits = u8;
/// Its combining class is not 0.
const REORDERS: Traits = 1;
/// It may compose with the character before it: NFC_Quick_Check is Maybe.
const COMPOSES: Traits = 1 << 1;
/// It never stands in NFC: NFC_Quick_Check is No.
const EXCLUDED: Traits = 1 << 2;
/// It has a canonical decomposition.
const DECOMPOSES: Traits = 1 << 3;

const UNSTABLE: Traits = REORDERS | COMPOSES | EXCLUDED;

const BLOCK_BITS: u32 = 7;
const BLOCK: usize = 1 << BLOCK_BITS;

/// The traits of all characters; a block of 128 characters that are all stable is kept once.
struct Table {
    block_of: Vec<u16>,
    blocks: Vec<[Traits; BLOCK]>,
    /// Which characters before U+10000 are unstable, 64 of them a number, as the last byte of their UTF-8 tells.
    unstable: Box<[u64; 1024]>,
}

impl Table {
    /// The one table of this process, built at its first use.
    fn get() -> &'static Self {
        static TABLE: LazyLock<Table> = LazyLock::new(Table::build);
        &TABLE
    }

    #[inline(always)]
    fn of(&self, character: char) -> Traits {
        let code = character as usize;
        self.blocks[self.block_of[code >> BLOCK_BITS] as usize][code & (BLOCK - 1)]
    }

    fn build() -> Self {
        let mut table = Self { block_of: Vec::new(), blocks: vec![[0; BLOCK]], unstable: Box::new([0; 1024]) };
        for first in (0..=char::MAX as u32).step_by(BLOCK) {
            let block = std::array::from_fn(|place| char::from_u32(first + place as u32).map_or(0, traits));
            if block != [0; BLOCK] {
                table.blocks.push(block);
            }
            table.block_of.push(if block == [0; BLOCK] { 0 } else { (table.blocks.len() - 1) as u16 });
        }
        for character in '\0'..='\u{FFFF}' {
            let (code, traits) = (character as usize, table.of(character));
            table.unstable[code >> 6] |= u64::from(traits & UNSTABLE != 0) << (code & 0x3F);
        }
        table
    }
}

fn traits(character: char) -> Traits {
    let mut traits = match is_nfc_quick(std::iter::once(character)) {
        IsNormalized::Yes => 0,
        IsNormalized::Maybe => COMPOSES,
        IsNormalized::No => EXCLUDED,
    };
    if canonical_combining_class(character) != 0 {
        traits |= REORDERS;
    }
    decompose_canonical(character, |part| traits |= if part == character { 0 } else { DECOMPOSES });
    traits
}

/// How many texts are not NFC. `offsets` are those of a large_binary array over `texts`, which is valid UTF-8.
pub fn count_not_nfc(texts: &[u8], offsets: &[i64]) -> usize {
    let place = |index: usize| offsets[index] as usize;
    let (first, last) = (place(0), place(offsets.len() - 1));
    let table = Table::get();
    let (mut count, mut document, mut judged) = (0, 0, first);
    for stretch in (first..last).step_by(STRETCH) {
        let stretch_end = last.min(stretch + STRETCH);
        if stretch_end <= judged || is_stable(&texts[stretch..stretch_end]) {
            continue;
        }
        for start in (stretch..stretch_end).step_by(WIDTH) {
            let mut suspects = suspects(&texts[start..last], table);
            while suspects != 0 {
                let at = start + suspects.trailing_zeros() as usize;
                suspects &= suspects - 1;
                if at < judged {
                    continue;
                }
                while place(document + 1) <= at {
                    document += 1;
                }
                let begin = place(document);
                judged = match nfc_run(&texts[begin..place(document + 1)], at - begin, table) {
                    Some(end) => begin + end,
                    None => {
                        count += 1;
                        place(document + 1)
                    }
                };
            }
        }
    }
    count
}

/// Bytes that are looked at together first: most texts have many such without a character that may be unstable.
const STRETCH: usize = 8 * WIDTH;

/// Without an early end, so that it is compiled to vector instructions.
fn is_stable(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |most, byte| most.max(*byte)) < FIRST_LEAD
}

/// Where in the first 64 bytes characters begin at which a run must be judged. Those that only reorder are no
/// suspects where they stand alone, as they do in most scripts.
#[inline(always)]
fn suspects(bytes: &[u8], table: &Table) -> u64 {
    let mut padded = [0; WIDTH + AHEAD];
    let window = match bytes.first_chunk() {
        Some(window) => window,
        None => {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded
        }
    };
    let Some(first) = window.first_chunk() else { return 0 };
    let leads = within(first, FIRST_LEAD, 0xFF);
    if leads == 0 { 0 } else { suspects_of(window, first, leads, table) }
}

/// Of U+0300: no character before it is unstable.
const FIRST_LEAD: u8 = 0xCC;

/// So many bytes behind a window still belong to its last character.
const AHEAD: usize = 4;

#[inline(always)]
fn suspects_of(window: &[u8; WIDTH + AHEAD], first: &[u8; WIDTH], leads: u64, table: &Table) -> u64 {
    // In U+0400–U+047F (Cyrillic) and U+4000–U+9FFF (CJK ideographs) all are stable.
    let leads = leads & !within(first, 0xD0, 0xD1) & !within(first, 0xE4, 0xE9);
    let long = within(first, 0xF0, 0xFF);
    let mut of_three = leads & within(first, 0xE0, 0xEF);
    let of_two = leads & !long & !of_three;
    let of_e1 = of_three & within(first, 0xE1, 0xE1);
    if of_e1 != 0 {
        // So they are in U+1780–U+17BF (Khmer letters) and U+1E00–U+1EFF (Vietnamese).
        of_three &= !(of_e1 & (within(first, 0x9E, 0x9E) | within(first, 0xB8, 0xBB)) >> 1);
    }
    let mut unstable = long;
    each(of_two, |at, bit| {
        let bits = table.unstable[usize::from(window[at] & 0x1F)];
        unstable |= bit & (bits >> (window[at + 1] & 0x3F) & 1).wrapping_neg();
    });
    each(of_three, |at, bit| {
        let bits = table.unstable[usize::from(window[at] & 0x0F) << 6 | usize::from(window[at + 1] & 0x3F)];
        unstable |= bit & (bits >> (window[at + 2] & 0x3F) & 1).wrapping_neg();
    });
    let (mut strict, mut found) = (0, 0);
    each(unstable, |at, bit| {
        let character = decode(&window[at..], length_beyond_ascii(window[at]));
        let traits = character.map_or(0, |character| table.of(character));
        found |= if traits & UNSTABLE != 0 { bit } else { 0 };
        strict |= if traits & (COMPOSES | EXCLUDED) != 0 || bit & long != 0 { bit } else { 0 };
    });
    let before_another = of_two & found & found >> 2 | of_three & found & found >> 3;
    let at_the_end = !below(WIDTH as u32 - 3);
    (strict | before_another | at_the_end) & found
}

/// Calls `visit` with each bit of a window's set, and with its place.
#[inline(always)]
fn each(mut set: u64, mut visit: impl FnMut(usize, u64)) {
    while set != 0 {
        visit(set.trailing_zeros() as usize % WIDTH, set & set.wrapping_neg());
        set &= set - 1;
    }
}

/// Judges the run that begins at `at`, of characters that are not stable. Gives its end if it is NFC.
fn nfc_run(text: &[u8], at: usize, table: &Table) -> Option<usize> {
    let begin = (0..at).rev().find(|place| text[*place] & 0xC0 != 0x80).unwrap_or(at);
    let before = (begin < at).then(|| std::str::from_utf8(&text[begin..at]).ok()?.chars().next()).flatten();
    let (mut end, mut length, mut all) = (at, 0, 0);
    let (mut last_class, mut is_ordered) = (0, true);
    let mut first = None;
    while end < text.len() && text[end] >= 0xCC {
        let bytes = length_beyond_ascii(text[end]);
        let Some(character) = decode(&text[end..], bytes) else { break };
        let traits = table.of(character);
        if traits & UNSTABLE == 0 {
            break;
        }
        let class = canonical_combining_class(character);
        is_ordered &= last_class <= class;
        last_class = class;
        first = first.or(Some(character));
        all |= traits;
        length += 1;
        end += bytes;
    }
    let is_fine = if all & EXCLUDED != 0 {
        false
    } else if all & COMPOSES == 0 {
        // All of them reorder, and none composes.
        is_ordered
    } else {
        match (before, first) {
            // A pair without parts composes, or stays as it is.
            (Some(before), Some(mark)) if length == 1 && (table.of(before) | all) & DECOMPOSES == 0 => {
                compose(before, mark).is_none()
            }
            _ => std::str::from_utf8(&text[begin..end]).is_ok_and(is_nfc),
        }
    };
    is_fine.then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts texts one after another and all as one array.
    fn agrees(texts: &[String]) {
        let mut offsets = vec![0];
        let (mut all, mut expected) = (String::new(), 0);
        for text in texts {
            all.push_str(text);
            offsets.push(all.len() as i64);
            let here = usize::from(!is_nfc(text));
            assert_eq!(count_not_nfc(text.as_bytes(), &[0, text.len() as i64]), here, "{:?}", text);
            expected += here;
        }
        assert_eq!(count_not_nfc(all.as_bytes(), &offsets), expected);
    }

    #[test]
    fn every_character_alone_and_those_with_traits_between_others() {
        agrees(&('\0'..=char::MAX).map(String::from).collect::<Vec<_>>());
        for before in ["a", "ê", "\u{1100}", "か", "\u{0302}", "\u{17D2}"] {
            for after in ["", "\u{0323}", "b"] {
                let special = ('\0'..=char::MAX).filter(|character| traits(*character) != 0);
                agrees(&special.map(|character| format!("{before}{character}{after}")).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn sequences_of_what_composes_and_reorders() {
        let characters = [
            "a",
            "ê",
            "ệ",
            "\u{0323}",
            "\u{0302}",
            "\u{0301}",
            "\u{0344}",
            "\u{1100}",
            "\u{1161}",
            "\u{11A8}",
            "가",
            "か",
            "\u{3099}",
            "\u{0915}",
            "\u{093C}",
            "\u{094D}",
            "\u{0928}",
            "\u{0E38}",
            "\u{0E48}",
            "\u{17D2}",
            "\u{0BC6}",
            "\u{0BBE}",
            "\u{212B}",
            "一",
            "д",
            "\u{110BA}",
            "\u{11099}",
            "\u{0F71}",
            "\u{0F72}",
            "\n",
        ];
        let mut texts = Vec::new();
        for one in characters {
            for two in characters {
                for three in characters {
                    for four in ["", "\u{0301}", "\u{0323}", "x"] {
                        texts.push(format!("{one}{two}{three}{four}"));
                    }
                }
            }
        }
        agrees(&texts);
    }

    #[test]
    fn a_run_across_windows_and_a_slice_of_an_array() {
        for padding in 55..70 {
            let text = format!("{}Vie\u{0323}\u{0302}t{}Việt", "x".repeat(padding), "y".repeat(padding));
            agrees(&[text.clone(), "Việt".into(), String::new(), text]);
        }
        let texts = "e\u{0301}Việte\u{0301}";
        assert_eq!(count_not_nfc(texts.as_bytes(), &[3, 9]), 0);
        assert_eq!(count_not_nfc(texts.as_bytes(), &[3, 9, 12]), 1);
        assert_eq!(count_not_nfc(b"", &[0]), 0);
    }
}
