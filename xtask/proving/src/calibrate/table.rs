//! A verdict's experiments as docs/measurements have them: a line of summary for each thing that is counted,
//! and every row as CSV.

use super::experiment::{Counted, Limit};

/// The first line of the file of rows.
pub const CSV_HEAD: &str = "verdict,counted,under,hits,of,trials,limit,kept\n";

/// What stands above the lines of summary.
pub const HEAD: &str =
    "| verdict | counted | rows | must be | the worst row | |\n|---|---|---:|---|---|---|\n";

/// A line for each thing that is counted of a verdict: how many rows there are, and the worst of them.
pub fn summary(verdict: &str, rows: &[Counted]) -> String {
    let mut kinds: Vec<(&str, Limit)> = Vec::new();
    for row in rows {
        if !kinds.contains(&(row.what, row.limit)) {
            kinds.push((row.what, row.limit));
        }
    }
    let line = |(what, limit): (&str, Limit)| {
        let of_kind: Vec<&Counted> =
            rows.iter().filter(|row| (row.what, row.limit) == (what, limit)).collect();
        // False claims: the largest share. What must be found: the smallest.
        let badness = |row: &&&Counted| {
            if matches!(limit, Limit::AtLeast(_) | Limit::AtLeastFor(..)) {
                -row.share()
            } else {
                row.share()
            }
        };
        let worst = of_kind.iter().max_by(|a, b| badness(a).total_cmp(&badness(b)));
        let beyond = of_kind.iter().filter(|row| !row.keeps()).count();
        let mark = if beyond > 0 { format!("BEYOND: {beyond}") } else { String::new() };
        let worst = worst.map_or(String::new(), |row| format!("{}: {}", share(row), row.setting));
        format!("| {verdict} | {what} | {} | {} | {worst} | {mark} |\n", of_kind.len(), limit_text(limit))
    };
    kinds.into_iter().map(line).collect()
}

/// A row as a line of CSV.
pub fn csv_row(verdict: &str, one: &Counted) -> String {
    let setting = one.setting.replace('"', "'");
    let (hits, of, trials, limit) = (one.hits, one.of, one.trials, limit_text(one.limit));
    format!("{verdict},\"{}\",\"{setting}\",{hits},{of},{trials},\"{limit}\",{}\n", one.what, one.keeps())
}

fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::AtMost(limit) => format!("≤ {:.0} %", limit * 100.0),
        Limit::AtLeast(limit) => format!("≥ {:.0} %", limit * 100.0),
        Limit::AtMostFor(limit, reason) => format!("≤ {:.0} % ({reason})", limit * 100.0),
        Limit::AtLeastFor(limit, reason) => format!("≥ {:.0} % ({reason})", limit * 100.0),
        Limit::Told(reason) => format!("- ({reason})"),
    }
}

fn share(one: &Counted) -> String {
    format!("{:.1} % ({} of {})", one.share() * 100.0, one.hits, one.of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::experiment::{FALSE_CLAIMS, FOUND};

    fn one(what: &'static str, limit: Limit, setting: &str, hits: usize) -> Counted {
        Counted { what, setting: setting.into(), limit, hits, of: 100, trials: 100 }
    }

    #[test]
    fn the_worst_row_of_each_kind_is_named_and_those_beyond_their_limit_are_counted() {
        let rows = [
            one("false claims", FALSE_CLAIMS, "8 cases", 3),
            one("found", FOUND, "half", 99),
            one("false claims", FALSE_CLAIMS, "40 cases", 40),
            one("found", FOUND, "a third", 97),
        ];
        let text = summary("compare", &rows);
        let want = "| compare | false claims | 2 | ≤ 5 % | 40.0 % (40 of 100): 40 cases | BEYOND: 1 |\n\
                    | compare | found | 2 | ≥ 95 % | 97.0 % (97 of 100): a third |  |\n";
        assert_eq!(text, want);
    }

    #[test]
    fn a_row_is_a_line_of_csv_with_its_text_in_quotes() {
        let row = csv_row("compare", &one("false claims", FALSE_CLAIMS, "3 runs, in turns", 40));
        assert_eq!(row, "compare,\"false claims\",\"3 runs, in turns\",40,100,100,\"≤ 5 %\",false\n");
        assert_eq!(CSV_HEAD.matches(',').count(), 7);
    }
}
