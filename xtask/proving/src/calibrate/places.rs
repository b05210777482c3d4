//! Places of a matrix, ranks at once, pairs of GPUs: cases of one document that are compared with each other
//! (`analysis::family`).
//!
//! A document has so many places, subjects (GPUs in a direction) and blocks, and every two places of a
//! subject are compared, as a matrix's sentences do. Blocks are on the engine's allocations. Besides the
//! common kinds of noise an allocation's luck is that of one place, common to all its subjects.

use analysis::family::{CaseFamily, CaseFinding, FamilyCase, all_pairs};
use analysis::passes::Moments;
use stats::block_interval::BlockValue;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::machine::{self, Machine};
use super::noise::{self, Field, Noise, allocation};

/// What is counted where places are equal.
const FALSE: &str = "documents with a false claim";

/// What a document compares.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// Places of a GPU: one kind of figure.
    Places,
    /// A rank alone and at once, in two directions.
    Ranks,
    /// Places of two ranks of MPI: each plane its own kind, on memory that is made once.
    Planes,
    /// Ways of halos: one kind, on memory that is made once.
    Ways,
}

/// The shape of a document.
#[derive(Clone, Copy)]
struct Shape {
    of: Of,
    places: usize,
    subjects: usize,
    blocks: usize,
}

impl Shape {
    fn name(self) -> String {
        let Self { of, places, subjects, blocks } = self;
        match of {
            Of::Places => format!("{places} places, {subjects} subjects, {blocks} blocks"),
            Of::Ranks => format!("{} ranks alone and at once, 2 directions, {blocks} blocks", subjects / 2),
            Of::Planes => format!("{places} pairs of ranks, {subjects} planes, {blocks} blocks"),
            Of::Ways => format!("{places} ways of halos, {blocks} blocks"),
        }
    }

    /// The kind of a subject's figures.
    fn kind(self, subject: usize) -> usize {
        match self.of {
            Of::Places | Of::Ways => 0,
            Of::Ranks => subject % 2,
            Of::Planes => subject,
        }
    }

    /// The allocation of a block.
    fn allocation(self, block: usize) -> u32 {
        if matches!(self.of, Of::Planes | Of::Ways) { 0 } else { allocation(block) }
    }

    /// The claims where noise is of one kind, and allocations of a place have luck that its subjects share.
    fn claims(
        self,
        random: &mut SplitMix64,
        noise: Noise,
        luck: f64,
        rate: impl Fn(usize) -> f64,
    ) -> Vec<[usize; 2]> {
        let Self { places, subjects, blocks, .. } = self;
        let of_places: Vec<Vec<f64>> = (0..places)
            .map(|_| (0..=self.allocation(blocks)).map(|_| luck * random.normal()).collect())
            .collect();
        let mut field = noise.field(random, subjects * places, blocks, 0.01);
        for (at, case) in field.iter_mut().enumerate() {
            let of_place = |block: usize| of_places[at % places][self.allocation(block) as usize];
            case.iter_mut().enumerate().for_each(|(block, log)| *log += of_place(block));
        }
        self.claims_of(&field, |_, place| rate(place)).into_iter().map(|claim| claim.places).collect()
    }

    /// The claims of such logarithms. The rate of a subject in a place is so many times the usual one.
    fn claims_of(self, field: &Field, rate: impl Fn(usize, usize) -> f64) -> Vec<Claim> {
        let Self { places, subjects, .. } = self;
        let case = |(at, logs): (usize, &Vec<f64>)| -> Vec<BlockValue> {
            let rate = 50e9 * rate(at / places, at % places);
            let block = |(block, log): (usize, &f64)| BlockValue {
                value: rate * log.exp(),
                allocation: self.allocation(block),
            };
            logs.iter().enumerate().map(block).collect()
        };
        let cases: Vec<Vec<BlockValue>> = field.iter().enumerate().map(case).collect();
        let member = |(at, blocks)| FamilyCase {
            kind: self.kind(at / places),
            is_time: false,
            blocks,
            began: Moments::default(),
        };
        let members: Vec<FamilyCase> = cases.iter().map(Vec::as_slice).enumerate().map(member).collect();
        let of_subject = |subject: usize| {
            all_pairs(places).map(move |(a, b)| (subject * places + a, subject * places + b))
        };
        let pairs: Vec<(usize, usize)> = (0..subjects).flat_map(of_subject).collect();
        let findings = CaseFamily::of(members).comparisons(&pairs);
        let claims = pairs.iter().zip(findings).filter_map(|((a, b), found)| match found.finding {
            CaseFinding::Worse => Some(Claim { subject: a / places, places: [a % places, b % places] }),
            CaseFinding::Better => Some(Claim { subject: a / places, places: [b % places, a % places] }),
            _ => None,
        });
        claims.collect()
    }
}

/// That a subject has more in the first of two places than in the second.
struct Claim {
    subject: usize,
    places: [usize; 2],
}

/// Shapes on machines that drift, step and stick: with few blocks, few cases and many.
const ON_MACHINES: [(Of, usize, usize, usize); 10] = [
    (Of::Ranks, 2, 16, 10),
    (Of::Ways, 5, 1, 10),
    (Of::Ranks, 2, 2, 10),
    (Of::Ranks, 2, 16, 6),
    (Of::Ranks, 2, 16, 20),
    (Of::Places, 2, 1, 10),
    (Of::Places, 4, 8, 10),
    (Of::Places, 8, 16, 10),
    (Of::Planes, 4, 12, 10),
    (Of::Ways, 2, 1, 10),
];

/// Equal places, and one of one subject at a part of its rate, on each machine.
fn on_machines(length: Length) -> Vec<Experiment> {
    let shapes = &ON_MACHINES[..length.choose(2, ON_MACHINES.len())];
    let mut all = Vec::new();
    for &(of, places, subjects, blocks) in shapes {
        let shape = Shape { of, places, subjects, blocks };
        for machine in machine::ALL {
            let trials = length.choose(60, 400);
            let few = shape.places * shape.subjects < 8;
            // A comparison or two show neither a correlation so strong nor what makes allocations differ.
            if few && matches!(machine, Machine::Correlated(part) if part > 0.8) {
                continue;
            }
            let setting = format!("equal places, {}, {}", machine.name(), shape.name());
            let trial = move |random: &mut SplitMix64| {
                let field = machine.field(random, subjects * places, blocks, 0.01);
                !shape.claims_of(&field, |_, _| 1.0).is_empty()
            };
            all.push(Experiment::new((FALSE, FALSE_CLAIMS), setting, trials, trial));
            for part in [0.5, 0.9] {
                let setting = format!("one at {part} of its rate, {}, {}", machine.name(), shape.name());
                let trial = move |random: &mut SplitMix64| {
                    let field = machine.field(random, subjects * places, blocks, 0.01);
                    let rate =
                        |subject: usize, place: usize| if (subject, place) == (0, 1) { part } else { 1.0 };
                    let claims = shape.claims_of(&field, rate);
                    claims.iter().any(|claim| claim.subject == 0 && claim.places[1] == 1)
                };
                let limit = match (part < 0.6, machine) {
                    (false, _) => Limit::Told("a tenth, not half"),
                    (_, Machine::AllocationModes(_)) if few || blocks < 10 => {
                        Limit::Told("few comparisons of two or three allocations")
                    }
                    _ => FOUND,
                };
                all.push(Experiment::new(("found", limit), setting, trials, trial));
            }
        }
    }
    all
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let shapes = length.choose(
        &[(2, 2, 10), (4, 8, 10)][..],
        &[
            (2, 1, 3),
            (2, 1, 10),
            (2, 1, 20),
            (4, 8, 3),
            (8, 16, 3),
            (2, 2, 10),
            (2, 16, 10),
            (4, 8, 6),
            (4, 8, 10),
            (4, 8, 50),
            (8, 16, 10),
            (8, 16, 20),
            (16, 16, 10),
        ],
    );
    let places = shapes.iter().map(|(places, subjects, blocks)| (Of::Places, *places, *subjects, *blocks));
    // `pingpong --order both` and `contend`; `mpi --matrix`.
    let ranks = length.choose(&[10][..], &[3, 6, 10, 20]).iter().map(|blocks| (Of::Ranks, 2, 16, *blocks));
    let planes = length.choose(&[10][..], &[3, 10, 20]).iter().map(|blocks| (Of::Planes, 4, 12, *blocks));
    let mut all = on_machines(length);
    for (of, places, subjects, blocks) in places.chain(ranks).chain(planes) {
        let shape = Shape { of, places, subjects, blocks };
        let trials = length.choose(20_000, 1_600_000) / (places * places * subjects * blocks);
        let trials = trials.clamp(length.choose(40, 100), length.choose(200, 1000));
        let kinds = noise::ALL.map(|noise| (noise, 0.0)).into_iter();
        for (noise, luck) in kinds.chain([(Noise::Independent, 0.01), (Noise::Independent, 0.03)]) {
            let setting = format!(
                "equal places, {}, luck of a place's allocations {luck}, {}",
                noise.name(),
                shape.name()
            );
            let trial = move |random: &mut SplitMix64| !shape.claims(random, noise, luck, |_| 1.0).is_empty();
            let limit = match luck > 0.0 && shape.allocation(blocks - 1) == 0 {
                true if luck > 0.01 => {
                    Limit::Told("one allocation does not show another, which is taken to differ by 1 %")
                }
                _ => FALSE_CLAIMS,
            };
            all.push(Experiment::new((FALSE, limit), setting, trials, trial));
        }
        for (noise, luck) in [
            (Noise::Independent, 0.0),
            (Noise::Independent, 0.01),
            (Noise::Independent, 0.03),
            (Noise::HeavyTails, 0.0),
        ] {
            for (far, what) in [(0.8, "0.8"), (0.5, "0.5")] {
                let setting =
                    format!("half of the places at {what}, {}, luck {luck}, {}", noise.name(), shape.name());
                let near = places / 2;
                let trial = move |random: &mut SplitMix64| {
                    let rate = |place: usize| if place < near { 1.0 } else { far };
                    let claims = shape.claims(random, noise, luck, rate);
                    (
                        claims.iter().filter(|[better, worse]| *better < near && *worse >= near).count(),
                        near * (places - near) * subjects,
                    )
                };
                let limit = match (noise, luck, far) {
                    (Noise::HeavyTails, ..) => {
                        Limit::Told("hits of one side are told from a loss by more blocks")
                    }
                    (_, 0.03, _) => Limit::Told("allocations that differ by 3 % need more of them"),
                    (_, _, 0.8) if blocks < 10 || subjects < 8 && luck > 0.0 => {
                        Limit::Told("a fifth, not half")
                    }
                    _ => FOUND,
                };
                all.push(Experiment::new(("found", limit), setting, trials / 2, trial));
            }
        }
        let setting = format!("one place at 0.8, {}", shape.name());
        let trial = move |random: &mut SplitMix64| {
            let claims =
                shape.claims(random, Noise::Independent, 0.0, |place| if place == 0 { 0.8 } else { 1.0 });
            claims.iter().any(|[_, worse]| *worse != 0)
        };
        all.push(Experiment::new(
            ("documents that call an equal place worse", FALSE_CLAIMS),
            setting,
            trials,
            trial,
        ));
    }
    all
}
