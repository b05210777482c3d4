//! How far a field got on all ranks, and what it takes to go on with it: a check, a filling, iterations.

use super::{All, LaplaceAnswer, LaplaceOrder, UNCOUNTED_ITERATIONS, trouble};
use crate::fault::LaplaceFault;
use crate::results::{LaplaceResults, WayFound};
use crate::rows;
use crate::way::WayVariant;

/// A field of one memory, the host's or the device's, on all ranks.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldUse {
    /// The ways that went on with it since it was filled.
    pub(super) ways: Vec<usize>,
    /// Iterations since then.
    pub(super) iterations: u64,
    /// It must be filled before it is used.
    pub(super) is_stale: bool,
}

impl All<'_, '_, '_> {
    pub(super) fn field_of(&self, variant: WayVariant) -> Result<&FieldUse, LaplaceFault> {
        Ok(&self.fields[self.plane_of(variant)?][usize::from(variant.way.has_gpu())])
    }

    /// The most iterations from one filling of a field to its check.
    pub(super) fn most_iterations(&self) -> u64 {
        rows::most_iterations(self.run.options.precision)
    }

    /// Has all ranks hold a field against what it should be after the iterations since it was filled. What is
    /// wrong is a trouble of every way that went on with it.
    pub(super) fn check(
        &mut self,
        found: &mut LaplaceResults,
        plane: usize,
        has_gpu: bool,
    ) -> Result<(), LaplaceFault> {
        let field = std::mem::replace(
            &mut self.fields[plane][usize::from(has_gpu)],
            FieldUse { is_stale: true, ..FieldUse::default() },
        );
        let Some(first) = field.ways.first().filter(|_| !field.is_stale) else { return Ok(()) };
        let answers = self.all(LaplaceOrder::Check(found.ways[*first].variant))?;

        let trouble = trouble(&answers);
        for at in field.ways {
            let way = &mut found.ways[at];
            way.is_unchecked = false;
            way.trouble = way.trouble.take().or_else(|| trouble.clone());
        }
        for (rank, answer) in answers.iter().enumerate() {
            if let LaplaceAnswer::Checked(bytes) = answer {
                found.ranks[rank].checked_bytes += bytes;
            }
        }
        Ok(())
    }

    /// So many iterations of a way by all ranks, and how far its field got.
    pub(super) fn iterate(
        &mut self,
        way: &mut WayFound,
        at: usize,
        iterations: u32,
    ) -> Result<Vec<LaplaceAnswer>, LaplaceFault> {
        let answers = self.all(LaplaceOrder::Block(way.variant, iterations))?;
        way.trouble = trouble(&answers);
        let plane = self.plane_of(way.variant)?;
        let field = &mut self.fields[plane][usize::from(way.variant.way.has_gpu())];
        field.is_stale = way.trouble.is_some();
        field.iterations += u64::from(UNCOUNTED_ITERATIONS + iterations);
        if !field.ways.contains(&at) {
            field.ways.push(at);
        }
        way.is_unchecked = true;
        Ok(answers)
    }

    /// A field that can go on by so many iterations: checked and filled anew where rounding may have added
    /// too much, filled anew after a failure.
    ///
    /// # Errors
    /// The ranks cannot reach each other. Why the field cannot be filled is the way's trouble.
    pub(super) fn ready(
        &mut self,
        found: &mut LaplaceResults,
        at: usize,
        iterations: u32,
    ) -> Result<(), LaplaceFault> {
        let variant = found.ways[at].variant;
        let has_gpu = variant.way.has_gpu();
        let plane = self.plane_of(variant)?;
        let after = self.field_of(variant)?.iterations + u64::from(UNCOUNTED_ITERATIONS + iterations);
        if after > self.most_iterations() {
            self.check(found, plane, has_gpu)?;
        }
        if found.ways[at].trouble.is_none() && self.field_of(variant)?.is_stale {
            let answers = self.all(LaplaceOrder::Fill(variant))?;
            found.ways[at].trouble = trouble(&answers);
            let is_stale = found.ways[at].trouble.is_some();
            self.fields[plane][usize::from(has_gpu)] = FieldUse { is_stale, ..FieldUse::default() };
        }
        Ok(())
    }
}
