//! Managed memory of a real GPU, whose pages the kernel does not find on the host: what is said of it, and
//! what is not.

use analysis::moving::verdict;
use analysis::placement::{all_seen, unknowns};
use render::terminal::{Style, table};
use report::result::RankResult;
use report::{Document, SavedDocument};

use crate::made::Done;

fn of_an_h100() -> Result<Document, Box<dyn std::error::Error>> {
    Ok(Document::from_json(include_bytes!("../../../../docs/gallery/moving.json"))?)
}

#[test]
fn pages_that_are_with_the_gpu_are_told_and_none_is_said_to_be_unproven() -> Done {
    let document = of_an_h100()?;
    let shown =
        table(&document, &Style { width: 120, color: false, quiet: false, saved_to: None, screen: None });
    for side in ["GPU", "core"] {
        assert!(shown.contains(&format!("managed memory touched by the {side}: GB/s, and %")), "{shown}");
    }
    assert!(!shown.contains("SEEN"), "{shown}");
    let results: Vec<&RankResult> = document.cases.iter().flat_map(|case| &case.ranks).collect();
    assert!(unknowns(&all_seen(&results), true).is_empty());
    // Of memory that was asked to lie somewhere the same is no proof.
    let elsewhere: Vec<RankResult> =
        results.iter().map(|result| RankResult { away: Vec::new(), ..(*result).clone() }).collect();
    let elsewhere: Vec<&RankResult> = elsewhere.iter().collect();
    assert!(unknowns(&all_seen(&elsewhere), true).iter().any(|why| why.contains("SEEN")));
    Ok(())
}

#[test]
fn the_sentence_has_both_sides_the_turns_and_where_pages_lie() -> Done {
    let said = verdict(&of_an_h100()?);
    assert_eq!(
        said,
        ["256 MiB of managed memory, GPU 0 and PU 0: the GPU reads pages that the core has at 9.32 GB/s, \
             its own at 2641 GB/s (283 times), and a prefetch brings them at 49.8 GB/s; the core reads pages \
             that the GPU has at 5.78 GB/s, its own at 11.6 GB/s (2.01 times), and a prefetch brings them at \
             a rate that is too noisy (± 43 %); in turns both change pages at 5.85 GB/s. Pages that the GPU \
             has read lie with the GPU afterwards."]
    );
    Ok(())
}
