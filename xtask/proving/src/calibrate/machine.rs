//! What a machine does while a document is measured: what all cases of a pass share (a drift, a step, a mode
//! that sticks), and what each case has by itself (an order of its blocks, modes of its allocations).
//!
//! The scales are those of real blocks: 55.5 GB/s that fell to 52.2 for a quarter of a minute, clocks that
//! drift by 1 % a pass, pinned copies of 0.1 to 2 % a block.

use stats::random::SplitMix64;

use super::noise::{Field, Noise, allocation};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Machine {
    /// All cases drift by this part a pass.
    Drift(f64),
    /// From the middle on all cases are lower by this part.
    Step(f64),
    /// All cases are 20 % lower in some passes: the mode changes after one pass in five.
    StickyMode,
    /// Each case by itself: a block is correlated so much with the one before.
    Correlated(f64),
    /// Each case by itself: every allocation is in one of two modes, so far apart.
    AllocationModes(f64),
    /// Each case by itself: every allocation has luck of so many times the deviation of a block.
    AllocationLuck(f64),
}

/// Every kind.
pub const ALL: [Machine; 9] = [
    Machine::Drift(0.003),
    Machine::Drift(0.01),
    Machine::Step(0.03),
    Machine::StickyMode,
    Machine::Correlated(0.5),
    Machine::Correlated(0.8),
    Machine::Correlated(0.9),
    Machine::Correlated(0.95),
    Machine::AllocationModes(0.1),
];

impl Machine {
    /// As tables name it.
    pub fn name(self) -> String {
        match self {
            Self::Drift(part) => format!("all drift by {} % a pass", part * 100.0),
            Self::Step(part) => format!("all fall by {} % at mid-run", part * 100.0),
            Self::StickyMode => "a mode of 20 % that sticks, common to all".to_owned(),
            Self::Correlated(part) => format!("autocorrelated {part}"),
            Self::AllocationModes(apart) => format!("two modes by allocation, {} % apart", apart * 100.0),
            Self::AllocationLuck(times) => format!("allocations differ by {times} times what blocks do"),
        }
    }

    /// The middle of a case's logarithms: half-way between two modes.
    pub fn center(self) -> f64 {
        if let Self::AllocationModes(apart) = self { apart / 2.0 } else { 0.0 }
    }

    /// So many cases in so many passes, around 0: the logarithms, each block with this deviation of its own.
    pub fn field(self, random: &mut SplitMix64, cases: usize, passes: usize, deviation: f64) -> Field {
        let mut field = Noise::Independent.field(random, cases, passes, deviation);
        let common = self.common(random, passes);
        for case in &mut field {
            case.iter_mut().zip(&common).for_each(|(log, common)| *log += common);
            self.disturb(random, case, deviation);
        }
        field
    }

    /// What all cases share in each pass.
    fn common(self, random: &mut SplitMix64, passes: usize) -> Vec<f64> {
        let mut is_low = random.below(2) == 0;
        let of_pass = |pass: usize| match self {
            Self::Drift(part) => -part * pass as f64,
            Self::Step(part) if 2 * pass >= passes => -part,
            Self::StickyMode => {
                is_low ^= random.below(5) == 0;
                if is_low { 0.8_f64.ln() } else { 0.0 }
            }
            _ => 0.0,
        };
        (0..passes).map(of_pass).collect()
    }

    /// What a case has by itself.
    fn disturb(self, random: &mut SplitMix64, case: &mut [f64], deviation: f64) {
        match self {
            Self::Correlated(part) => {
                let mut level = deviation * random.normal();
                for log in case {
                    level = part * level + (1.0 - part * part).sqrt() * *log;
                    *log = level;
                }
            }
            Self::AllocationLuck(times) => {
                let luck: Vec<f64> =
                    (0..=allocation(case.len())).map(|_| times * deviation * random.normal()).collect();
                case.iter_mut().enumerate().for_each(|(pass, log)| *log += luck[allocation(pass) as usize]);
            }
            Self::AllocationModes(apart) => {
                let modes: Vec<usize> = (0..=allocation(case.len())).map(|_| random.below(2)).collect();
                let mode = |pass: usize| apart * modes[allocation(pass) as usize] as f64;
                case.iter_mut().enumerate().for_each(|(pass, log)| *log = *log / 4.0 + mode(pass));
            }
            Self::Drift(_) | Self::Step(_) | Self::StickyMode => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pass_shares_cancels_between_cases_and_what_a_case_has_does_not() {
        let mut random = SplitMix64::new(5);
        for machine in ALL {
            let field = machine.field(&mut random, 200, 10, 0.01);
            let apart = field.windows(2).map(|two| (two[0][9] - two[1][9]).powi(2)).sum::<f64>() / 199.0;
            let most = if machine == Machine::AllocationModes(0.1) { 0.09 } else { 0.018 };
            assert!(apart.sqrt() < most, "{machine:?}: {}", apart.sqrt());
        }
    }

    #[test]
    fn a_drift_and_a_step_have_the_size_that_they_say() {
        let mut random = SplitMix64::new(6);
        let mut fall = |machine: Machine| {
            let field = machine.field(&mut random, 400, 10, 0.01);
            field.iter().map(|case| case[0] - case[9]).sum::<f64>() / 400.0
        };
        assert!((fall(Machine::Drift(0.01)) - 0.09).abs() < 0.003);
        assert!((fall(Machine::Step(0.03)) - 0.03).abs() < 0.003);
    }
}
