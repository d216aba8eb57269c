//! The longest token that a text begins with: a double-array trie (Aoe 1989), one memory access a byte.

const ROOT: u32 = 0;
const NOBODY: u32 = u32::MAX;
/// No token ends at this node.
const NO_TOKEN: u32 = u32::MAX;
/// So many free nodes are tried as places for a node's children before new ones are added.
const TRIALS: usize = 16;
const BLOCK: usize = 256;

/// Set in `base` where a token ends.
const IS_TOKEN: u32 = 1 << 31;

/// The child of node `n` by byte `b` is `base ^ b`, if its parent is `n`.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    base: u32,
}

pub struct Trie {
    nodes: Vec<Node>,
    /// The token that ends at each node.
    tokens: Vec<u32>,
    /// For each token the longest token that is a part of it from its start, shorter than itself.
    shorter: Vec<u32>,
}

impl Trie {
    /// `tokens` are not empty and differ from each other; their ids are less than `ids`.
    pub fn new(mut tokens: Vec<(&[u8], u32)>, ids: usize) -> Self {
        tokens.sort_unstable();
        let mut places = Places::new();
        places.take(ROOT, NOBODY);
        let mut shorter = vec![NO_TOKEN; ids];
        // Node, its depth, its tokens, and the longest token on the way there.
        let mut open = vec![(ROOT, 0, 0..tokens.len(), NO_TOKEN)];
        let mut children = Vec::new();
        while let Some((node, depth, mut range, mut longest)) = open.pop() {
            if let Some((token, id)) = tokens.get(range.start)
                && token.len() == depth
            {
                places.tokens[node as usize] = *id;
                places.nodes[node as usize].base |= IS_TOKEN;
                shorter[*id as usize] = longest;
                longest = *id;
                range.start += 1;
            }
            children.clear();
            let mut start = range.start;
            while start < range.end {
                let byte = tokens[start].0[depth];
                let length = tokens[start..range.end].partition_point(|(token, _)| token[depth] == byte);
                children.push((byte, start..start + length));
                start += length;
            }
            if children.is_empty() {
                continue;
            }
            let base = places.base_for(children.iter().map(|&(byte, _)| byte));
            places.nodes[node as usize].base |= base;
            for (byte, range) in children.drain(..).rev() {
                let child = base ^ u32::from(byte);
                places.take(child, node);
                open.push((child, depth + 1, range, longest));
            }
        }
        Self { nodes: places.nodes, tokens: places.tokens, shorter }
    }

    /// The longest token that these bytes begin with.
    #[inline]
    pub fn longest(&self, bytes: &[u8]) -> Option<u32> {
        let mut node = ROOT;
        let mut base = self.nodes[ROOT as usize].base;
        let mut longest = ROOT;
        for &byte in bytes {
            let child = base & !IS_TOKEN ^ u32::from(byte);
            let read = self.nodes[child as usize];
            if read.parent != node {
                break;
            }
            (node, base) = (child, read.base);
            longest = if base & IS_TOKEN != 0 { node } else { longest };
        }
        let token = self.tokens[longest as usize];
        (token != NO_TOKEN).then_some(token)
    }

    /// The longest token shorter than this one that it begins with.
    #[inline]
    pub fn shorter(&self, token: u32) -> Option<u32> {
        let shorter = self.shorter[token as usize];
        (shorter != NO_TOKEN).then_some(shorter)
    }
}

/// The nodes while they are placed; free ones are a ring.
struct Places {
    nodes: Vec<Node>,
    tokens: Vec<u32>,
    next_free: Vec<u32>,
    previous_free: Vec<u32>,
    /// Some free node.
    free: u32,
}

impl Places {
    fn new() -> Self {
        let mut places = Self {
            nodes: Vec::new(),
            tokens: Vec::new(),
            next_free: Vec::new(),
            previous_free: Vec::new(),
            free: NOBODY,
        };
        places.add_block();
        places
    }

    /// 256 more free nodes, to be tried first.
    fn add_block(&mut self) {
        let first = self.nodes.len() as u32;
        let last = first + BLOCK as u32 - 1;
        self.nodes.extend([Node { parent: NOBODY, base: ROOT }; BLOCK]);
        self.tokens.extend([NO_TOKEN; BLOCK]);
        self.next_free.extend(first + 1..=last + 1);
        self.previous_free.extend((first..=last).map(|place| place.wrapping_sub(1)));
        let (before, after) = match self.free {
            NOBODY => (last, first),
            free => (self.previous_free[free as usize], free),
        };
        self.previous_free[first as usize] = before;
        self.next_free[before as usize] = first;
        self.next_free[last as usize] = after;
        self.previous_free[after as usize] = last;
        self.free = first;
    }

    fn is_free(&self, place: u32) -> bool {
        self.nodes[place as usize].parent == NOBODY && place != ROOT
    }

    /// A base by which children of these bytes fall on free nodes.
    fn base_for(&mut self, bytes: impl Iterator<Item = u8> + Clone) -> u32 {
        let first = bytes.clone().next().unwrap_or_default();
        let mut place = self.free;
        if place != NOBODY {
            for _ in 0..TRIALS {
                let base = place ^ u32::from(first);
                if bytes.clone().all(|byte| self.is_free(base ^ u32::from(byte))) {
                    return base;
                }
                place = self.next_free[place as usize];
            }
        }
        self.add_block();
        self.free // the first of a block: the others differ from it in their low 8 bits
    }

    fn take(&mut self, place: u32, parent: u32) {
        self.nodes[place as usize].parent = parent;
        let (before, after) = (self.previous_free[place as usize], self.next_free[place as usize]);
        if after == place {
            self.free = NOBODY;
            return;
        }
        self.next_free[before as usize] = after;
        self.previous_free[after as usize] = before;
        if self.free == place {
            self.free = after;
        }
    }
}
