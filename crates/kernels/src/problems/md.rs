//! Lennard-Jones forces between atoms, with SHOC's constants and count: eight operations for each neighbour,
//! thirteen more for each within the distance 4.
//!
//! The atoms stand near the points of a cubic lattice, in the lattice's order, at SHOC's density; each one's
//! neighbours are its 128 nearest points, which go on at the other side where the lattice ends: those are far
//! off and do not count, unless the lattice is small. So the list costs nothing to make, and neighbours lie
//! near each other in memory, as programs sort them.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use super::real::Real;
use crate::numbers::signed;
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::MD;

const NEIGHBOURS: usize = 128;
/// Between points of the lattice: about 42 points on the edge of 20 of SHOC's largest problem, 73,728 atoms.
const SPACING: f64 = 0.476;
/// An atom stands within this part of the spacing of its point.
const OFF: f64 = 0.1;
const CUT_SQUARE: f64 = 16.0;
/// From this side on neighbours that go on at the other side are beyond the distance: offsets reach 3, so
/// that they are 9 spacings away or more, 4.19 after what two atoms are off their points.
const LARGE_SIDE: usize = 12;
/// A force may differ by so many ε of the sum of the sizes that it is made of: 28 are the most that rounding
/// of distance, inverse and powers makes of a number, for
/// the result and for what it is compared with.
const ALLOWED: f64 = 64.0;

pub(crate) struct Md<T> {
    side: usize,
    /// The nearest points of the lattice, from one of them.
    offsets: Vec<[isize; 3]>,
    /// Pairs of an atom and a neighbour within the distance.
    pairs: usize,
    real: PhantomData<T>,
}

impl<T: Real> Md<T> {
    /// A cube of this side.
    pub(crate) fn new(side: usize) -> Self {
        let span = || -4..=4_isize;
        let mut offsets: Vec<[isize; 3]> =
            span().flat_map(|z| span().flat_map(move |y| span().map(move |x| [x, y, z]))).collect();
        offsets.sort_by_key(|[x, y, z]| x * x + y * y + z * z);
        // The first one is the atom itself.
        let mut offsets = offsets[1..=NEIGHBOURS].to_vec();
        offsets.sort_by_key(|[x, y, z]| [*z, *y, *x]);
        let mut md = Self { side, offsets, pairs: 0, real: PhantomData };
        md.pairs = md.count_pairs();
        md
    }

    fn atoms(&self) -> usize {
        self.side.pow(3)
    }

    fn positions_bytes(&self) -> usize {
        4 * size_of::<T>() * self.atoms()
    }

    fn place(&self, atom: usize) -> [usize; 3] {
        [atom % self.side, atom / self.side % self.side, atom / self.side / self.side]
    }

    /// The neighbours of an atom, in the order of the offsets.
    fn neighbours_of(&self, atom: usize) -> impl Iterator<Item = usize> {
        let (place, side) = (self.place(atom), self.side as isize);
        self.offsets.iter().map(move |offset| {
            let along = |axis: usize| (place[axis] as isize + offset[axis]).rem_euclid(side) as usize;
            along(0) + self.side * (along(1) + self.side * along(2))
        })
    }

    /// Where an atom is.
    fn position(&self, atom: usize) -> [T; 3] {
        let place = self.place(atom);
        [0, 1, 2].map(|axis| T::near(SPACING * (place[axis] as f64 + OFF * signed(axis as u64, atom))))
    }

    fn count_pairs(&self) -> usize {
        if self.side >= LARGE_SIDE {
            // All neighbours that do not go on at the other side.
            let inside = |offset: &[isize; 3]| -> usize {
                offset.iter().map(|along| self.side.saturating_sub(along.unsigned_abs())).product()
            };
            return self.offsets.iter().map(inside).sum();
        }
        let positions: Vec<[f64; 3]> =
            (0..self.atoms()).map(|atom| self.position(atom).map(Into::into)).collect();
        let is_near = |atom: usize, other: usize| {
            let apart = [0, 1, 2].map(|axis| positions[atom][axis] - positions[other][axis]);
            apart.iter().map(|along| along * along).sum::<f64>() < CUT_SQUARE
        };
        let near = |atom: usize| self.neighbours_of(atom).filter(|other| is_near(atom, *other)).count();
        (0..self.atoms()).map(near).sum()
    }

    /// The force on an atom, and for each direction the sum of the sizes of what it is made of.
    fn force(&self, positions: &[[T; 4]], neighbours: &[u32], atom: usize) -> ([f64; 3], [f64; 3]) {
        let (mut force, mut size) = ([0.0; 3], [0.0; 3]);
        let own: [f64; 4] = positions[atom].map(Into::into);
        for other in &neighbours[NEIGHBOURS * atom..NEIGHBOURS * (atom + 1)] {
            let other: [f64; 4] = positions[*other as usize].map(Into::into);
            let apart = [own[0] - other[0], own[1] - other[1], own[2] - other[2]];
            let square = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
            if square < CUT_SQUARE {
                let two = 1.0 / square;
                let six = two * two * two;
                let strength = two * six * (1.5 * six - 2.0);
                for ((force, size), apart) in force.iter_mut().zip(&mut size).zip(apart) {
                    *force += apart * strength;
                    *size += (apart * strength).abs();
                }
            }
        }

        (force, size)
    }

    fn parts<'a>(&self, input: &'a [u8]) -> (&'a [[T; 4]], &'a [u32])
    where
        [T; 4]: bytemuck::Pod,
    {
        let (positions, neighbours) = input.split_at(self.positions_bytes());
        (cast_slice(positions), cast_slice(neighbours))
    }
}

impl<T: Real> Problem for Md<T>
where
    [T; 4]: bytemuck::Pod,
{
    fn layout(&self) -> Layout {
        Layout::new(self.positions_bytes() + 4 * NEIGHBOURS * self.atoms(), self.positions_bytes(), 0)
    }

    fn amount(&self) -> f64 {
        (8 * NEIGHBOURS * self.atoms() + 13 * self.pairs) as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Flop
    }

    fn fill(&self, _at: usize, input: &mut [u8]) {
        let (positions, neighbours) = input.split_at_mut(self.positions_bytes());
        for (atom, position) in cast_slice_mut::<u8, [T; 4]>(positions).iter_mut().enumerate() {
            let [x, y, z] = self.position(atom);
            *position = [x, y, z, T::near(0.0)];
        }

        let side = self.side as isize;
        let numbered = |[x, y, z]: [isize; 3]| x + side * (y + side * z);

        // Where no neighbour goes on at the other side, all are as far off in the list as the lattice has
        // them.
        let reach = self.offsets.iter().flatten().copied().max().unwrap_or(0);
        let steps: Vec<u32> = self.offsets.iter().map(|offset| numbered(*offset) as u32).collect();

        for (atom, list) in cast_slice_mut::<u8, u32>(neighbours).chunks_exact_mut(NEIGHBOURS).enumerate() {
            let place = self.place(atom).map(|along| along as isize);
            if place.iter().all(|along| (reach..side - reach).contains(along)) {
                list.iter_mut()
                    .zip(&steps)
                    .for_each(|(neighbour, step)| *neighbour = (atom as u32).wrapping_add(*step));
                continue;
            }
            for (neighbour, offset) in list.iter_mut().zip(&self.offsets) {
                // No remainder: millions of divisions take longer than all the rest.
                let along = |axis: usize| match place[axis] + offset[axis] {
                    before if before < 0 => before + side,
                    beyond if beyond >= side => beyond - side,
                    inside => inside,
                };
                *neighbour = numbered([along(0), along(1), along(2)]) as u32;
            }
        }
    }

    fn fill_grain(&self) -> usize {
        self.layout().input
    }

    fn program(&self) -> &'static KernelModule {
        &MD
    }

    fn launches(&self) -> Vec<RoundStep> {
        let arguments = vec![
            Argument::Area(0),
            Argument::Area(self.positions_bytes()),
            Argument::Area(self.layout().output_at),
            Argument::Number(self.atoms() as u64),
        ];
        // Eight lanes share an atom.
        vec![RoundStep::Launch {
            kernel: T::KERNEL,
            blocks: (8 * self.atoms()).div_ceil(256) as u32,
            threads: 256,
            arguments,
        }]
    }

    fn compute(&self, input: &[u8], output: &mut [u8], _scratch: &mut [u8]) {
        let (positions, neighbours) = self.parts(input);
        for (atom, to) in cast_slice_mut::<u8, [T; 4]>(output).iter_mut().enumerate() {
            let ([x, y, z], _) = self.force(positions, neighbours, atom);
            *to = [T::near(x), T::near(y), T::near(z), T::near(0.0)];
        }
    }

    fn check(&self, input: &[u8], output: &[u8]) -> Result<(), WrongNumber> {
        let (positions, neighbours) = self.parts(input);
        for (atom, got) in cast_slice::<u8, [T; 4]>(output).iter().enumerate() {
            let (force, size) = self.force(positions, neighbours, atom);
            for (axis, ((expected, size), got)) in force.into_iter().zip(size).zip(got).enumerate() {
                let offset = size_of::<T>() * (4 * atom + axis);
                WrongNumber::unless_near(offset, expected, (*got).into(), ALLOWED * T::EPSILON * size)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_atoms_far_from_the_border_are_those_of_the_lattice_that_goes_on() {
        let md = Md::<f32>::new(12);
        let mut input = vec![0_u32; md.layout().input / 4];
        md.fill(0, cast_slice_mut(&mut input));
        let (_, neighbours) = md.parts(cast_slice(&input));
        for atom in [0, 5, 12 * 12 * 6 + 12 * 6 + 6, 12 * 12 * 12 - 1] {
            let found = &neighbours[NEIGHBOURS * atom..NEIGHBOURS * (atom + 1)];
            assert!(md.neighbours_of(atom).eq(found.iter().map(|neighbour| *neighbour as usize)), "{atom}");
        }
    }

    /// The force on an atom as a GPU has it: every operation is rounded to single precision.
    fn rounded(md: &Md<f32>, positions: &[[f32; 4]], atom: usize) -> [f32; 3] {
        let mut force = [0.0_f32; 3];
        for other in md.neighbours_of(atom) {
            let apart = [0, 1, 2].map(|axis| positions[atom][axis] - positions[other][axis]);
            let square = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
            if square < CUT_SQUARE as f32 {
                let two = 1.0 / square;
                let six = two * two * two;
                let strength = two * six * (1.5 * six - 2.0);
                force.iter_mut().zip(apart).for_each(|(force, apart)| *force += apart * strength);
            }
        }
        force
    }

    #[test]
    fn forces_that_are_rounded_at_every_step_are_right() {
        let md = Md::<f32>::new(14);
        let mut input = vec![0_u32; md.layout().input / 4];
        md.fill(0, cast_slice_mut(&mut input));
        let (positions, _) = md.parts(cast_slice(&input));
        let with_zero = |[x, y, z]: [f32; 3]| [x, y, z, 0.0];
        let output: Vec<[f32; 4]> =
            (0..md.atoms()).map(|atom| with_zero(rounded(&md, positions, atom))).collect();
        assert_eq!(md.check(cast_slice(&input), cast_slice(&output)), Ok(()));
    }

    #[test]
    fn operations_are_counted_of_all_pairs_that_the_kernel_finds_within_the_distance() {
        for side in [9, 10, 11, 12, 13, 14] {
            let md = Md::<f32>::new(side);
            let mut input = vec![0_u32; md.layout().input / 4];
            md.fill(0, cast_slice_mut(&mut input));
            let (positions, neighbours) = md.parts(cast_slice(&input));
            let square = |atom: usize, other: u32| {
                let apart = |axis: usize| positions[atom][axis] - positions[other as usize][axis];
                apart(0) * apart(0) + apart(1) * apart(1) + apart(2) * apart(2)
            };
            let near = |(at, other): (usize, &u32)| square(at / NEIGHBOURS, *other) < 16.0;
            let found = neighbours.iter().enumerate().filter(|pair| near(*pair)).count();
            // A pair whose distance is 4 to the last digit may be rounded to either side.
            let counted = (md.amount() - (8 * neighbours.len()) as f64) / 13.0;
            assert!((counted / found as f64 - 1.0).abs() < 1e-5, "side {side}: {counted} of {found}");
        }
    }
}
