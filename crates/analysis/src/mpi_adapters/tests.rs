//! What is said of adapters, of documents whose counts are given.

use report::SavedDocument;
use stats::interval::Interval;

use super::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Rank 0 on node 0 of two hosts, with r0 near and r1 far: what each counted for each byte, with half the
/// interval.
pub(crate) fn document(
    large: [(f64, f64); 2],
    small: [(f64, f64); 2],
) -> Result<MpiDocument, Box<dyn std::error::Error>> {
    let kept = include_bytes!("../../../render/tests/results/documents/mpi-1.0-aware.json");
    let mut document = MpiDocument::from_json(kept)?;
    let adapter = |name: &str, near: bool| MpiAdapter {
        name: name.to_owned(),
        interfaces: vec![name.to_owned()],
        pci: None,
        nodes: [u32::from(!near)].into_iter().collect(),
        is_near: Some(near),
        has_link: Some(true),
        link_bytes_per_s: None,
        not_counted: None,
        chosen_by: vec![format!("UCX_NET_DEVICES={name}")],
    };
    let rank = &mut document.ranks[0];
    (rank.host, rank.gpu, rank.memory_node) = ("h0".to_owned(), None, 0);
    rank.adapters = vec![adapter("r0", true), adapter("r1", false)];
    let carried = |bytes: u64, name: &str, (median, half): (f64, f64)| MpiCarried {
        path: MpiPath::Host,
        pattern: MessagePattern::PingPong,
        bytes,
        rank: 0,
        adapter: name.to_owned(),
        sent: Some(MpiPerByte {
            median,
            interval: Interval { low: median - half, high: median + half, confidence: 0.96 },
        }),
        received: None,
    };
    for (bytes, [near, far]) in [(8, small), (4 << 20, large)] {
        document.pairs[0].carried.extend([carried(bytes, "r0", near), carried(bytes, "r1", far)]);
    }
    Ok(document)
}

pub(crate) const NEAR: [(f64, f64); 2] = [(1.02, 0.01), (0.0, 0.001)];
pub(crate) const FAR: [(f64, f64); 2] = [(0.0, 0.001), (1.02, 0.01)];

fn only(document: &MpiDocument) -> String {
    verdict(document).join("\n")
}

#[test]
fn a_far_adapter_is_named_with_the_near_one_that_was_idle_and_what_chooses_it() -> Outcome {
    let document = document(FAR, FAR)?;
    assert_eq!(
        only(&document),
        "Rank 0 (h0, NUMA node 0): 100 % of its bytes went over r1 (NUMA node 1, FAR from it). r0 is near \
         and was idle: set UCX_NET_DEVICES=r0."
    );
    assert_eq!(nearness(&document), Nearness::Far);
    Ok(())
}

#[test]
fn two_adapters_have_their_shares_and_the_far_one_counts() -> Outcome {
    let document = document([(0.62, 0.02), (0.41, 0.02)], NEAR)?;
    let said = only(&document);
    assert!(
        said.contains(
            "60 % of its bytes went over r0 (NUMA node 0, near it) and 40 % over r1 (NUMA node 1, FAR from \
             it)"
        ),
        "{said}"
    );
    assert!(said.contains("; messages of 8 B over r0."), "{said}");
    assert_eq!(nearness(&document), Nearness::Far);
    Ok(())
}

#[test]
fn other_traffic_on_the_far_adapter_is_not_blamed_on_the_rank() -> Outcome {
    for noise in [(0.3, 0.9), (-0.4, 0.2), (0.01, 0.5)] {
        let document = document([NEAR[0], noise], NEAR)?;
        assert_eq!(nearness(&document), Nearness::Near, "{noise:?}: {}", only(&document));
    }
    Ok(())
}

#[test]
fn where_other_traffic_hides_what_was_sent_what_was_received_tells() -> Outcome {
    let mut document = document([(0.74, 0.5), (0.5, 0.01)], NEAR)?;
    assert!(only(&document).contains("is unknown: those of h0 counted 124 %"), "{}", only(&document));
    let parts = [(0.5, "r0"), (0.5, "r1")];
    for (median, name) in parts {
        let mut of = document.pairs[0].carried.iter_mut();
        let one = of.find(|one| one.adapter == name && one.bytes == 4 << 20).ok_or("it was counted")?;
        let interval = Interval { low: median - 0.01, high: median + 0.01, confidence: 0.96 };
        one.received = Some(MpiPerByte { median, interval });
    }
    assert!(only(&document).contains("50 % of its bytes went over r0"), "{}", only(&document));
    Ok(())
}

#[test]
fn small_messages_over_a_far_adapter_are_far_too() -> Outcome {
    let document = document(NEAR, [(0.0, 0.001), (12.0, 0.5)])?;
    assert_eq!(nearness(&document), Nearness::Far, "{}", only(&document));
    Ok(())
}

#[test]
fn bytes_that_nobody_counted_and_bytes_too_many_are_unknown() -> Outcome {
    for (large, part) in [([(0.1, 0.02), (0.0, 0.001)], "10 %"), ([(1.0, 0.02), (0.5, 0.1)], "150 %")] {
        let document = document(large, NEAR)?;
        assert_eq!(nearness(&document), Nearness::Unknown);
        assert!(
            only(&document).contains(&format!("is unknown: those of h0 counted {part}")),
            "{}",
            only(&document)
        );
    }
    Ok(())
}

#[test]
fn a_far_adapter_is_no_finding_where_no_near_one_has_a_link_and_an_unknown_one_decides_nothing() -> Outcome {
    let mut document = document(FAR, FAR)?;
    document.ranks[0].adapters[0].has_link = Some(false);
    assert_eq!(nearness(&document), Nearness::Near);
    assert!(!only(&document).contains("set "), "{}", only(&document));
    document.ranks[0].adapters[1].is_near = None;
    assert_eq!(nearness(&document), Nearness::Unknown);
    Ok(())
}

#[test]
fn a_pair_says_over_which_adapter_its_messages_of_a_size_went() -> Outcome {
    let document = document(FAR, NEAR)?;
    let ranks = document.pairs[0].ranks;
    let of = |path, bytes| over(&document, ranks, (path, bytes));
    assert_eq!([8, 4 << 20, 64].map(|bytes| of(MpiPath::Host, bytes)), [" over r0", " over r1", ""]);
    assert_eq!(of(MpiPath::Staged, 8), "", "these were not counted");
    Ok(())
}

/// Most nodes have a link of a management network too, on some node.
#[test]
fn an_adapter_of_another_kind_is_no_choice_whether_near_or_not() -> Outcome {
    let mut document = document(FAR, FAR)?;
    let adapters = &mut document.ranks[0].adapters;
    adapters[0].name = "eno1".to_owned();
    document.pairs[0]
        .carried
        .iter_mut()
        .filter(|one| one.adapter == "r0")
        .for_each(|one| one.adapter = "eno1".to_owned());
    assert_eq!(nearness(&document), Nearness::Near, "{}", only(&document));
    assert!(!only(&document).contains("eno1"), "{}", only(&document));
    // Numbered together, and of another rate.
    let adapters = &mut document.ranks[0].adapters;
    (adapters[0].name, adapters[0].link_bytes_per_s) = ("r2".to_owned(), Some(125_000_000));
    adapters[1].link_bytes_per_s = Some(25_000_000_000);
    assert_eq!(nearness(&document), Nearness::Near, "{}", only(&document));
    document.ranks[0].adapters[0].link_bytes_per_s = Some(25_000_000_000);
    assert_eq!(nearness(&document), Nearness::Far, "{}", only(&document));
    Ok(())
}

#[test]
fn counters_that_cannot_be_read_are_said() -> Outcome {
    let mut document = document(NEAR, NEAR)?;
    document.pairs[0].carried.iter_mut().for_each(|carried| carried.sent = None);
    document.ranks[0].adapters[0].not_counted = Some("no permission".to_owned());
    let said = only(&document);
    assert!(
        said.contains("is unknown: those of h0 counted 0 % of them; r0 cannot be counted: no permission."),
        "{said}"
    );
    assert_eq!(nearness(&document), Nearness::Unknown);
    Ok(())
}

#[test]
fn messages_within_a_host_say_nothing() -> Outcome {
    let mut document = document(NEAR, NEAR)?;
    document.pairs[0].carried.clear();
    assert!(verdict(&document).is_empty());
    assert_eq!(nearness(&document), Nearness::Unknown);
    Ok(())
}
