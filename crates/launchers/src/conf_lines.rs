//! Lines of Slurm's files: `#` begins a comment, and what ends with a backslash goes on (slurm.conf(5)).

/// The lines of a file that say something, with the number of the last line of each, from 1.
pub fn conf_lines(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut lines = (1..).zip(text.lines());

    std::iter::from_fn(move || {
        let mut whole = String::new();
        let mut last = None;
        for (number, line) in lines.by_ref() {
            let line = line.split('#').next().unwrap_or_default().trim_end();
            last = Some(number);
            whole.push_str(line.trim_end_matches('\\'));
            if !line.ends_with('\\') {
                break;
            }
            whole.push(' ');
        }
        Some((last?, whole))
    })
    .filter(|(_, line)| !line.trim().is_empty())
}

/// The last value of a parameter that has a line of its own; its name counts in any case.
pub fn last_value(text: &str, name: &str) -> Option<String> {
    let value = |(_, line): (usize, String)| {
        let (own, value) = line.split_once('=')?;
        own.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    };
    conf_lines(text).filter_map(value).last()
}

/// The file that an `Include` line names.
pub fn included(line: &str) -> Option<&str> {
    let (word, file) = line.trim().split_once(char::is_whitespace)?;
    word.eq_ignore_ascii_case("include").then(|| file.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::{conf_lines, included};

    #[test]
    fn a_line_that_goes_on_is_one_line_and_comments_are_none() {
        let text = "# a site\nTaskPlugin=\\\n  task/cgroup,task/affinity # both\n\nGresTypes=gpu \\\n";
        let lines: Vec<_> = conf_lines(text).collect();
        assert_eq!(
            lines,
            [(3, "TaskPlugin=   task/cgroup,task/affinity".to_owned()), (5, "GresTypes=gpu  ".to_owned())]
        );
    }

    #[test]
    fn an_include_line_names_its_file_in_any_case() {
        assert_eq!(included("  include /etc/slurm/nodes.conf "), Some("/etc/slurm/nodes.conf"));
        assert_eq!(included("Includes=1 2"), None);
        assert_eq!(included("Include"), None);
    }
}
