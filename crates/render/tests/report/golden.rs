//! Several texts as one snapshot: what a subject says in each of its cases stands in one file, where a better
//! sentence is a diff and no broken test.

/// Each text below its case.
pub fn cases<T: AsRef<str>>(texts: &[(&str, T)]) -> String {
    texts.iter().map(|(case, text)| format!("== {case}\n{}\n", text.as_ref().trim_end())).collect()
}
