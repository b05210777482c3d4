//! What the checks come to: the answer in a sentence, and the exit code.

use report::doctor::{Check, State};

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Sentences, the first of which is the answer.
    pub verdict: Vec<String>,
    /// 0, 5 or 6.
    pub exit_code: u8,
}

/// What these checks come to: 5 where one costs placement or bandwidth, else 6 where one that could is
/// unknown, else 0.
pub fn answer(checks: &[Check]) -> Diagnosis {
    let named = |holds: fn(&Check) -> bool| -> Vec<&str> {
        checks.iter().filter(|check| holds(check)).map(|check| check.name.as_str()).collect()
    };
    let costly = named(Check::is_costly);
    let open = named(Check::is_open);
    let unknown: Vec<&Check> = checks.iter().filter(|check| check.state == State::Unknown).collect();
    let looks = named(|check| check.state == State::Look && !check.costs);
    let all = checks.len();
    let mut verdict = vec![match (costly.len(), unknown.len()) {
        (0, 0) => format!("Nothing to look at: none of {all} settings costs placement or bandwidth."),
        (0, some) => format!(
            "Nothing found that costs placement or bandwidth; {some} of {all} settings cannot be known \
             without {}.",
            askers(&unknown)
        ),
        (1, _) => format!("1 of {all} settings costs placement or bandwidth: {}.", costly[0]),
        (some, _) => format!("{some} of {all} settings cost placement or bandwidth: {}.", costly.join(", ")),
    }];

    if !costly.is_empty() && !unknown.is_empty() {
        verdict.push(format!("{} cannot be known without {}.", unknown.len(), askers(&unknown)));
    }
    if !looks.is_empty() {
        verdict.push(format!("Worth a look, at no such cost: {}.", looks.join(", ")));
    }
    let exit_code = match (costly.is_empty(), open.is_empty()) {
        (false, _) => 5,
        (true, false) => 6,
        (true, true) => 0,
    };
    Diagnosis { verdict, exit_code }
}

/// Who could know what is unknown, each once.
fn askers(unknown: &[&Check]) -> String {
    let mut who: Vec<&str> = Vec::new();
    for check in unknown {
        if let Some(one) = check.who.as_deref().filter(|one| !who.contains(one)) {
            who.push(one);
        }
    }
    match who.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "somebody else".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use report::doctor::Part;

    use super::*;

    fn check(name: &str, state: State, costs: bool) -> Check {
        let who = (state == State::Unknown).then(|| "root".to_owned());
        let text = String::new;
        Check {
            name: name.to_owned(),
            part: Part::Cpu,
            state,
            costs,
            seen: text(),
            why: text(),
            source: text(),
            change: None,
            who,
        }
    }

    #[test]
    fn what_costs_decides_then_what_is_unknown_and_could_and_nothing_else() {
        let ok = check("a", State::Ok, false);
        let remark = check("b", State::Look, false);
        let costly = check("c", State::Look, true);
        let (open, unknown) = (check("d", State::Unknown, true), check("e", State::Unknown, false));
        let of = |checks: &[&Check]| answer(&checks.iter().map(|one| (*one).clone()).collect::<Vec<_>>());
        assert_eq!(of(&[&ok]).exit_code, 0);
        assert_eq!(of(&[&ok, &remark, &unknown]).exit_code, 0);
        assert_eq!(of(&[&ok, &open, &unknown]).exit_code, 6);
        assert_eq!(of(&[&ok, &open, &costly]).exit_code, 5);
        assert_eq!(of(&[&ok, &costly]).verdict[0], "1 of 2 settings costs placement or bandwidth: c.");
        assert_eq!(
            of(&[&ok, &open, &unknown]).verdict[0],
            "Nothing found that costs placement or bandwidth; 2 of 3 settings cannot be known without root."
        );
    }
}
