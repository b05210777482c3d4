//! What a process says of itself first, and what it is told of the others: all that planning the ranks of a
//! node takes.

use placement::{Member, Target};
use ranks::WorldPlace;
use serde::{Deserialize, Serialize};
use topo::Topology;

use crate::agreement::host;

/// A process that is not as rank 0 is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} on {host} has {what} {this} and rank 0 has {that}: {remedy}")]
pub struct Otherwise {
    /// Which.
    pub rank: usize,
    /// Where it runs.
    pub host: String,
    /// What is otherwise.
    pub what: &'static str,
    /// What it has.
    pub this: String,
    /// What rank 0 has.
    pub that: String,
    /// What to do.
    pub remedy: String,
}

/// What a process knows of itself.
pub struct Introduced<'i> {
    /// Where it stands in the launch.
    pub place: WorldPlace,
    /// The version of its program.
    pub version: &'i str,
    /// The arguments of its program, without the name.
    pub arguments: Vec<String>,
    /// The machine as it sees it.
    pub topology: &'i Topology,
    /// The kind of its devices.
    pub platform: &'i str,
    /// Why no GPU takes part, where none does.
    pub why_host: Option<&'i str>,
    /// The devices that it sees, in its own order.
    pub devices: Vec<Target>,
}

/// What a process says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Handshake {
    version: String,
    arguments: Vec<String>,
    platform: String,
    why_host: Option<String>,
    node: usize,
    host: String,
    neighbour: Neighbour,
}

/// What the processes of a node tell each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Neighbour {
    rank: usize,
    member: Member,
}

/// What a process is told of the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaunchLayout {
    neighbours: Vec<Neighbour>,
    /// The node of every rank.
    pub nodes: Vec<usize>,
    /// The host of every node.
    pub hosts: Vec<String>,
}

impl Handshake {
    /// Of this process.
    pub fn of(process: Introduced<'_>) -> Self {
        let rank = process.place.rank;
        let member = Member {
            name: format!("rank {rank}"),
            allowed: process.topology.allowed.clone(),
            visible: process.devices,
        };
        Self {
            version: process.version.to_owned(),
            arguments: process.arguments,
            platform: process.platform.to_owned(),
            why_host: process.why_host.map(str::to_owned),
            node: process.place.node,
            host: host(),
            neighbour: Neighbour { rank, member },
        }
    }
}

/// Tells each process of the others, if all are the same program with the same options on the same kind of
/// device.
///
/// # Errors
/// [`Otherwise`]: who is not as rank 0 is, and how.
pub fn layouts(handshakes: Vec<Handshake>) -> Result<Vec<LaunchLayout>, Otherwise> {
    let Some(first) = handshakes.first() else { return Ok(Vec::new()) };
    for (rank, handshake) in handshakes.iter().enumerate() {
        let otherwise = |what: &'static str, this: &str, that: &str, remedy: &str| {
            let (host, this, that) = (handshake.host.clone(), this.to_owned(), that.to_owned());
            Err(Otherwise { rank, host, what, this, that, remedy: remedy.to_owned() })
        };
        if handshake.version != first.version {
            return otherwise(
                "version",
                &handshake.version,
                &first.version,
                "start the same numabench everywhere",
            );
        }
        if handshake.arguments != first.arguments {
            let (this, that) = (handshake.arguments.join(" "), first.arguments.join(" "));
            let remedy = "all ranks take the same options; rank i of a node takes the i-th of --cpus and \
                --gpus by itself";
            return otherwise("the options", &format!("`{this}`"), &format!("`{that}`"), remedy);
        }
        if handshake.platform != first.platform {
            let why = handshake.why_host.as_ref().or(first.why_host.as_ref()).map_or("", String::as_str);
            let remedy = format!("{why}; give every rank a GPU, or --backend host to all");
            return otherwise("devices of kind", &handshake.platform, &first.platform, &remedy);
        }
    }

    let nodes: Vec<usize> = handshakes.iter().map(|handshake| handshake.node).collect();
    let count = nodes.iter().max().map_or(0, |last| last + 1);
    let host = |node| {
        handshakes.iter().find(|handshake| handshake.node == node).map(|handshake| handshake.host.clone())
    };
    let hosts: Vec<String> = (0..count).map(|node| host(node).unwrap_or_default()).collect();
    let of_node = |node| {
        handshakes.iter().filter(|other| other.node == node).map(|other| other.neighbour.clone()).collect()
    };
    let by_node: Vec<Vec<Neighbour>> = (0..count).map(of_node).collect();
    let layout = |node: &usize| LaunchLayout {
        neighbours: by_node[*node].clone(),
        nodes: nodes.clone(),
        hosts: hosts.clone(),
    };
    Ok(nodes.iter().map(layout).collect())
}

impl LaunchLayout {
    /// The ranks of this node as planning takes them, in order.
    pub fn members(&self) -> Vec<Member> {
        self.neighbours.iter().map(|neighbour| neighbour.member.clone()).collect()
    }

    /// The launch's number of each of this node's ranks.
    pub fn ranks(&self) -> Vec<usize> {
        self.neighbours.iter().map(|neighbour| neighbour.rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use topo::model::Allowed;

    use super::*;

    fn handshake(rank: usize, node: usize) -> Handshake {
        Handshake {
            version: "1".to_owned(),
            arguments: vec!["pingpong".to_owned()],
            platform: "host".to_owned(),
            why_host: None,
            node,
            host: format!("nid{node}"),
            neighbour: Neighbour {
                rank,
                member: Member {
                    name: format!("rank {rank}"),
                    allowed: Allowed::default(),
                    visible: Vec::new(),
                },
            },
        }
    }

    #[test]
    fn each_is_told_of_its_own_node_and_of_where_the_others_are() -> Result<(), Otherwise> {
        // Ranks distributed over nodes in turn, as srun -m cyclic does.
        let told = layouts(vec![handshake(0, 0), handshake(1, 1), handshake(2, 0), handshake(3, 1)])?;
        assert_eq!(
            told.iter().map(LaunchLayout::ranks).collect::<Vec<_>>(),
            [[0, 2], [1, 3], [0, 2], [1, 3]]
        );
        assert_eq!(
            (&told[3].nodes, &told[3].hosts),
            (&vec![0, 1, 0, 1], &vec!["nid0".to_owned(), "nid1".to_owned()])
        );
        Ok(())
    }

    #[test]
    fn whoever_is_otherwise_than_rank_0_is_named_with_both() {
        let refusal = |other: Handshake| {
            layouts(vec![handshake(0, 0), handshake(1, 0), other])
                .map_or_else(|f| f.to_string(), |_| String::new())
        };
        let options = refusal(Handshake {
            arguments: vec!["pingpong".into(), "--cpus".into(), "3".into()],
            ..handshake(2, 1)
        });
        assert!(options.contains("rank 2 on nid1") && options.contains("`pingpong --cpus 3`"), "{options}");
        let version = refusal(Handshake { version: "2".to_owned(), ..handshake(2, 1) });
        assert!(version.contains("version 2 and rank 0 has 1"), "{version}");
        let platform = refusal(Handshake { platform: "cuda".to_owned(), ..handshake(2, 1) });
        assert!(platform.contains("devices of kind cuda"), "{platform}");
    }
}
