//! Which variants there are, and their names.

use super::*;

fn vary(name: &str, values: &[&str]) -> Vary {
    Vary { name: name.to_owned(), values: values.iter().map(|value| (*value).to_owned()).collect() }
}

#[test]
fn values_are_combined_each_with_each() {
    let lists = [vary("A", &["1", "2"]), vary("B", &["x", "y"])];
    let all = combined(&lists);
    assert_eq!(all.len(), 4);
    assert_eq!(all[1], [("A", "1"), ("B", "y")]);
    assert_eq!(combined(&[]), [Vec::new()]);
}

#[test]
fn a_variable_that_is_varied_twice_is_refused_with_its_one_list() {
    let lists = [vary("A", &["1"]), vary("membind", &["local"]), vary("A", &["2", "3"])];
    let refused = varied_once(&lists).err().map(|fault| fault.to_string()).unwrap_or_default();
    assert!(refused.ends_with("--vary A=1,2,3"), "{refused}");
    assert!(varied_once(&lists[..2]).is_ok());
}

#[test]
fn only_a_placed_variant_of_the_first_line_without_values_differs_by_its_place()
-> Result<(), Box<dyn std::error::Error>> {
    let template = Template::parse("srun {bind} {app}")?;
    let close = Some(Strategy::Close);
    let choice = |launch, strategy, values| Choice { launch, strategy, values }.differs_by_place();
    assert!(choice(None, close, Vec::new()) && choice(Some((0, &template)), close, Vec::new()));
    assert!(choice(None, None, vec![(MEMBIND, "local")]));
    assert!(!choice(None, close, vec![("A", "1")]) && !choice(None, None, vec![("A", "1")]));
    assert!(!choice(Some((1, &template)), close, Vec::new()));
    assert!(!choice(None, None, vec![(MEMBIND, "none")]));
    Ok(())
}

#[test]
fn a_name_says_what_differs_from_the_baseline() -> Result<(), Box<dyn std::error::Error>> {
    let template = Template::parse("srun {bind} {app}")?;
    let choice = |launch, strategy, values| name(&Choice { launch, strategy, values }, true);
    assert_eq!(choice(None, None, Vec::new()), "baseline");
    assert_eq!(choice(Some((0, &template)), Some(Strategy::Close), vec![("A", "1")]), "close A=1");
    assert_eq!(choice(Some((1, &template)), None, Vec::new()), "launch-2");
    Ok(())
}
