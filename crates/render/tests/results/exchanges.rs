//! Documents of `numabench mpi` are compared, exported and shown: two that were written on two H200s under
//! two builds of one MPI.

use analysis::any_document::{AnyDocument, DocumentKind};
use analysis::compare::{NotCompared, Thresholds, compare};
use analysis::mpi::run;
use render::export;
use render::export::Form;
use report::MpiDocument;
use report::result::BlockSample;

use crate::made::Done;

fn document(name: &str) -> Result<MpiDocument, Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/results/documents/").to_owned() + name;
    match AnyDocument::<BlockSample>::from_json(&std::fs::read(path)?)? {
        AnyDocument::Mpi(document) => Ok(*document),
        other => Err(format!("{name} is of kind {:?}", other.kind()).into()),
    }
}

#[test]
fn a_document_against_itself_is_the_same_and_a_slower_one_suspect() -> Done {
    let base = document("mpi-1.0-aware.json")?;
    let mut slower = base.clone();
    for case in slower.pairs.iter_mut().flat_map(|pair| &mut pair.cases) {
        let steady = case.message_ns.ok_or("a time of each case")?;
        case.message_ns = Some(steady * 1.25);
        case.bytes_per_s = case.bytes_per_s.map(|rate| rate / 1.25);
        case.block_ns = (0..12).map(|at| steady * 1.25 * (1.0 + f64::from(at) * 1e-5)).collect();
    }
    let mut steady = base.clone();
    for case in steady.pairs.iter_mut().flat_map(|pair| &mut pair.cases) {
        let level = case.message_ns.ok_or("a time of each case")?;
        case.block_ns = (0..12).map(|at| level * (1.0 + f64::from(at) * 1e-5)).collect();
    }
    let one = |document: &MpiDocument| run("a", document);
    let same = compare(base.tool.clone(), &[one(&steady)?], &[one(&steady)?], Thresholds::default(), false)?;
    assert_eq!((same.counts.same as usize, same.differing.len()), (base.pairs[0].cases.len(), 0));
    let found = compare(base.tool.clone(), &[one(&steady)?], &[one(&slower)?], Thresholds::default(), false)?;
    assert_eq!(found.counts.suspect as usize, base.pairs[0].cases.len());
    let key = &found.cases[0].key;
    assert_eq!(key.place(), "from PU 0, node 0, GPU 0000:00:06.0 to PU 1, node 0, GPU 0000:00:07.0");
    assert!(
        found.cases.iter().any(|case| case.key.case == "gpu-aware/ping-pong/8388608"
            && case.key.place().contains("0000:00:06.0"))
    );
    assert!(
        found
            .cases
            .iter()
            .any(|case| case.key.case == "host/ping-pong/8388608" && !case.key.place().contains("GPU"))
    );
    Ok(())
}

#[test]
fn an_operation_that_works_under_one_mpi_and_not_under_the_other_is_said_to_differ() -> Done {
    let (aware, not) = (document("mpi-1.0-aware.json")?, document("mpi-1.0-not-aware.json")?);
    let found =
        compare(aware.tool.clone(), &[run("a", &aware)?], &[run("b", &not)?], Thresholds::default(), false)?;
    let differs =
        found.differing.iter().find(|differs| differs.fact.starts_with("send")).ok_or("send differs")?;
    assert_eq!((&differs.base[..], &differs.new[..]), (&["works".to_owned()][..], &["crash".to_owned()][..]));
    assert!(
        found.missing.iter().any(|lacking| lacking.key.case.starts_with("gpu-aware/")),
        "{:?}",
        found.missing
    );
    Ok(())
}

#[test]
fn ranks_of_several_hosts_are_told_apart_by_the_hosts_order_and_not_by_their_names() -> Done {
    let mut two = document("mpi-1.0-aware.json")?;
    let one = run("one", &two)?;
    two.ranks[1].host = "nid001234".to_owned();
    let run = run("two", &two)?;
    let key = run.figures.keys().next().ok_or("a figure")?;
    assert_eq!(
        key.place(),
        "from host 1 PU 0, node 0, GPU 0000:00:06.0 to host 2 PU 1, node 0, GPU 0000:00:07.0"
    );
    let refused =
        compare(two.tool.clone(), &[one], &[run], Thresholds::default(), false).err().ok_or("refused")?;
    assert!(matches!(refused, NotCompared::Essential { .. }), "{refused}");
    insta::assert_snapshot!("refused_on_other_hosts", refused);
    Ok(())
}

#[test]
fn a_case_that_does_not_count_is_missing_with_its_reason_and_a_run_under_way_is_refused() -> Done {
    let mut document = document("mpi-1.0-aware.json")?;
    let base = run("base", &document)?;
    document.pairs[0].cases[0].reason = Some("rank 1 was moved".to_owned());
    let found =
        compare(document.tool.clone(), &[base], &[run("new", &document)?], Thresholds::default(), false)?;
    assert_eq!(found.missing.len(), 1);
    assert_eq!(found.missing[0].reason.as_deref(), Some("rank 1 was moved"));
    document.status = report::document::Status::Running;
    assert!(run("running", &document).is_err());
    Ok(())
}

#[test]
fn a_row_names_the_host_of_its_own_first_rank() -> Done {
    let mut document = document("mpi-1.0-aware.json")?;
    document.ranks[1].host = "other".to_owned();
    let mut back = document.pairs[0].clone();
    back.ranks.reverse();
    document.pairs.push(back);

    let csv = String::from_utf8(export::mpi(&document).export(Form::Csv)?)?;
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    let (there, back) = rows.split_at(rows.len() / 2);
    assert!(!there.is_empty() && there.iter().all(|row| !row.contains(",other,")), "{csv}");
    assert!(back.iter().all(|row| row.contains(",other,")), "{csv}");
    Ok(())
}

#[test]
fn every_form_and_the_report_have_all_figures_of_a_document() -> Done {
    let document = document("mpi-1.0-aware.json")?;
    let cases = document.pairs[0].cases.len();
    let points = export::mpi(&document);
    let text = |form: Form| -> Result<String, Box<dyn std::error::Error>> {
        Ok(String::from_utf8(points.export(form)?)?)
    };
    let csv = text(Form::Csv)?;
    assert_eq!(csv.lines().count(), cases + 1, "{csv}");
    assert!(
        csv.starts_with("started_at,kind,program,host,case,place,path,pattern,bytes,from,to,status,"),
        "{csv}"
    );
    let metrics = text(Form::OpenMetrics)?;
    assert!(
        metrics.contains(
            "numabench_mpi_rate_bytes_per_second{case=\"gpu-aware/ping-pong/8388608\",place=\"from PU 0"
        ),
        "{metrics}"
    );
    assert_eq!(metrics.matches("path=\"host\"").count(), 4, "{metrics}");
    for (form, want) in
        [(Form::Junit, cases), (Form::Influx, cases), (Form::Bmf, cases), (Form::GhaBigger, cases)]
    {
        let text = text(form)?;
        let counts = [
            text.matches("<testcase").count(),
            text.matches("numabench_mpi,").count(),
            text.matches("\"bandwidth\"").count(),
            text.matches("\"GB/s\"").count(),
        ];
        assert!(counts.contains(&want), "{form:?}: {counts:?}\n{text}");
    }
    let html = render::html::page(&[
        ("a.json".to_owned(), document.clone()),
        ("b.json".to_owned(), document.clone()),
    ]);
    let captions: Vec<&str> = html
        .split('<')
        .filter_map(|part| part.strip_prefix("figcaption>").or_else(|| part.strip_prefix("summary>")))
        .collect();
    insta::assert_snapshot!("captions_of_messages", captions.join("\n"));
    assert!(
        html.contains(&document.verdict[0].replace('\'', "&#39;"))
            && html.ends_with("</html>\n")
            && !html.contains("<script")
    );
    assert_eq!(AnyDocument::<BlockSample>::Mpi(Box::new(document)).kind(), DocumentKind::Mpi);
    Ok(())
}
