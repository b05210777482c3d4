//! Numbers of things: `1 rank`, `2 ranks`.

/// A number of things with their noun, which is given in the singular.
pub fn counted(number: usize, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "rank")), ["0 ranks", "1 rank", "2 ranks"]);
        assert_eq!([1, 2].map(|number| counted(number, "process")), ["1 process", "2 processes"]);
        assert_eq!(counted(4, "NUMA node"), "4 NUMA nodes");
    }
}
