//! The size of a copy, by the command line above an output of nvbandwidth.

/// What a command line above the output says of the size of a copy; the output itself does not say it.
pub(super) enum CopySize {
    /// Nothing: it is the program's own.
    Unsaid,
    Bytes(u64),
    /// The option is there, and no number behind it.
    Unread(String),
}

impl CopySize {
    /// Of a line that runs nvbandwidth; `None` of others.
    ///
    /// Forms of the option: `-b MIB`, `-bMIB`, `--bufferSize MIB`, `--bufferSize=MIB`, and beginnings of its
    /// name (nvbandwidth.cpp and boost::program_options, which it reads them by).
    pub(super) fn of(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let program = words.iter().position(|word| word.rsplit('/').next() == Some("nvbandwidth"))?;
        let ends = |word: &&str| ["|", ">", "&", ";", "2>"].iter().any(|sign| word.starts_with(sign));
        let behind = &words[program + 1..];
        // A sentence about the program is no command line.
        if behind.first().is_some_and(|word| !word.starts_with('-') && !ends(word)) {
            return None;
        }

        let own: Vec<&str> = behind.iter().copied().take_while(|word| !ends(word)).collect();
        let next = |at: usize| own.get(at + 1).copied().unwrap_or_default();
        let value = own.iter().enumerate().find_map(|(at, word)| {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').unwrap_or_else(|| (long, next(at)));
                return (!name.is_empty() && "bufferSize".starts_with(name)).then_some(value);
            }
            let value = word.strip_prefix("-b")?;
            Some(if value.is_empty() { next(at) } else { value })
        });
        let Some(value) = value else { return Some(Self::Unsaid) };
        let bytes = value.parse::<u64>().ok().and_then(|mib| mib.checked_mul(1 << 20));
        Some(bytes.map_or_else(|| Self::Unread(format!("-b {value}")), Self::Bytes))
    }

    pub(super) fn bytes(&self) -> Option<u64> {
        if let Self::Bytes(bytes) = self { Some(*bytes) } else { None }
    }
}
