//! What rank 0 has all ranks do, and what each answers.

use engine::ObservedPlacement;
use serde::{Deserialize, Serialize};

use super::{PROOF_ITERATIONS, UNCOUNTED_ITERATIONS};
use crate::results::{BlockFound, LaplaceStep};
use crate::way::WayVariant;

/// What rank 0 tells all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum LaplaceOrder {
    /// Say where thread and memory are.
    Look { first: bool },
    /// From the known field on, and held against it.
    Prove(WayVariant),
    /// Fill the field of this way.
    Fill(WayVariant),
    /// So many iterations, timed.
    Block(WayVariant, u32),
    /// Hold the field of this way against what it should be.
    Check(WayVariant),
    /// It is over.
    End,
}

/// What a rank answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum LaplaceAnswer {
    Looked(ObservedPlacement, Option<String>),
    Proven { residual: f64, bytes: u64 },
    Block(BlockFound),
    Checked(u64),
    Wrong(String),
    Failed(String),
    Done,
}

impl LaplaceOrder {
    /// What a rank that has it does: whatever calls a driver has a name, and so the limit of an operation.
    pub(super) fn step(self) -> LaplaceStep {
        match self {
            Self::Prove(variant) | Self::Block(variant, _) => LaplaceStep::Iterations(variant),
            Self::Fill(variant) => LaplaceStep::Fill(variant),
            Self::Check(variant) => LaplaceStep::Check(variant),
            Self::Look { .. } | Self::End => LaplaceStep::Else,
        }
    }

    /// The way that it is about.
    pub(super) fn variant(self) -> Option<WayVariant> {
        match self {
            Self::Prove(variant) | Self::Block(variant, _) | Self::Fill(variant) | Self::Check(variant) => {
                Some(variant)
            }
            Self::Look { .. } | Self::End => None,
        }
    }

    /// The way that iterates, and how often rows are exchanged.
    pub(super) fn exchanges(self) -> Option<(WayVariant, u32)> {
        match self {
            Self::Prove(variant) => Some((variant, PROOF_ITERATIONS)),
            Self::Block(variant, iterations) => Some((variant, UNCOUNTED_ITERATIONS + iterations)),
            Self::Look { .. } | Self::Fill(_) | Self::Check(_) | Self::End => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::HaloWay;

    #[test]
    fn whatever_calls_a_driver_is_an_operation_with_its_limit() {
        let variant = WayVariant::by_all(HaloWay::Gpu, false);
        for order in [
            LaplaceOrder::Prove(variant),
            LaplaceOrder::Fill(variant),
            LaplaceOrder::Block(variant, 1),
            LaplaceOrder::Check(variant),
        ] {
            assert_ne!(order.step(), LaplaceStep::Else, "{order:?}");
        }
        assert_eq!(LaplaceOrder::Look { first: true }.step(), LaplaceStep::Else);
    }
}
