//! What the options of all launchers that are called `mpirun` or `mpiexec` say alike: how many ranks, on
//! which hosts, with which variables.

use std::collections::BTreeMap;

use crate::count::Count;
use crate::error::LineError;
use crate::grammar::Given;
use crate::process::text_of;
use crate::value::count;

/// What the options of all three say alike.
#[derive(Debug, Default)]
pub(crate) struct Common<'l> {
    pub count: Count,
    pub environment: BTreeMap<String, String>,
    pub given: Vec<Given<'l>>,
}

impl Common<'_> {
    /// Takes an option, if all have it.
    ///
    /// # Errors
    /// [`LineError`]: its value is none.
    pub fn option(&mut self, one: &Given<'_>) -> Result<(), LineError> {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "n" | "np" | "c" => self.count.ranks = Some(one.count()?),
            "N" | "npernode" | "ppn" | "perhost" | "grr" => self.count.of_a_node = Some(one.count()?),
            "pernode" | "rr" => self.count.of_a_node = Some(1),
            "H" | "host" | "hosts" | "hostlist" => self.count.slots = slots(&option, value)?,
            "hostfile" | "machinefile" | "f" => self.count.slots = hostfile(value).unwrap_or_default(),
            "x" | "env" | "genv" => self.environment.extend(one.assignment()),
            _ => {}
        }
        Ok(())
    }

    /// What such an option gives each rank, where it has a list of that: `list:0-3:4-7`.
    ///
    /// # Errors
    /// [`LineError`]: an entry is none.
    pub fn list<T>(
        &self,
        names: &[&str],
        one: impl Fn(&str, &str) -> Result<T, LineError>,
    ) -> Result<Option<Vec<T>>, LineError> {
        let Some(given) = self.last(names) else { return Ok(None) };
        let list = given.value().split_once("list:").map(|(_, list)| list);
        list.map(|list| list.split(':').map(|rank| one(&given.spelled(), rank)).collect()).transpose()
    }

    /// The last value of an option by these names.
    pub fn last(&self, names: &[&str]) -> Option<&Given<'_>> {
        self.given.iter().rev().find(|one| names.contains(&one.name))
    }
}

/// The slots of each host of a file: `host slots=4`, `host:4`; `None` where it cannot be read.
fn hostfile(path: &str) -> Option<Vec<usize>> {
    let text = text_of(path)?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let slots = lines.filter(|line| !line.is_empty()).map(|line| {
        let named = line.split_once("slots").map(|(_, slots)| slots.trim_start_matches([' ', '=']));
        let behind =
            line.split_whitespace().next().and_then(|host| host.split_once(':')).map(|(_, slots)| slots);
        let number = named.or(behind).and_then(|slots| slots.split_whitespace().next());
        number.map_or(Some(1), |number| number.parse().ok())
    });
    slots.collect()
}

/// The slots of each host of `a:8,b:8`: a host counts as often as it is named.
fn slots(option: &str, value: &str) -> Result<Vec<usize>, LineError> {
    let mut hosts: Vec<(&str, usize)> = Vec::new();
    for entry in value.split(',').filter(|entry| !entry.is_empty()) {
        let (host, slots) = match entry.rsplit_once(':') {
            // As many as it has cores: which of the hosts gets a rank is then not known.
            Some((_, "*")) => return Ok(Vec::new()),
            Some((host, slots)) => (host, count(option, slots)?),
            None => (entry, 1),
        };
        match hosts.iter_mut().find(|(known, _)| *known == host) {
            Some((_, all)) => *all = all.saturating_add(slots),
            None => hosts.push((host, slots)),
        }
    }
    Ok(hosts.into_iter().map(|(_, slots)| slots).collect())
}
