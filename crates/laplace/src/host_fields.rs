//! A rank's two fields in the memory of its NUMA node, and iterations by its own thread.

use engine::{Bound, Failure, PlacedMemory, PlacingRules, clock};
use kernels::jacobi::{Cell, Precision, step};

use crate::fault::LaplaceFault;
use crate::grid::{RowShare, Solution};
use crate::halos::{Halos, Reached};
use crate::rows;

/// What iterations came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// The time of halos where they did not overlap.
    pub(crate) halo_ns: u64,
    /// The largest change of a cell in the last iteration.
    pub(crate) residual: f64,
}

/// Two fields.
pub(crate) struct HostFields {
    memory: PlacedMemory,
    share: RowShare,
    /// Whether the second field is the newer one.
    second: bool,
    /// Iterations since the field was filled.
    pub(crate) iterations: u64,
}

impl HostFields {
    /// Memory on `node`.
    ///
    /// # Errors
    /// The kernel refused.
    pub(crate) fn new(
        bound: &Bound,
        share: RowShare,
        node: u32,
        rules: &PlacingRules,
    ) -> Result<Self, Failure> {
        let memory = PlacedMemory::new(bound, 2 * share.field.bytes(), node, rules)?;
        Ok(Self { memory, share, second: false, iterations: 0 })
    }

    /// The memory, to be looked at.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// The field as it was before the first iteration.
    pub(crate) fn fill(&mut self, solution: &Solution) {
        match self.share.field.precision {
            Precision::Single => self.fill_as::<f32>(solution),
            Precision::Double => self.fill_as::<f64>(solution),
        }
    }

    fn fill_as<T: Cell>(&mut self, solution: &Solution) {
        let (rows, numbers) = (0..self.share.field.rows + 2, self.share.field.numbers());
        let wave = solution.wave_after(0);
        for field in bytemuck::cast_slice_mut::<u8, T>(self.memory.bytes_mut()).chunks_mut(numbers) {
            rows::fill(solution, &self.share, rows.clone(), wave, field);
        }
        (self.second, self.iterations) = (false, 0);
    }

    /// Holds every cell against what it should be: how many bytes.
    ///
    /// # Errors
    /// The first that is wrong, in words.
    pub(crate) fn check(&self, solution: &Solution) -> Result<u64, String> {
        match self.share.field.precision {
            Precision::Single => self.check_as::<f32>(solution),
            Precision::Double => self.check_as::<f64>(solution),
        }
    }

    fn check_as<T: Cell>(&self, solution: &Solution) -> Result<u64, String> {
        let field = self.share.field;
        let from = usize::from(self.second) * field.numbers() + field.pitch();
        let cells = &bytemuck::cast_slice::<u8, T>(self.memory.bytes())[from..];
        rows::check(solution, &self.share, 1..field.rows + 1, self.iterations, cells)?;
        Ok((field.rows * field.row_bytes()) as u64)
    }

    /// So many iterations.
    ///
    /// # Errors
    /// What MPI says.
    pub(crate) fn iterate(
        &mut self,
        halos: &Halos,
        overlap: bool,
        iterations: u32,
    ) -> Result<Spent, LaplaceFault> {
        match self.share.field.precision {
            Precision::Single => self.iterate_as::<f32>(halos, overlap, iterations),
            Precision::Double => self.iterate_as::<f64>(halos, overlap, iterations),
        }
    }

    fn iterate_as<T: Cell>(
        &mut self,
        halos: &Halos,
        overlap: bool,
        iterations: u32,
    ) -> Result<Spent, LaplaceFault> {
        let field = self.share.field;
        let (edges, inner) = halos.parts();
        let mut spent = Spent::default();
        for _ in 0..iterations {
            let (one, other) =
                bytemuck::cast_slice_mut::<u8, T>(self.memory.bytes_mut()).split_at_mut(field.numbers());
            let (from, to) = if self.second { (&*other, one) } else { (&*one, other) };
            let newer = Reached { start: to.as_mut_ptr().expose_provenance(), len: size_of_val(to) };
            let mut largest = T::of(0.0);
            let mut over = |rows| {
                let of_rows = step(field, from, to, rows);
                largest = if of_rows > largest { of_rows } else { largest };
            };
            if overlap {
                edges.iter().cloned().for_each(&mut over);
                // The inner rows, which are written meanwhile, are not those of the messages.
                halos.exchange(newer, |_, row, _| field.row_at(row), || over(inner.clone()))?;
            } else {
                over(1..field.rows + 1);
                let began = clock::now_ns();
                halos.exchange(newer, |_, row, _| field.row_at(row), || {})?;
                spent.halo_ns += clock::now_ns() - began;
            }
            self.second = !self.second;
            spent.residual = largest.value();
        }

        self.iterations += u64::from(iterations);
        Ok(spent)
    }
}

#[cfg(test)]
mod tests {
    use engine::ObservedPlacement;

    use super::*;
    use crate::grid::LaplaceGrid;

    fn fields(grid: LaplaceGrid, precision: Precision) -> Result<HostFields, Failure> {
        let pu = ObservedPlacement::thread()?.pu;
        let share = RowShare::new(grid, precision, 0, 1);
        let rules = PlacingRules { one_node: true, huge_pages: true, ..PlacingRules::default() };
        HostFields::new(&Bound::to(pu)?, share, 0, &rules)
    }

    #[test]
    fn an_iteration_from_an_empty_field_reaches_the_solution_of_its_border() -> Result<(), LaplaceFault> {
        let grid = LaplaceGrid { rows: 12, columns: 17 };
        for (precision, apart) in [(Precision::Single, 1e-5), (Precision::Double, 1e-13)] {
            let solution = Solution::new(grid);
            let mut fields = fields(grid, precision)?;
            fields.fill(&solution);
            let share = fields.share;
            let halos = Halos::new(None, share);
            let spent = match precision {
                Precision::Single => emptied::<f32>(&mut fields, &halos)?,
                Precision::Double => emptied::<f64>(&mut fields, &halos)?,
            };
            assert!(spent.residual < apart, "{}", spent.residual);
            // Without a wave the solution is (j² - i²) / L².
            let longest = 18.0 * 18.0;
            let cell = |row: usize, column: usize| {
                let at = usize::from(fields.second) * share.field.numbers() + share.field.at(row, column - 1);
                match precision {
                    Precision::Single => f64::from(bytemuck::cast_slice::<u8, f32>(fields.bytes())[at]),
                    Precision::Double => bytemuck::cast_slice::<u8, f64>(fields.bytes())[at],
                }
            };
            for (row, column) in
                (1..=grid.rows).flat_map(|row| (1..=grid.columns).map(move |column| (row, column)))
            {
                let should_be = ((column * column) as f64 - (row * row) as f64) / longest;
                assert!(
                    (cell(row, column) - should_be).abs() < apart,
                    "{row}, {column}: {}",
                    cell(row, column)
                );
            }
        }

        Ok(())
    }

    /// Sets every inner cell to 0 and iterates until nothing changes.
    fn emptied<T: Cell>(fields: &mut HostFields, halos: &Halos) -> Result<Spent, LaplaceFault> {
        let field = fields.share.field;
        let cells = bytemuck::cast_slice_mut::<u8, T>(fields.memory.bytes_mut());
        for row in 1..=field.rows {
            cells[field.at(row, 0)..][..field.columns].fill(T::of(0.0));
        }
        fields.iterate(halos, false, 3000)
    }

    #[test]
    fn edges_first_and_all_rows_at_once_give_the_same_bits_and_a_wrong_cell_is_named()
    -> Result<(), LaplaceFault> {
        for rows in [1, 2, 3, 9] {
            let grid = LaplaceGrid { rows, columns: 21 };
            let solution = Solution::new(grid);
            let mut fields = fields(grid, Precision::Double)?;
            let halos = Halos::new(None, fields.share);
            let mut residual = |overlap: bool| {
                fields.fill(&solution);
                fields.iterate(&halos, overlap, 7).map(|spent| spent.residual.to_bits())
            };
            assert_eq!(residual(false)?, residual(true)?, "{rows} rows");
            assert_eq!(fields.check(&solution), Ok((rows * 21 * 8) as u64));
            let at = fields.share.field.numbers() + fields.share.field.at(1, 4);
            bytemuck::cast_slice_mut::<u8, f64>(fields.memory.bytes_mut())[at] += 1e-9;
            assert!(fields.check(&solution).is_err_and(|why| why.contains("row 1, column 5 is")));
        }
        Ok(())
    }
}
