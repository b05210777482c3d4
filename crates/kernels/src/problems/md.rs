//! Forces between atoms by Lennard and Jones, with SHOC's constants and count: eight operations for each neighbour, thirteen more for each within the distance 4.
//!
//! The atoms stand near the points of a cubic lattice, in the lattice's order, at SHOC's density; each one's neighbours are its 128 nearest points, which go on at the other
//! side where the lattice ends: those are far off and do not count. So the list costs nothing to make, and neighbours lie near each other in memory, as programs sort them.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use device::{Argument, KernelModule, RoundStep};

use super::real::Real;
use crate::numbers::signed;
use crate::problem::{Layout, Problem, ProblemUnit, WrongNumber};
use crate::program::MD;

const NEIGHBOURS: usize = 128;
/// Between points of the lattice: 73,728 atoms on an edge of 20, as SHOC's largest has.
const SPACING: f64 = 0.476;
/// An atom stands within this part of the spacing of its point.
const OFF: f64 = 0.1;
const CUT_SQUARE: f64 = 16.0;

pub(crate) struct Md<T> {
    side: usize,
    /// The nearest points of the lattice, from one of them.
    offsets: Vec<[isize; 3]>,
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
        Self { side, offsets, real: PhantomData }
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

    /// Pairs within the distance: those that do not go on at the other side.
    fn pairs(&self) -> usize {
        let inside = |offset: &[isize; 3]| -> usize {
            offset.iter().map(|along| self.side.saturating_sub(along.unsigned_abs())).product()
        };
        self.offsets.iter().map(inside).sum()
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
        (8 * NEIGHBOURS * self.atoms() + 13 * self.pairs()) as f64
    }

    fn unit(&self) -> ProblemUnit {
        ProblemUnit::Flop
    }

    fn fill(&self, _at: usize, input: &mut [u8]) {
        let (positions, neighbours) = input.split_at_mut(self.positions_bytes());
        for (atom, position) in cast_slice_mut::<u8, [T; 4]>(positions).iter_mut().enumerate() {
            let place = self.place(atom);
            let along = |axis: usize| T::near(SPACING * (place[axis] as f64 + OFF * signed(axis as u64, atom)));
            *position = [along(0), along(1), along(2), T::near(0.0)];
        }
        let side = self.side as isize;
        let numbered = |[x, y, z]: [isize; 3]| x + side * (y + side * z);
        // Where no neighbour goes on at the other side, all are as far off in the list as the lattice has them.
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
                // Differences of near places lose two digits before they are raised to the seventh power.
                WrongNumber::unless_near(offset, expected, (*got).into(), 100.0 * T::TOLERANCE * size)?;
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
            let place = md.place(atom);
            let expected = md.offsets.iter().map(|offset| {
                let along = |axis: usize| (place[axis] as isize + offset[axis]).rem_euclid(12) as u32;
                along(0) + 12 * (along(1) + 12 * along(2))
            });
            let found = &neighbours[NEIGHBOURS * atom..NEIGHBOURS * (atom + 1)];
            assert!(expected.eq(found.iter().copied()), "{atom}");
        }
    }
}
