//! A sample of pairs that stand for all (`--sample`): `stats::pair_sample` with the classes of link that the
//! topology and the driver tell apart, and what of it stands in the document. Pure.

use std::collections::BTreeSet;

use report::pair_sample::{PairSample, SampledClass};
use stats::pair_sample::{LinkPair, MemberEnds, sample};

use crate::fault::Fault;

/// A sample, as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleAsked {
    /// How many pairs.
    pub pairs: usize,
    /// The seed that chooses them.
    pub seed: u64,
}

/// Refuses a sample that would have every pair in it; a sample has at least `least` pairs.
///
/// # Errors
/// There are no more pairs than were asked for, or than every sample has.
pub fn refuse_whole(asked: usize, least: usize, pairs: usize) -> Result<(), Fault> {
    if asked.max(least) < pairs {
        return Ok(());
    }
    let why = match pairs {
        _ if asked < pairs => format!("every sample of {pairs} pairs has all of them; leave it out"),
        0 => "there is no pair; leave it out".to_owned(),
        1 => "there is 1 pair; leave it out".to_owned(),
        _ => format!("there are {pairs} pairs; ask for fewer, or leave it out"),
    };
    Err(Fault::usage(format!("--sample {asked} has no effect: {why}")))
}

/// Those of these pairs that are in the sample, in order, and what a document says of it; `link` names what
/// lies between the two ends of a pair.
pub fn sampled(
    pairs: &[(usize, usize)],
    ends: MemberEnds,
    asked: SampleAsked,
    link: impl Fn(usize, usize) -> String,
) -> (Vec<(usize, usize)>, PairSample) {
    let links: Vec<String> = pairs.iter().map(|(from, to)| link(*from, *to)).collect();
    let names: Vec<&String> = links.iter().collect::<BTreeSet<_>>().into_iter().collect();
    let class = |link: &String| names.partition_point(|name| *name < link);
    let classed: Vec<LinkPair> = pairs
        .iter()
        .zip(&links)
        .map(|((from, to), link)| LinkPair { from: *from, to: *to, class: class(link) })
        .collect();
    let chosen = sample(&classed, ends, asked.pairs, asked.seed);

    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let of_class = |(at, name): (usize, &&String)| SampledClass {
        link: (*name).clone(),
        chosen: number(chosen.iter().filter(|pair| classed[**pair].class == at).count()),
        of: number(classed.iter().filter(|pair| pair.class == at).count()),
    };
    let told = PairSample {
        asked: number(asked.pairs),
        chosen: number(chosen.len()),
        of: number(pairs.len()),
        classes: names.iter().enumerate().map(of_class).collect(),
    };

    (chosen.iter().map(|at| pairs[*at]).collect(), told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_of_each_class_how_many_pairs_of_it_are_in_the_sample() {
        let ends = |members: usize| (0..members).flat_map(move |from| (0..members).map(move |to| (from, to)));
        let pairs: Vec<(usize, usize)> = ends(8).filter(|(from, to)| from != to).collect();
        let link = |from: usize, to: usize| if from / 2 == to / 2 { "PIX" } else { "SYS" }.to_owned();
        let asked = SampleAsked { pairs: 12, seed: 1 };
        let (chosen, told) = sampled(&pairs, MemberEnds::Each, asked, link);

        assert_eq!((told.asked, told.chosen, told.of), (12, 12, 56));
        let of = |name: &str| chosen.iter().filter(|(from, to)| link(*from, *to) == name).count() as u32;
        let classes: Vec<(&str, u32, u32)> =
            told.classes.iter().map(|class| (&class.link[..], class.chosen, class.of)).collect();
        assert_eq!(classes, [("PIX", of("PIX"), 8), ("SYS", of("SYS"), 48)]);
        assert!(classes.iter().all(|(_, measured, _)| *measured >= 2), "{classes:?}");
    }

    #[test]
    fn a_sample_of_all_pairs_is_refused_with_what_there_is() {
        assert_eq!(refuse_whole(55, 8, 56).map_err(|fault| fault.to_string()), Ok(()));
        let why = |asked, pairs| refuse_whole(asked, 0, pairs).map_err(|fault| fault.to_string()).err();
        let said = [why(56, 56), why(2, 1), why(3, 0)].map(Option::unwrap_or_default);
        let expected = [
            "--sample 56 has no effect: there are 56 pairs; ask for fewer, or leave it out",
            "--sample 2 has no effect: there is 1 pair; leave it out",
            "--sample 3 has no effect: there is no pair; leave it out",
        ];
        assert_eq!(said, expected);
    }
}
