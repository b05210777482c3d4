//! Changes that leave an hwloc file one: values take the place of others, lines (tags) come, go and move.
//!
//! Bytes changed at random make a file that hwloc refuses, nearly always; a wrong set, a second node of a
//! number or a bridge without its end reach what lies behind the reader. One change in four is libFuzzer's
//! own.

use libfuzzer_sys::fuzzer_mutate;

/// Numbers at the edges of types, of words of a mask and of what is usual.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2",
    "7",
    "31",
    "32",
    "63",
    "64",
    "255",
    "1023",
    "65535",
    "65536",
    "2147483647",
    "4294967295",
    "9223372036854775808",
    "18446744073709551615",
];
const TEXTS: [&str; 14] = [
    "",
    "\u{9b}31m",
    "\u{202e}",
    "a&#10;b&#9;c",
    "-1",
    "0xf...f",
    "0x0",
    "0-3,8",
    "bind:0-1",
    "Node 0 MemTotal: 1 kB",
    "GPUMemory",
    "0000:01:00.0",
    "0302 [10de:2330] [0000:0000] a1",
    "\u{1f98a}\u{fffd}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

/// As libFuzzer's custom mutators: changes `data`, of which the first `size` bytes count, and returns how
/// many do now.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut dice = Dice(u64::from(seed) << 1 | 1);
    let text = match std::str::from_utf8(&data[..size]) {
        Ok(text) if text.contains('"') && dice.of(4) > 0 => text,
        _ => return fuzzer_mutate(data, size, max_size),
    };
    let mut text = text.to_owned();
    for _ in 0..=dice.of(3) {
        text = changed(&text, &mut dice);
    }
    let changed = &text.as_bytes()[..text.len().min(max_size)];
    data[..changed.len()].copy_from_slice(changed);
    changed.len()
}

fn changed(text: &str, dice: &mut Dice) -> String {
    match dice.of(6) {
        0 => with_lines(text, dice, |lines, from, _| {
            lines.remove(from);
        }),
        1 => with_lines(text, dice, |lines, from, to| lines.insert(to, lines[from])),
        2 => with_lines(text, dice, |lines, from, to| lines.swap(from, to)),
        _ => with_value(text, dice),
    }
}

fn with_lines(text: &str, dice: &mut Dice, change: impl Fn(&mut Vec<&str>, usize, usize)) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let (from, to) = (dice.of(lines.len()), dice.of(lines.len()));
    change(&mut lines, from, to);
    lines.join("\n") + "\n"
}

/// With one attribute's value replaced, now and then by that of the same attribute elsewhere.
fn with_value(text: &str, dice: &mut Dice) -> String {
    let values: Vec<(&str, usize, usize)> = text
        .match_indices("=\"")
        .filter_map(|(at, _)| {
            let start = at + 2;
            let name = text[..at].rsplit(|c: char| c.is_whitespace()).next()?;
            Some((name, start, start + text[start..].find('"')?))
        })
        .collect();
    let Some((name, start, end)) = values.get(dice.of(values.len())).copied() else { return text.to_owned() };
    let alike: Vec<&str> = values.iter().filter(|value| value.0 == name).map(|value| &text[value.1..value.2]).collect();
    let value = match dice.of(5) {
        0 => NUMBERS[dice.of(NUMBERS.len())].to_owned(),
        1 => TEXTS[dice.of(TEXTS.len())].to_owned(),
        2 => format!("0x{:x}", 1_u32 << dice.of(32)),
        3 => format!("0x{:x},0x{:x}", dice.of(1 << 16), dice.of(1 << 16)),
        _ => alike[dice.of(alike.len())].to_owned(),
    };
    format!("{}{value}{}", &text[..start], &text[end..])
}

/// A small generator (xorshift64): the same seed gives the same change, as libFuzzer wants.
struct Dice(u64);

impl Dice {
    /// A number below `sides`; 0 of none.
    fn of(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides.max(1)
    }
}
