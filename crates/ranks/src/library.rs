//! Which MPI a library is, by what its `MPI_Get_library_version` says.
//!
//! What matters is how its processes find one another, because that decides which launcher and which `srun
//! --mpi=` it needs: Open MPI and what is made of it (IBM Spectrum MPI, Fujitsu MPI) speak PMIx; MPICH and
//! what is made of it (Intel MPI, MVAPICH, HPE HMPT) speak PMI-1 and PMI-2; Cray MPICH brings a PMI of its
//! own. The texts in the tests are those the libraries print. A library nobody knows is `Other`: nothing is
//! guessed of it.

use std::fmt;

/// A family of MPI libraries whose processes find one another in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Open MPI, IBM Spectrum MPI, Fujitsu MPI.
    OpenMpi,
    /// MPICH, Intel MPI, MVAPICH, HPE HMPT.
    Mpich,
    /// HPE Cray MPICH.
    CrayMpich,
    /// Any other.
    Other,
}

/// An MPI library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its family.
    pub flavour: Flavour,
    /// Its own name, as its makers write it.
    pub name: String,
    /// Its version, as it spells it; empty where it says none.
    pub version: String,
    /// It is MPICH's own device for UCX that moves its messages.
    pub is_over_ucx: bool,
}

/// How the text begins, or what it holds; the name and family that stands for; and what stands before the
/// version. The first that fits is taken, so what is made of another library comes before it.
const KNOWN: [(&str, &str, Flavour, &str); 11] = [
    ("CRAY MPICH version", "Cray MPICH", Flavour::CrayMpich, "CRAY MPICH version"),
    ("IBM Spectrum MPI", "IBM Spectrum MPI", Flavour::OpenMpi, "Open MPI v"),
    ("FUJITSU MPI Library", "Fujitsu MPI", Flavour::OpenMpi, "FUJITSU MPI Library"),
    ("Open MPI", "Open MPI", Flavour::OpenMpi, "Open MPI v"),
    ("Intel(R) MPI Library", "Intel MPI", Flavour::Mpich, "Intel(R) MPI Library"),
    ("MVAPICH2 Version", "MVAPICH", Flavour::Mpich, ":"),
    ("MVAPICH Version", "MVAPICH", Flavour::Mpich, ":"),
    ("MPICH2 Version", "MPICH", Flavour::Mpich, ":"),
    ("MPICH Version", "MPICH", Flavour::Mpich, ":"),
    ("HPE HMPT", "HPE HMPT", Flavour::Mpich, "HPE HMPT"),
    ("HPE MPT", "HPE MPT", Flavour::Other, "HPE MPT"),
];

impl Library {
    /// The library that says this of itself (`MPI_Get_library_version`).
    pub fn from_version(text: &str) -> Self {
        let text = text.trim_end_matches('\0').trim();
        let Some((_, name, flavour, before)) = KNOWN.iter().find(|(mark, ..)| text.contains(mark)) else {
            let line = text.lines().next().unwrap_or_default().trim();
            let name = if line.is_empty() { "an MPI that does not say its name" } else { line };
            return Self {
                flavour: Flavour::Other,
                name: name.to_owned(),
                version: String::new(),
                is_over_ucx: false,
            };
        };

        let after = text.split_once(before).map_or("", |(_, after)| after);

        Self {
            flavour: *flavour,
            name: (*name).to_owned(),
            version: version(after),
            is_over_ucx: text.contains("ch4:ucx"),
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.version.is_empty() { "" } else { " " };
        write!(to, "{}{gap}{}", self.name, self.version)
    }
}

/// The version that a text begins with. Intel's older ones are `2019 Update 9`.
fn version(text: &str) -> String {
    let mut words = text.split([' ', '\t', '\n', ',']).filter(|word| !word.is_empty());
    let first =
        words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default();
    match (words.next(), words.next()) {
        (Some("Update"), Some(update)) => format!("{first} Update {update}"),
        _ => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Flavour, String) {
        let library = Library::from_version(text);
        (library.flavour, library.to_string())
    }

    #[test]
    fn mpichs_device_for_ucx_is_told_from_its_others() {
        let device = |name: &str| format!("MPICH Version:\t4.0.2\nMPICH Device:\t{name}\n");
        assert!(Library::from_version(&device("ch4:ucx")).is_over_ucx);
        for other in [device("ch4:ofi"), device("ch3:nemesis"), "Open MPI v4.1.4, ident: 4.1.4".to_owned()] {
            assert!(!Library::from_version(&other).is_over_ucx, "{other}");
        }
    }

    #[test]
    fn each_library_is_known_by_its_own_words() {
        let texts = [
            // Debian 12's, with the zero that its length counts.
            (
                "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022\0",
                Flavour::OpenMpi,
                "Open MPI 4.1.4",
            ),
            ("FUJITSU MPI Library 4.0.0 (4.0.1fj4.0.0)\0", Flavour::OpenMpi, "Fujitsu MPI 4.0.0"),
            (
                "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n\
                 MPICH ABI:\t14:2:2\nMPICH Device:\tch4:ucx\n",
                Flavour::Mpich,
                "MPICH 4.0.2",
            ),
            (
                "MPICH Version:      4.1a1\nMPICH Release date: unreleased development copy\n",
                Flavour::Mpich,
                "MPICH 4.1a1",
            ),
            (
                "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n\
                 MPI BUILD INFO : Sun Feb 26 16:42 2023 (git hash aecd99f)\n",
                Flavour::CrayMpich,
                "Cray MPICH 8.1.25.17",
            ),
            (
                "MPI VERSION    : CRAY MPICH version 9.0.0.113 (ANL base 4.1.2)\n",
                Flavour::CrayMpich,
                "Cray MPICH 9.0.0.113",
            ),
            ("Intel(R) MPI Library 2021.9 for Linux* OS\n", Flavour::Mpich, "Intel MPI 2021.9"),
            ("Intel(R) MPI Library 2019 Update 9 for Linux* OS\n", Flavour::Mpich, "Intel MPI 2019 Update 9"),
            (
                "MVAPICH2 Version      :\t2.3.5\nMVAPICH2 Release date :\tMon November 30 22:00:00 EST 2020\n\
                 MVAPICH2 Device       :\tch3:mrail\n",
                Flavour::Mpich,
                "MVAPICH 2.3.5",
            ),
            (
                "MVAPICH Version:  3.3b2\nMVAPICH Release date: Mon Apr  9 17:58:42 CDT 2018\n",
                Flavour::Mpich,
                "MVAPICH 3.3b2",
            ),
            ("HPE HMPT 2.23  08/26/20 02:59:48-root", Flavour::Mpich, "HPE HMPT 2.23"),
            ("HPE MPT 2.23  08/26/20 02:54:49-root", Flavour::Other, "HPE MPT 2.23"),
        ];

        for (text, flavour, name) in texts {
            assert_eq!(read(text), (flavour, name.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn an_mpi_made_of_open_mpi_keeps_its_name() {
        let text = "Open MPI v10.3.1.03rtm0, package: IBM Spectrum MPI, ident: IBM Spectrum MPI\n";
        assert_eq!(read(text), (Flavour::OpenMpi, "IBM Spectrum MPI 10.3.1.03rtm0".to_owned()));
    }

    #[test]
    fn a_stranger_is_called_by_its_first_line_and_nothing_is_guessed() {
        assert_eq!(read("Some MPI 1.0\nbuilt yesterday\n"), (Flavour::Other, "Some MPI 1.0".to_owned()));
        assert_eq!(read("  \0"), (Flavour::Other, "an MPI that does not say its name".to_owned()));
        assert_eq!(read("Open MPI, no version"), (Flavour::OpenMpi, "Open MPI".to_owned()));
    }
}
