//! A verdict's experiments as a table in Markdown, as docs/measurements/calibration.md has them.

use super::experiment::{Counted, Limit};

/// What stands above the rows.
pub fn head(verdict: &str) -> String {
    format!("\n### {verdict}\n\n| counted | under | share | must be | |\n|---|---|---:|---|---|\n")
}

/// A row, with the reason where nothing is promised.
pub fn row(one: &Counted) -> String {
    let (limit, reason) = match one.limit {
        Limit::AtMost(limit) => (format!("≤ {:.0} %", limit * 100.0), ""),
        Limit::AtLeast(limit) => (format!("≥ {:.0} %", limit * 100.0), ""),
        Limit::Told(reason) => ("-".to_owned(), reason),
    };
    let mark = if one.keeps() { reason } else { "BEYOND" };
    let (share, hits, of) = (one.share() * 100.0, one.hits, one.of);
    format!("| {} | {} | {share:.1} % ({hits} of {of}) | {limit} | {mark} |\n", one.what, one.setting)
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
        let text = [row(&one(3)), row(&one(40))].concat();
        assert!(text.contains("| false claims | 8 cases | 3.0 % (3 of 100) | ≤ 5 % |  |"), "{text}");
        assert!(text.contains("| 40.0 % (40 of 100) | ≤ 5 % | BEYOND |"), "{text}");
    }
}
