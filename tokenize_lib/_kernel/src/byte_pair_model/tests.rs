use super::*;

/// Tokens of bytes and these strings, ids in this order.
fn ranks(strings: &[&str]) -> BytePairModel {
    let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
    let tokens: Vec<&[u8]> = bytes.iter().map(|byte| &byte[..]).chain(strings.iter().map(|s| s.as_bytes())).collect();
    let tokens = ByteStrings::new(tokens.into_iter().map(Some)).unwrap();
    BytePairModel::from_ranks(tokens, std::array::from_fn(|byte| byte as u32)).unwrap()
}

fn encoded(model: &BytePairModel, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    let mut scratch = Scratch::default();
    model.encode(text.as_bytes(), &mut scratch, &mut ids);
    assert_eq!(model.count(text.as_bytes(), &mut scratch), ids.len());
    ids
}

/// tiktoken's rule, word for word.
fn naive(model: &BytePairModel, text: &str) -> Vec<u32> {
    if let Some(id) = model.tokens.id_of(text.as_bytes()) {
        return vec![id];
    }
    let mut parts: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    let join = |left: &[u8], right: &[u8]| [left, right].concat();
    loop {
        let pairs = parts.windows(2).enumerate();
        let ranked = pairs.filter_map(|(at, pair)| Some((model.tokens.id_of(&join(pair[0], pair[1]))?, at)));
        let Some((id, at)) = ranked.min() else {
            return parts.iter().map(|part| model.tokens.id_of(part).unwrap()).collect();
        };
        parts[at] = model.tokens.get(id);
        parts.remove(at + 1);
    }
}

#[test]
fn a_token_no_merge_leads_to_is_still_a_whole_pretoken() {
    let model = ranks(&["bc", "abcd", "ab"]);
    assert_eq!(encoded(&model, "abcd"), [257]);
    assert_eq!(encoded(&model, "xabcd"), [b'x'.into(), b'a'.into(), 256, b'd'.into()]);
}

#[test]
fn short_and_long_pretokens_merge_as_tiktoken_does() {
    let model = ranks(&["aa", "ab", "ba", "aab", "aaaa", "bab", "abab", "baba", "aabab", "ababab", "bb", "aaa"]);
    let mut state = 1_u64;
    for length in 0..300 {
        let text: String = (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if state >> 62 == 0 { 'b' } else { 'a' }
            })
            .collect();
        assert_eq!(encoded(&model, &text), naive(&model, &text), "{text}");
    }
}

#[test]
fn merges_go_by_their_place_in_the_list() {
    let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
    let tokens = || bytes.iter().map(|byte| &byte[..]).chain([&b"ab"[..], b"bc", b"abc"]).collect::<Vec<_>>();
    let model = |merges: &[(u32, u32, u32)], whole| {
        let tokens = ByteStrings::new(tokens().into_iter().map(Some)).unwrap();
        let byte_ids = std::array::from_fn(|byte| if byte == usize::from(b'-') { NO_SYMBOL } else { byte as u32 });
        BytePairModel::from_merges(tokens, merges.iter().copied(), byte_ids, whole).unwrap()
    };
    let [a, b, c] = [b'a', b'b', b'c'].map(u32::from);
    assert_eq!(encoded(&model(&[(b, c, 257), (a, b, 256)], false), "abc"), [a, 257]);
    assert_eq!(encoded(&model(&[(a, b, 256), (b, c, 257)], false), "abc"), [256, c]);
    assert_eq!(encoded(&model(&[(a, b, 256)], true), "abc"), [258]);
    // A byte without a symbol is left out, and its neighbours meet.
    assert_eq!(encoded(&model(&[(a, b, 256)], false), "a-b"), [256]);
}
