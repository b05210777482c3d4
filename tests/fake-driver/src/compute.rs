//! The kernels that compute, each done in its plainest way on the device's memory: another way to the same
//! results than the kernels' own, and than that of the checks.

use std::ffi::{CStr, c_void};

use crate::code::{Answer, INVALID_VALUE};
use crate::flow::Direction;
use crate::{actor, context, faults, memory, moving, traffic};

/// Their names, in the order of their numbers.
pub const NAMES: [&CStr; 22] = [
    c"numabench_clear",
    c"numabench_triad",
    c"numabench_reduce",
    c"numabench_scan",
    c"numabench_stencil",
    c"numabench_spmv",
    c"numabench_sort_clear",
    c"numabench_sort_count",
    c"numabench_sort_begin",
    c"numabench_sort_pass",
    c"numabench_sgemm",
    c"numabench_dgemm",
    c"numabench_fft",
    c"numabench_fft_double",
    c"numabench_md",
    c"numabench_md_double",
    c"numabench_jacobi",
    c"numabench_jacobi_double",
    c"numabench_pieces",
    c"numabench_moving_write",
    c"numabench_moving_read",
    c"numabench_moving_add",
];
/// How many parameters each has.
const PARAMETERS: [usize; 22] = [2, 4, 5, 3, 4, 6, 2, 3, 1, 7, 4, 4, 2, 2, 4, 4, 7, 7, 8, 4, 3, 4];
/// The most that one has.
const MOST: usize = 8;
/// Keys of a tile, and numbers of one.
const TILE: usize = 4096;

/// A launch.
#[derive(Clone, Copy)]
pub struct Launch {
    device: usize,
    kernel: usize,
    blocks: usize,
    words: [u64; MOST],
}

impl Launch {
    /// A launch with these parameters; its first must be an address in the device's memory.
    pub unsafe fn new(
        device: usize,
        kernel: usize,
        blocks: u32,
        parameters: *mut *mut c_void,
    ) -> Answer<Self> {
        let count = *PARAMETERS.get(kernel).ok_or(INVALID_VALUE)?;
        let mut words = [0; MOST];
        for (at, word) in words.iter_mut().enumerate().take(count) {
            *word = unsafe { *(*parameters.add(at)).cast::<u64>() };
        }
        let launch = Self { device, kernel, blocks: blocks as usize, words };
        let is_reached = kernel < 19 || moving::is_reached(device, words[1] as usize, 16 * words[2] as usize);
        let is_there = is_reached && memory::device_of(words[0] as usize, 4) == Some(device);
        if is_there { Ok(launch) } else { Err(INVALID_VALUE) }
    }

    /// Does it, and returns when that has taken its time.
    pub fn run(&self) {
        if context::alive(self.device).is_err() {
            return;
        }
        let name = NAMES[self.kernel].to_str().unwrap_or_default();
        let (is_wrong, hangs) = faults::computing(name);
        if hangs {
            actor::wait(0, None, || false);
        }
        let result = self.compute();
        if is_wrong {
            let middle = unsafe { &mut *((result.0 + result.1 / 2 / 4 * 4) as *mut u32) };
            *middle ^= 0x4100_0000;
        }
        traffic::compute(self.device, name, self.blocks);
    }

    /// So many numbers from the address in this parameter on.
    fn slice<T>(&self, parameter: usize, len: usize) -> &'static mut [T] {
        unsafe { std::slice::from_raw_parts_mut(self.words[parameter] as *mut T, len) }
    }

    fn number(&self, parameter: usize) -> usize {
        self.words[parameter] as usize
    }

    /// Where the result is, and its bytes.
    fn compute(&self) -> (usize, usize) {
        match self.kernel {
            0 | 6 => {
                self.slice::<u32>(0, 4 * self.number(1)).fill(0);
                (self.number(0), 16 * self.number(1))
            }
            1 => {
                let len = 4 * self.number(3);
                let (a, b) = (self.slice::<f32>(0, len), self.slice::<f32>(1, len));
                self.slice::<f32>(2, len)
                    .iter_mut()
                    .zip(a)
                    .zip(b)
                    .for_each(|((c, a), b)| *c = *a + 1.75 * *b);
                (self.number(2), 4 * len)
            }
            2 => {
                let sum: f64 =
                    self.slice::<f32>(0, 4 * self.number(1)).iter().map(|number| f64::from(*number)).sum();
                self.slice::<f32>(4, 1)[0] = sum as f32;
                (self.number(4), 4)
            }
            3 => {
                let len = self.blocks * TILE;
                let mut sum = 0.0;
                for (to, from) in self.slice::<f32>(1, len).iter_mut().zip(self.slice::<f32>(0, len)) {
                    sum += *from;
                    *to = sum;
                }
                (self.number(1), 4 * len)
            }
            4 => self.stencil(),
            5 => {
                let rows = self.number(5);
                let starts = self.slice::<u32>(2, rows + 1);
                let numbers = starts[rows] as usize;
                let (values, columns) = (self.slice::<f32>(0, numbers), self.slice::<u32>(1, numbers));
                let vector = self.slice::<f32>(3, rows);
                for (row, to) in self.slice::<f32>(4, rows).iter_mut().enumerate() {
                    let row = starts[row] as usize..starts[row + 1] as usize;
                    *to = row.map(|at| values[at] * vector[columns[at] as usize]).sum();
                }
                (self.number(4), 4 * rows)
            }
            7 => {
                let counts = self.slice::<u32>(2, 1024);
                for key in self.slice::<u32>(0, TILE * self.number(1)) {
                    (0..4).for_each(|pass| counts[256 * pass + (*key >> (8 * pass)) as usize % 256] += 1);
                }
                (self.number(2), 4096)
            }
            8 => {
                for pass in self.slice::<u32>(0, 256 * self.blocks).chunks_mut(256) {
                    let mut begin = 0;
                    pass.iter_mut().for_each(|count| begin += std::mem::replace(count, begin));
                }
                (self.number(0), 1024 * self.blocks)
            }
            9 => {
                let len = self.blocks * TILE;
                let mut next = self.slice::<u32>(4, 256).to_vec();
                let (keys, values) = (self.slice::<u32>(0, len), self.slice::<u32>(1, len));
                let (to_keys, to_values) = (self.slice::<u32>(2, len), self.slice::<u32>(3, len));
                for (key, value) in keys.iter().zip(values) {
                    let at = &mut next[(*key >> self.words[6]) as usize % 256];
                    (to_keys[*at as usize], to_values[*at as usize]) = (*key, *value);
                    *at += 1;
                }
                (self.number(2), 4 * len)
            }
            10 => self.gemm::<f32>(),
            11 => self.gemm::<f64>(),
            12 => self.fft::<f32>(),
            13 => self.fft::<f64>(),
            14 => self.md::<f32>(),
            15 => self.md::<f64>(),
            16 => self.jacobi::<f32>(),
            17 => self.jacobi::<f64>(),
            18 => self.pieces(),
            _ => self.moving(),
        }
    }

    /// Words that grow by one step, written, summed and added to, once they are with the device.
    fn moving(&self) -> (usize, usize) {
        const GROWS: u64 = 0x9e37_79b9_7f4a_7c15;
        let (start, words, number) =
            (self.number(1), self.slice::<u64>(1, 2 * self.number(2)), self.words[3]);
        moving::comes(self.device, start, 8 * words.len());
        let result = match self.kernel {
            19 => {
                (0_u64..)
                    .zip(&mut *words)
                    .for_each(|(at, word)| *word = at.wrapping_mul(GROWS).wrapping_add(number));
                (start, 8 * words.len())
            }
            20 => {
                let weighted =
                    (1_u64..).step_by(2).zip(&*words).map(|(weight, word)| weight.wrapping_mul(*word));
                let sums = self.slice::<u64>(0, self.blocks);
                sums.fill(0);
                sums[0] = weighted.fold(0, u64::wrapping_add);
                (self.number(0), 8)
            }
            _ => {
                words.iter_mut().for_each(|word| *word = word.wrapping_add(number));
                (start, 8 * words.len())
            }
        };
        moving::stays(start);
        result
    }

    /// Each piece by itself, in the time of a copy of all of them.
    fn pieces(&self) -> (usize, usize) {
        let [piece, pieces, area_step, other_step, slots] = [2, 3, 4, 5, 6].map(|at| self.number(at));
        let (area, other, to_area) = (self.number(0), self.number(1), self.number(7) != 0);
        let mut last = 0;
        for number in 0..pieces {
            let (in_area, in_other) =
                (area + number * area_step % slots * piece, other + number * other_step % slots * piece);
            let (to, from) = if to_area { (in_area, in_other) } else { (in_other, in_area) };
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, piece) };
            last = to;
        }
        let within = memory::device_of(other, piece) == Some(self.device);
        let direction = match to_area {
            _ if within => Direction::Within,
            true => Direction::ToDevice,
            false => Direction::ToHost,
        };
        traffic::carry(self.device, direction, piece * pieces);
        (last, piece)
    }

    fn stencil(&self) -> (usize, usize) {
        let (width, height) = (self.number(2), self.number(3));
        let (from, to) = (self.slice::<f32>(0, width * height), self.slice::<f32>(1, width * height));
        for row in 0..height {
            for column in 0..width {
                let at = row * width + column;
                let border = row == 0 || column == 0 || row + 1 == height || column + 1 == width;
                to[at] = if border {
                    from[at]
                } else {
                    let sides = from[at - 1] + from[at + 1] + from[at - width] + from[at + width];
                    let above = from[at - width - 1] + from[at - width + 1];
                    let below = from[at + width - 1] + from[at + width + 1];
                    0.25 * from[at] + 0.15 * sides + 0.05 * (above + below)
                };
            }
        }
        (self.number(1), 4 * width * height)
    }

    fn gemm<T: Real>(&self) -> (usize, usize) {
        let n = self.number(3);
        // A block has a tile of C of 128 by 128.
        let rows = self.blocks * 128 / n * 128;
        let (a, b, c) =
            (self.slice::<T>(0, rows * n), self.slice::<T>(1, n * n), self.slice::<T>(2, rows * n));
        c.fill(T::of(0.0));
        for (a, c) in a.chunks(n).zip(c.chunks_mut(n)) {
            for (a, b) in a.iter().zip(b.chunks(n)) {
                c.iter_mut().zip(b).for_each(|(c, b)| *c = T::of(c.value() + a.value() * b.value()));
            }
        }
        (self.number(2), size_of::<T>() * rows * n)
    }

    fn fft<T: Real>(&self) -> (usize, usize) {
        const POINTS: usize = 512;
        let len = 2 * self.blocks * POINTS;
        let (from, to) = (self.slice::<[T; 2]>(0, len), self.slice::<[T; 2]>(1, len));
        let root = |at: usize| (-2.0 * std::f64::consts::PI * at as f64 / POINTS as f64).sin_cos();
        let roots: Vec<(f64, f64)> = (0..POINTS / 2).map(root).collect();
        for (from, to) in from.chunks(POINTS).zip(to.chunks_mut(POINTS)) {
            let mut points = [[0.0; 2]; POINTS];
            from.iter()
                .zip(&mut points)
                .for_each(|(from, point)| *point = [from[0].value(), from[1].value()]);
            transform(&mut points, &roots);
            to.iter_mut().zip(points).for_each(|(to, point)| *to = point.map(T::of));
        }
        (self.number(1), 2 * size_of::<T>() * len)
    }

    /// Rows from one field to the other, whose first inner cells the first two parameters are; sums are
    /// rounded as the precision has them.
    fn jacobi<T: Real>(&self) -> (usize, usize) {
        let size = size_of::<T>();
        let (pitch, columns, first, last) = (self.number(2), self.number(3), self.number(4), self.number(5));
        let at = |parameter: usize, row: usize, column: usize| {
            (self.words[parameter] as *mut T).wrapping_add(row.wrapping_mul(pitch).wrapping_add(column))
        };
        let read = |row: usize, column: usize| unsafe { *at(0, row, column) };
        let sum = |one: T, other: T| T::of(one.value() + other.value());
        let mut most = 0.0_f64;
        for row in first..last {
            for column in 0..columns {
                let up_down = sum(read(row.wrapping_sub(1), column), read(row + 1, column));
                let sides = sum(read(row, column.wrapping_sub(1)), read(row, column + 1));
                let becomes = T::of(0.25 * sum(up_down, sides).value());
                most = most.max(T::of(becomes.value() - read(row, column).value()).value().abs());
                unsafe { *at(1, row, column) = becomes };
            }
        }
        let kept = self.slice::<T>(6, 1);
        kept[0] = T::of(most.max(kept[0].value()));
        (at(1, first, 0) as usize, size * columns)
    }

    fn md<T: Real>(&self) -> (usize, usize) {
        let atoms = self.number(3);
        let (positions, list) = (self.slice::<[T; 4]>(0, atoms), self.slice::<u32>(1, 128 * atoms));
        for (atom, to) in self.slice::<[T; 4]>(2, atoms).iter_mut().enumerate() {
            let mut force = [0.0; 3];
            for other in &list[128 * atom..128 * (atom + 1)] {
                let apart = [0, 1, 2]
                    .map(|axis| positions[atom][axis].value() - positions[*other as usize][axis].value());
                let square: f64 = apart.iter().map(|along| along * along).sum();
                if square < 16.0 {
                    let six = square.powi(-3);
                    (0..3).for_each(|axis| force[axis] += apart[axis] * six * (1.5 * six - 2.0) / square);
                }
            }
            *to = [T::of(force[0]), T::of(force[1]), T::of(force[2]), T::of(0.0)];
        }
        (self.number(2), 4 * size_of::<T>() * atoms)
    }
}

/// A precision.
trait Real: Copy + 'static {
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn value(self) -> f64 {
        self
    }
}

/// Transforms a power of two of points in their place, by halves of which one has those with even numbers and
/// one those with odd ones; `roots`: sine and cosine of the first half of the unit's roots.
fn transform(points: &mut [[f64; 2]], roots: &[(f64, f64)]) {
    let len = points.len();
    for at in 0..len {
        let other = at.reverse_bits() >> (usize::BITS - len.ilog2());
        if at < other {
            points.swap(at, other);
        }
    }
    for half in (0..len.ilog2()).map(|power| 1 << power) {
        for both in points.chunks_mut(2 * half) {
            let (even, odd) = both.split_at_mut(half);
            for (k, (one, other)) in even.iter_mut().zip(odd).enumerate() {
                let (sin, cos) = roots[k * (len / 2 / half)];
                let turned = [other[0] * cos - other[1] * sin, other[0] * sin + other[1] * cos];
                *other = [one[0] - turned[0], one[1] - turned[1]];
                *one = [one[0] + turned[0], one[1] + turned[1]];
            }
        }
    }
}
