//! A radix sort of 32-bit keys with 32-bit values. A value is where its key was, so that the result shows
//! that nothing was lost and that equal keys kept their order.

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use crate::numbers::{bits, blocks};
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::{SORT, SORT_BEGIN, SORT_CLEAR, SORT_COUNT, SORT_PASS};

/// Keys that a block of the kernel has.
const TILE: usize = 4096;
const DIGITS: usize = 256;
const PASSES: usize = 4;

pub(crate) struct Sort {
    tiles: usize,
}

impl Sort {
    /// So many keys, or a few more.
    pub(crate) fn new(keys: usize) -> Self {
        Self { tiles: keys.div_ceil(TILE) }
    }

    fn keys(&self) -> usize {
        TILE * self.tiles
    }

    /// The words of one pass that are 0 before: a counter among four, and a word for each tile and digit.
    fn pass_words(&self) -> usize {
        4 + self.tiles * DIGITS
    }

    /// The words that are 0 before: how often each digit of each pass is met, and those of the passes.
    fn state_words(&self) -> usize {
        PASSES * DIGITS + PASSES * self.pass_words()
    }
}

impl Problem for Sort {
    fn layout(&self) -> Layout {
        let pairs = 8 * self.keys();
        Layout::new(pairs, pairs, pairs + 4 * self.state_words())
    }

    fn amount(&self) -> f64 {
        self.keys() as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Key
    }

    fn fill(&self, at: usize, part: &mut [u8]) {
        let (first, words) = (at / 4, cast_slice_mut::<u8, u32>(part));
        let (keys, values) = words.split_at_mut(self.keys().saturating_sub(first).min(words.len()));
        (first..).zip(keys).for_each(|(at, key)| *key = bits(0, at) as u32);
        (first.max(self.keys()) - self.keys()..).zip(values).for_each(|(at, value)| *value = at as u32);
    }

    fn program(&self) -> &'static KernelModule {
        &SORT
    }

    fn launches(&self) -> Vec<RoundStep> {
        let layout = self.layout();
        let column = 4 * self.keys();
        let counts = layout.scratch_at + 2 * column;
        let states = counts + 4 * PASSES * DIGITS;
        let fours = self.state_words() / 4;
        let mut steps = vec![
            RoundStep::Launch {
                kernel: SORT_CLEAR,
                blocks: blocks(fours),
                threads: 256,
                arguments: vec![Argument::Area(counts), Argument::Number(fours as u64)],
            },
            RoundStep::Launch {
                kernel: SORT_COUNT,
                blocks: self.tiles.min(1024) as u32,
                threads: 256,
                arguments: vec![
                    Argument::Area(0),
                    Argument::Number(self.tiles as u64),
                    Argument::Area(counts),
                ],
            },
            RoundStep::Launch {
                kernel: SORT_BEGIN,
                blocks: 4,
                threads: 256,
                arguments: vec![Argument::Area(counts)],
            },
        ];

        // From the input, which stays as it is, and then to and fro between two places, so that the last pass
        // ends in the result.
        let (output, other) = (layout.output_at, layout.scratch_at);

        for (pass, [from, to]) in
            [[0, other], [other, output], [output, other], [other, output]].into_iter().enumerate()
        {
            steps.push(RoundStep::Launch {
                kernel: SORT_PASS,
                blocks: self.tiles as u32,
                threads: 256,
                arguments: vec![
                    Argument::Area(from),
                    Argument::Area(from + column),
                    Argument::Area(to),
                    Argument::Area(to + column),
                    Argument::Area(counts + 4 * DIGITS * pass),
                    Argument::Area(states + 4 * self.pass_words() * pass),
                    Argument::Number(8 * pass as u64),
                ],
            });
        }
        steps
    }

    fn compute(&self, input: &[u8], output: &mut [u8], scratch: &mut [u8]) {
        let other = &mut cast_slice_mut::<u8, u32>(scratch)[..2 * self.keys()];
        let output = cast_slice_mut::<u8, u32>(output);
        pass(cast_slice(input), other, 0);
        pass(other, output, 8);
        pass(output, other, 16);
        pass(other, output, 24);
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let (before, _) = cast_slice::<u8, u32>(input).split_at(self.keys());
        let (keys, values) = cast_slice::<u8, u32>(output).split_at(self.keys());
        let mut last = None;
        for (at, pair) in keys.iter().copied().zip(values.iter().copied()).enumerate() {
            let (key, value) = pair;
            let wrong = |expected: u32| WrongNumber {
                offset: 4 * at,
                expected: f64::from(expected),
                got: f64::from(key),
                allowed: 0.0,
            };
            // Rising pairs are all different, and each is one of the input's: so they are all of it.
            match before.get(value as usize) {
                Some(own) if *own != key => return Err(wrong(*own)),
                None => return Err(wrong(0)),
                _ if last.is_some_and(|last| last >= pair) => {
                    return Err(wrong(last.map_or(0, |(key, _)| key)));
                }
                _ => last = Some(pair),
            }
        }

        Ok(())
    }
}

/// One pass over a digit: keys and behind them their values, from one place to another.
fn pass(from: &[u32], to: &mut [u32], shift: u32) {
    let digit = |key: u32| (key >> shift) as usize % DIGITS;
    let (keys, values) = from.split_at(from.len() / 2);
    let (to_keys, to_values) = to.split_at_mut(keys.len());
    let mut next = [0_usize; DIGITS];
    keys.iter().for_each(|key| next[digit(*key)] += 1);
    let mut begin = 0;
    for count in &mut next {
        begin += std::mem::replace(count, begin);
    }
    for (key, value) in keys.iter().zip(values) {
        let at = &mut next[digit(*key)];
        to_keys[*at] = *key;
        to_values[*at] = *value;
        *at += 1;
    }
}
