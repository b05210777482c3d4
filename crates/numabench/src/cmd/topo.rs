//! `numabench topo`: read, save, draw, render; `--emit`: a machine in the words of NCCL; `--svg --with`: draw
//! what a result measured; `topo diff`: read two, compare. No GPU runtime is started but for `topo
//! --measure`, which is `topo_measure`.

use std::collections::BTreeMap;
use std::path::Path;

use experiments::documents;
use render::terminal::page::{Page, Tone};
use report::sink::Sink;
use stats::PciAddress;
use topo::Survey;
use topo::nccl::{self, NcclError, NcclRequest};

use crate::args::topo::{Topo, TopoAction, TopoEmit};
use crate::cmd::topo_measure;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{JsonOutput, write};
use crate::schemas::{DIFFERENCES, Differences, TOPOLOGY};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Topo) -> Result<Exit, Fault> {
    if let Some(TopoAction::Diff { old, new, json }) = &args.action {
        return diff(old, new, json.as_deref());
    }
    if !args.measure.is_empty() {
        return topo_measure::run(args);
    }
    if let (Some(result), Some(picture)) = (&args.with, &args.svg) {
        return measured(result, picture);
    }
    let no_result = |error| Fault::new(Exit::NoResult, error);

    if args.save.as_deref().is_some_and(is_stdout) && args.svg.as_deref().is_some_and(is_stdout) {
        return Err(Fault::usage(anyhow::anyhow!(
            "--save - and --svg - both want standard output: name a file for one of them"
        )));
    }

    let json = JsonOutput::open(args.json.as_deref())?;
    if args.emit == Some(TopoEmit::NcclTopo) {
        let survey = nccl_topo(args)?;
        return json.keep(&TOPOLOGY.versioned(&survey)).map(|()| Exit::Ok);
    }
    let picture = args.svg.as_deref().map(Output::open).transpose()?;
    let survey = match (&args.input[..], &args.save) {
        (saved @ [_, ..], _) => topo::survey_files(saved).map_err(Fault::usage)?,
        // Opening NVIDIA's management library takes a while: only for a view that shows what it says.
        ([], None) if args.matrix || args.identity || args.json.is_some() || args.svg.is_some() => {
            topo::survey_with_nvml().map_err(no_result)?
        }
        ([], None) => topo::survey().map_err(no_result)?,
        ([], Some(path)) => {
            let output = Output::open(path)?;
            let settings = |survey: &Survey| doctor::settings(&doctor::look(survey));
            let (survey, xml) = topo::survey_and_xml(settings).map_err(no_result)?;
            output.write(xml.as_bytes())?;
            survey
        }
    };

    if let Some(picture) = picture {
        picture.write(topo::svg::svg(&survey).as_bytes())?;
    }
    let model = TOPOLOGY.versioned(&survey);

    // A picture or a file there has standard output to itself.
    if [&args.svg, &args.save].into_iter().flatten().any(|path| is_stdout(path)) {
        json.keep(&model)?;
        return Ok(Exit::Ok);
    }

    let width = terminal::width();
    let view = match args {
        Topo { numa: true, .. } => topo::text::numa,
        Topo { tree: true, .. } => topo::text::tree,
        Topo { matrix: true, .. } => topo::text::matrix,
        Topo { identity: true, .. } => topo::text::identity,
        _ => topo::text::render,
    };
    json.show(&model, |_| toned(&view(&survey, width), terminal::color(args.color)))?;
    Ok(Exit::Ok)
}

/// A view with its headings, which are not indented, toned; as it is without colour.
fn toned(view: &str, color: bool) -> String {
    if !color {
        return view.to_owned();
    }
    let mut page = Page::new(usize::MAX);
    for line in view.lines() {
        let is_heading = !line.starts_with(' ');
        page.line(if is_heading { Tone::Title } else { Tone::Plain }, line);
    }
    page.finish(true)
}

/// Prints a machine as a topology file of NCCL.
fn nccl_topo(args: &Topo) -> Result<Survey, Fault> {
    let survey = match &args.input[..] {
        [] => topo::survey_with_nvml().map_err(|error| Fault::new(Exit::NoResult, error))?,
        saved => topo::survey_files(saved).map_err(Fault::usage)?,
    };
    let groups = args.with.as_deref().map(measured_groups).transpose()?.unwrap_or_default();
    let request = NcclRequest { groups, guest: guest_addresses(&args.guest)? };

    let file = nccl::nccl_topology(&survey, &request).map_err(|error| match error {
        NcclError::NoGpu => Fault::new(Exit::Absent, error),
        NcclError::NothingNew | NcclError::NothingKnown(_) | NcclError::NoFreeAddress => {
            Fault::new(Exit::NoResult, error)
        }
        NcclError::NoSuchDevice(_) | NcclError::SameAddress(_) | NcclError::NotTheMachine(_) => {
            Fault::usage(error)
        }
    })?;
    file.remarks.iter().for_each(|remark| terminal::say(&format!("note: {remark}")));
    terminal::print(file.xml.as_bytes())?;
    Ok(survey)
}

/// Each device's address in the guest.
fn guest_addresses(given: &[(PciAddress, PciAddress)]) -> Result<BTreeMap<PciAddress, PciAddress>, Fault> {
    let mut guest = BTreeMap::new();
    for (own, there) in given {
        if let Some(before) = guest.insert(*own, *there) {
            return Err(Fault::usage(anyhow::anyhow!(
                "--guest gives {own} two addresses in the guest: {before} and {there}"
            )));
        }
    }
    Ok(guest)
}

/// The GPUs that a document of `topo --measure` found to share their way to the host.
fn measured_groups(path: &Path) -> Result<Vec<Vec<PciAddress>>, Fault> {
    analysis::groups::shared_ways(&documents::read(path)?)
        .map_err(|why| Fault::usage(format!("{}: {why}", path.display())))
}

/// Draws the node of a document, with what was measured on its links.
fn measured(result: &Path, picture: &Path) -> Result<Exit, Fault> {
    let output = Output::open(picture)?;
    let svg = render::node::svg_of_any(&documents::bytes(result)?)
        .map_err(|why| Fault::usage(format!("{} cannot be drawn: {why}", result.display())))?;
    output.write(svg.as_bytes())?;
    Ok(Exit::Ok)
}

/// Where a picture or a saved machine goes: opened before anything is read.
enum Output {
    File(Sink),
    Stdout,
}

impl Output {
    fn open(path: &Path) -> Result<Self, Fault> {
        if is_stdout(path) { Ok(Self::Stdout) } else { output_file::open(path).map(Self::File) }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        match self {
            Self::File(sink) => write(sink, bytes),
            Self::Stdout => terminal::print(bytes),
        }
    }
}

/// `-`, as in every command.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Compares two files; a difference is a finding.
fn diff(old: &Path, new: &Path, json: Option<&Path>) -> Result<Exit, Fault> {
    let output = JsonOutput::open(json)?;
    let read = |path: &Path| topo::survey_files(&[path.to_owned()]).map_err(Fault::usage);
    let (old, new) = (read(old)?, read(new)?);
    let differences = topo::difference::differences(&old, &new);
    let exit = if differences.is_empty() { Exit::Ok } else { Exit::Finding };
    let table = topo::text::changes(&old, &new, &differences, terminal::width());
    let not_compared = topo::difference::not_compared(&old, &new);
    output.show(&DIFFERENCES.versioned(Differences { differences, not_compared }), |_| table)?;
    Ok(exit)
}
