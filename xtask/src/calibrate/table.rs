//! A verdict's experiments as a table in Markdown, as docs/measurements/calibration.md has them.

use super::experiment::{Counted, Limit};

/// The table.
pub fn table(verdict: &str, counted: &[Counted]) -> String {
    let mut text = format!("\n### {verdict}\n\n| counted | under | share | must be | |\n|---|---|---:|---|---|\n");
    for one in counted {
        let limit = match one.limit {
            Limit::AtMost(limit) => format!("≤ {:.0} %", limit * 100.0),
            Limit::AtLeast(limit) => format!("≥ {:.0} %", limit * 100.0),
            Limit::Told => "-".to_owned(),
        };
        let kept = if one.keeps() { "" } else { "BEYOND" };
        let (share, hits, of) = (one.share() * 100.0, one.hits, one.of);
        text += &format!("| {} | {} | {share:.1} % ({hits} of {of}) | {limit} | {kept} |\n", one.what, one.setting);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::experiment::FALSE_CLAIMS;

    #[test]
    fn a_figure_beyond_its_limit_is_marked() {
        let one = |hits| Counted {
            what: "false claims",
            setting: "8 cases".into(),
            limit: FALSE_CLAIMS,
            hits,
            of: 100,
            trials: 100,
        };
        let text = table("compare", &[one(3), one(40)]);
        assert!(text.contains("| false claims | 8 cases | 3.0 % (3 of 100) | ≤ 5 % |  |"), "{text}");
        assert!(text.contains("| 40.0 % (40 of 100) | ≤ 5 % | BEYOND |"), "{text}");
    }
}
