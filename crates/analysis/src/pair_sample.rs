//! What a run says first whose pairs are a sample of all: how many they are, of which kinds of link, and that
//! the others were not measured.

use report::pair_sample::{PairSample, SampledClass};

/// The sentence; `member` is what pairs are of: `GPU`.
pub fn sentence(sample: &PairSample, member: &str) -> String {
    let PairSample { asked, chosen, of, classes } = sample;
    if chosen == of {
        return format!("All {of} pairs: {asked} would leave out a {member} or a kind of link.");
    }
    let more = match chosen > asked {
        true => format!(" ({asked} would leave out a {member} or a kind of link)"),
        false => String::new(),
    };

    let class = |class: &SampledClass| format!("{} {} of {}", name(class), class.chosen, class.of);
    let listed = classes.iter().map(class).collect::<Vec<_>>().join("; ");
    let kinds = match &classes[..] {
        [one] if is_unknown(one) => format!("of links that are not known, chosen by {member} alone"),
        [one] => format!("all of one kind of link ({})", one.link),
        several => {
            let least = several.iter().map(|class| class.chosen).min().unwrap_or_default();
            format!("each kind of link at least {} ({listed})", times(least))
        }
    };
    format!("A sample: {chosen} of {of} pairs{more}, {kinds}; nothing is said of the others.")
}

/// Whether nobody says what the link is.
fn is_unknown(class: &SampledClass) -> bool {
    class.link.trim_start_matches("same node, ").starts_with('?')
}

/// The link as sentences say it.
fn name(class: &SampledClass) -> String {
    if is_unknown(class) { class.link.replace('?', "unknown link") } else { class.link.clone() }
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(asked: u32, classes: &[(&str, u32, u32)]) -> PairSample {
        let class = |(link, measured, of): &(&str, u32, u32)| SampledClass {
            link: (*link).to_owned(),
            chosen: *measured,
            of: *of,
        };
        PairSample {
            asked,
            chosen: classes.iter().map(|(_, measured, _)| measured).sum(),
            of: classes.iter().map(|(_, _, of)| of).sum(),
            classes: classes.iter().map(class).collect(),
        }
    }

    #[test]
    fn a_sample_says_its_size_its_kinds_of_link_and_why_it_is_larger_than_asked_for() {
        let said = [
            sentence(&sample(16, &[("PIX", 4, 48), ("SYS", 12, 192)]), "GPU"),
            sentence(&sample(16, &[("NV18", 16, 56)]), "GPU"),
            sentence(&sample(2, &[("same node, PIX", 1, 1), ("other node", 3, 15)]), "rank"),
            sentence(&sample(1, &[("PIX", 2, 2)]), "GPU"),
            sentence(&sample(8, &[("?", 8, 56)]), "GPU"),
            sentence(&sample(8, &[("?", 4, 42), ("?, staged", 4, 14)]), "GPU"),
        ];
        let expected = [
            "A sample: 16 of 240 pairs, each kind of link at least 4 times (PIX 4 of 48; SYS 12 of 192); nothing \
             is said of the others.",
            "A sample: 16 of 56 pairs, all of one kind of link (NV18); nothing is said of the others.",
            "A sample: 4 of 16 pairs (2 would leave out a rank or a kind of link), each kind of link at least \
             once (same node, PIX 1 of 1; other node 3 of 15); nothing is said of the others.",
            "All 2 pairs: 1 would leave out a GPU or a kind of link.",
            "A sample: 8 of 56 pairs, of links that are not known, chosen by GPU alone; nothing is said of the \
             others.",
            "A sample: 8 of 56 pairs, each kind of link at least 4 times (unknown link 4 of 42; unknown link, \
             staged 4 of 14); nothing is said of the others.",
        ];
        assert_eq!(said, expected);
    }
}
