//! What a rankfile, a shell's words or a wrapper's script say of each rank's place: slots, variables by the rank's number, numbered cases.
//!
//! Read are the forms that `place` writes and those that sites' guides have (`CUDA_VISIBLE_DEVICES=$SLURM_LOCALID`). No shell is run: what else a
//! script does is not known.

use std::collections::BTreeMap;
use std::path::Path;

use stats::IdSet;
use topo::process::PolicyMode;

use super::rank::Gpus;
use super::shell::assignment;
use super::value::{count, ids, number};
use super::{LineError, Said};

/// Of a script or rankfile that people write.
const MOST_BYTES: u64 = 1 << 20;

impl Said<'_> {
    /// Open MPI's file: `rank N=HOST slot=LIST`.
    pub(super) fn rankfile(&mut self, path: &str) -> Result<(), LineError> {
        let bytes = topo::read_input(Path::new(path), MOST_BYTES)
            .map_err(|error| LineError::NotSaid(format!("the rankfile {path} cannot be read: {error}")))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut hosts: Vec<&str> = Vec::new();
        let mut ranks: BTreeMap<usize, (&str, IdSet)> = BTreeMap::new();
        for line in text.lines() {
            let entry = line.trim().strip_prefix("rank ").and_then(|rest| rest.split_once('='));
            let Some((rank, rest)) = entry else { continue };
            let (host, slots) = rest.split_once("slot=").unwrap_or((rest, ""));
            let (host, slots) = (host.trim(), slots.trim());
            if !hosts.contains(&host) {
                hosts.push(host);
            }
            ranks.insert(number("rank", rank.trim())?, (host, ids("slot of the rankfile", slots)?));
        }
        // Those of the first host: a node is judged by itself.
        let (Some(first), all) = (ranks.values().next().map(|(host, _)| *host), ranks.len()) else {
            return Err(LineError::NotSaid(format!("the rankfile {path} has no line \"rank N=HOST slot=LIST\"")));
        };
        let own: Vec<IdSet> = ranks.into_values().filter(|(host, _)| *host == first).map(|(_, pus)| pus).collect();
        if hosts.len() > 1 {
            self.count.nodes = Some(hosts.len());
            self.count.ranks = self.count.ranks.or(Some(all));
            self.count.of_a_node = Some(own.len());
        }
        self.pus = Some(own);
        Ok(())
    }

    /// A wrapper that can be read here; a program that cannot is no wrapper that matters.
    pub(super) fn file(&mut self, path: &str) -> Result<(), LineError> {
        match topo::read_input(Path::new(path), MOST_BYTES).map(String::from_utf8) {
            Ok(Ok(text)) if text.starts_with("#!") => self.script(&text),
            _ => Ok(()),
        }
    }

    /// A shell's words: variables by the rank's number, and `place --emit wrapper`'s cases.
    pub(super) fn script(&mut self, text: &str) -> Result<(), LineError> {
        self.through_exec |= text.contains("numabench exec");
        let variables = ["CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES="];
        let cases = cases(text);
        if !cases.is_empty() {
            let of = |key: &str| -> Vec<Option<String>> { cases.iter().map(|case| case.get(key).cloned()).collect() };
            if let Some(pus) = of("pus").into_iter().collect::<Option<Vec<String>>>() {
                self.pus = Some(pus.iter().map(|pus| ids("pus", pus)).collect::<Result<_, _>>()?);
            }
            let memory = of("memory")
                .into_iter()
                .map(|node| node.map(|node| ids("memory", &node).map(|nodes| (PolicyMode::Bind, nodes))).transpose());
            self.memory = memory.collect::<Result<_, _>>()?;
            let visible = variables.iter().map(|name| of(name.trim_end_matches('=')));
            let indices = |values: Vec<Option<String>>| -> Option<Vec<Vec<usize>>> {
                values.into_iter().map(|value| Some(vec![value?.parse().ok()?])).collect()
            };
            self.gpus = visible.filter_map(indices).next().map(Gpus::Lists).or(self.gpus.take());
            return Ok(());
        }
        let value = variables.iter().find_map(|name| text.split_once(name).map(|(_, after)| after));
        let Some(value) = value else { return Ok(()) };
        let value = value.trim_start_matches('"').split([';', ' ', '\n', '"', '&']).next().unwrap_or_default();
        if let Some(block) = value.strip_prefix("$((SLURM_LOCALID/").and_then(|rest| rest.strip_suffix("))")) {
            self.gpus = Some(Gpus::Blocks(count("SLURM_LOCALID/", block)?));
        } else if ["$SLURM_LOCALID", "${SLURM_LOCALID}", "$OMPI_COMM_WORLD_LOCAL_RANK", "$MPI_LOCALRANKID"]
            .contains(&value)
        {
            self.gpus = Some(Gpus::Blocks(1));
        } else if value == "$g" {
            let list = text.split_once("for g in ").and_then(|(_, rest)| rest.split_once(';')).map(|(list, _)| list);
            let one = |index: &str| number("for g in", index).map(|index| vec![index]);
            let each: Result<Vec<_>, _> = list.unwrap_or_default().split_whitespace().map(one).collect();
            self.gpus = Some(Gpus::Lists(each?));
        } else if !value.starts_with('$') {
            self.visible = Some(value.to_owned());
        }
        Ok(())
    }
}

/// The assignments in each numbered case of a script, in order.
fn cases(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut cases: BTreeMap<usize, BTreeMap<String, String>> = BTreeMap::new();
    let mut open: Option<usize> = None;
    for line in text.lines().map(str::trim) {
        if let Some(rank) = line.strip_suffix(')').and_then(|rank| rank.parse().ok()) {
            open = Some(rank);
        } else if line == ";;" {
            open = None;
        } else if let (Some(rank), Some((name, value))) = (open, assignment(line.trim_start_matches("export "))) {
            cases.entry(rank).or_default().insert(name.to_owned(), value.to_owned());
        }
    }
    cases.into_values().collect()
}
