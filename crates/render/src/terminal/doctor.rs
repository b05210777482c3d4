//! What a terminal shows of a node's settings: the answer, then what to look at, what cannot be known, and
//! what is in order.

use report::DoctorDocument;
use report::doctor::{Check, State};

use super::page::{Page, Tone};
use super::screen;
use super::table::Style;

/// Where what was seen begins.
const NAME_WIDTH: usize = 30;

/// The document as text for a terminal.
pub fn doctor(document: &DoctorDocument, style: &Style) -> String {
    let mut page = Page::new(style.width);
    for (at, sentence) in document.verdict.iter().enumerate() {
        page.paragraph(
            if at == 0 { Tone::Title } else { Tone::Plain },
            if at == 0 { "" } else { "  " },
            sentence,
        );
    }

    if let Some(sentence) = judged_by(document) {
        page.paragraph(Tone::Plain, "  ", &sentence);
    }

    let with = |state: State| document.checks.iter().filter(move |check| check.state == state);
    let is_brief = style.quiet || style.screen.is_some();
    section("Look at this", with(State::Look), Tone::Warning, is_brief, &mut page);
    section("Cannot be known", with(State::Unknown), Tone::Plain, is_brief, &mut page);
    if !style.quiet {
        section("Ok", with(State::Ok), Tone::Faint, true, &mut page);
    }
    let mut end = Page::new(style.width);
    if let Some(path) = &style.saved_to {
        end.paragraph(Tone::Faint, "", &format!("document: {path}"));
    }
    screen::finish(page, end, style)
}

/// Whose settings were judged by which saved machine.
fn judged_by(document: &DoctorDocument) -> Option<String> {
    let saved = document.judged_by.as_ref()?;
    let host = document.host.as_deref().unwrap_or("this machine");
    let name = saved.hostname.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    let file = &saved.file;
    Some(format!("The settings of {host}, judged by the saved machine {file}{name}, not by {host} itself."))
}

/// The checks of a section, those that cost first; `brief` leaves out why they matter.
fn section<'c>(
    title: &str,
    checks: impl Iterator<Item = &'c Check>,
    tone: Tone,
    brief: bool,
    page: &mut Page,
) {
    let mut checks: Vec<&Check> = checks.collect();
    if checks.is_empty() {
        return;
    }
    checks.sort_by_key(|check| !check.costs);
    page.blank();
    page.line(Tone::Title, title);

    for (check, names) in folded(&checks) {
        // Of what costs, what is not known is plain; of what does not, what is to be looked at.
        let is_plain = if check.costs { !check.is_costly() } else { check.state == State::Look };
        let tone = if is_plain { Tone::Plain } else { tone };
        let seen = if names.len() > 1 {
            format!("{}: {}", names.join(", "), check.seen)
        } else {
            check.seen.clone()
        };
        let name = if names.len() > 1 { format!("{} settings", names.len()) } else { check.name.clone() };
        page.paragraph(tone, &format!("  {name:<NAME_WIDTH$}"), &seen);
        let mut below =
            |lead: &str, text: &str| page.paragraph(Tone::Faint, &format!("      {lead}  "), text);
        if !brief && check.state == State::Look {
            below("why", &format!("{} ({})", check.why, check.source));
        }
        if let Some(change) = &check.change {
            below("do ", change);
        }
        if let Some(who) = &check.who {
            let why = if brief || !check.costs || names.len() > 1 {
                String::new()
            } else {
                format!("; {}", check.why)
            };
            below("who", &format!("{who}{why}"));
        }
    }
}

/// Checks that are unknown for one reason stand together: a library that is missing is one thing to see to.
fn folded<'c>(checks: &[&'c Check]) -> Vec<(&'c Check, Vec<&'c str>)> {
    let mut folded: Vec<(&Check, Vec<&str>)> = Vec::new();
    for check in checks {
        let same = |(first, _): &&mut (&Check, Vec<&str>)| {
            check.state == State::Unknown && (&first.seen, &first.who) == (&check.seen, &check.who)
        };
        match folded.iter_mut().find(same) {
            Some((_, names)) => names.push(&check.name),
            None => folded.push((check, vec![&check.name])),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use report::doctor::{Part, SavedMachine};
    use report::document::Tool;

    use report::SavedDocument;

    use super::*;

    fn check(name: &str, state: State, costs: bool) -> Check {
        let of = |state_wanted: State, text: &str| (state == state_wanted).then(|| text.to_owned());
        Check {
            name: name.to_owned(),
            part: Part::Memory,
            state,
            costs,
            seen: "as it is".to_owned(),
            why: "it matters".to_owned(),
            source: "a manual".to_owned(),
            change: of(State::Look, "change it"),
            who: of(State::Unknown, "root"),
        }
    }

    #[test]
    fn the_answer_comes_first_then_what_costs_then_what_is_unknown_and_what_is_well_has_a_line() {
        let mut document = DoctorDocument {
            schema: DoctorDocument::SCHEMA.to_owned(),
            schema_version: DoctorDocument::VERSION.number(),
            tool: Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None },
            argv: Vec::new(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            elapsed_s: 0.1,
            host: None,
            judged_by: None,
            exit_code: 5,
            verdict: vec!["The answer.".to_owned()],
            checks: vec![
                check("well", State::Ok, false),
                check("odd", State::Look, false),
                check("costly", State::Look, true),
                check("open", State::Unknown, true),
            ],
        };

        let mut style = Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
        let text = doctor(&document, &style);
        let at = |word: &str| text.find(word).unwrap_or(usize::MAX);
        assert_eq!(text.lines().next(), Some("The answer."));
        assert!(at("costly") < at("odd") && at("odd") < at("open") && at("open") < at("well"), "{text}");
        assert_eq!(text.matches("it matters (a manual)").count(), 2, "{text}");
        assert_eq!(text.matches("change it").count(), 2, "{text}");
        assert!(text.contains("root; it matters"), "{text}");
        assert!(!text.contains("saved machine"), "{text}");

        style.quiet = true;
        let quiet = doctor(&document, &style);
        assert!(
            quiet.contains("change it") && !quiet.contains("well") && !quiet.contains("a manual"),
            "{quiet}"
        );

        let (hostname, file) = (Some("node1".to_owned()), "node1.xml".to_owned());
        (document.host, document.judged_by) = (Some("vm".to_owned()), Some(SavedMachine { hostname, file }));
        let sentence =
            "  The settings of vm, judged by the saved machine node1.xml (node1), not by vm itself.";
        assert_eq!(doctor(&document, &style).lines().nth(1), Some(sentence));
    }
}
