//! `numabench trial`: work out the variants, show the plan, warm up, run until it is decided, say what it comes to.

use std::cell::OnceCell;
use std::path::Path;

use anyhow::{Context, anyhow};
use clap::Parser;
use render::terminal::Style;
use report::TrialDocument;
use report::sink::Sink;
use report::trial::{TrialRun, TrialStop};
use stats::units::counted;
use trial::answer::holds;
use trial::conduct::{Plan, conduct};
use trial::decide::{Better, Rule, Verdict};
use trial::looks;

use crate::args::trial::Trial;
use crate::args::{Args, Command};
use crate::began::Began;
use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::seconds;
use crate::signals::Signals;
use crate::trial::document::{Facts, State, WALL, build};
use crate::trial::metrics::{Metric, metrics};
use crate::trial::session::Session;
use crate::trial::variants::{Variants, variants};
use crate::{output_file, terminal};
use experiments::journal::settled;

/// Runs the command.
pub fn run(args: &Trial) -> Result<Exit, Fault> {
    match &args.resume {
        Some(file) => resumed(file),
        None => trial(args, None),
    }
}

/// Takes a trial up: its own command line again, with the runs that it has.
fn resumed(file: &Path) -> Result<Exit, Fault> {
    let bytes = documents::bytes(file)?;
    let document =
        TrialDocument::from_json(&bytes).with_context(|| file.display().to_string()).map_err(Fault::usage)?;
    let minor = document.schema_version.split_once('.').and_then(|(_, minor)| minor.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor > report::trial::SCHEMA_MINOR) {
        return Err(Fault::usage(anyhow!(
            "{}: a newer numabench wrote it (schema {}, this one writes {}), and what only that one knows would be lost: take it up with that one",
            file.display(),
            document.schema_version,
            report::trial::schema_version()
        )));
    }
    let parsed = Args::try_parse_from(&document.argv).map(|args| args.command);
    let Ok(Command::Trial(mut args)) = parsed else {
        let text = format!(
            "{}: its command line is not one that this numabench takes: {}",
            file.display(),
            document.argv.join(" ")
        );
        return Err(Fault::usage(anyhow!(text)));
    };
    args.json = Some(file.to_path_buf());
    trial(&args, Some(document))
}

fn trial(args: &Trial, before: Option<TrialDocument>) -> Result<Exit, Fault> {
    let sink = output_file::of_document(args.json.as_deref())?;
    let metrics = metrics(args)?;
    let start = topo::start().map_err(|error| Fault::new(Exit::NoResult, error))?;
    let variants = variants(args, &start)?;
    let plan = plan(args, &variants, &metrics)?;
    let expected = expected(args, &plan)?;
    same_variants(before.as_ref(), &variants)?;
    let argv = before.as_ref().map_or_else(own_argv, |document| document.argv.clone());
    let started_at = before.as_ref().map_or_else(|| Began::now().started_at(), |document| document.started_at.clone());
    let before_s = before.as_ref().map_or(0.0, |document| document.elapsed_s);
    let facts = Facts {
        argv,
        started_at,
        args,
        variants: &variants,
        metrics: &metrics,
        plan: &plan,
        hostname: start.topology.hostname.clone(),
        starts: OnceCell::new(),
    };
    let mut runs = before.map(|document| document.runs).unwrap_or_default();
    let shown = terminal::shown(&plan_text(&facts));
    if !args.quiet && !args.dry_run {
        terminal::say_bytes(shown.as_bytes());
    }
    let signals = Signals::catch()?;
    let sink = sink.as_ref();
    let mut has_complained = false;
    let keep = |runs: &[TrialRun], elapsed_s: f64| {
        let state = State { runs, elapsed_s, stop: None, exit: None };
        let kept = |sink: &Sink| {
            json(&build(&facts, state))
                .and_then(|bytes| sink.write(&bytes).map_err(|error| Fault::new(Exit::NoResult, error)))
        };
        if let (Some(Err(fault)), false) = (sink.map(kept), has_complained) {
            terminal::say(&format!("warning: the document could not be kept up to date: {fault}"));
            has_complained = true;
        }
    };
    let mut session = Session::new(
        &variants.all,
        &metrics,
        &start.topology,
        &signals,
        args.run_timeout,
        &args.keep,
        before_s,
        Box::new(keep),
    )?;
    session.learn(&runs);
    if let Some(trials) = args.aa {
        session.warm_up(&mut runs)?;
        return against_itself(&plan, &mut session, trials, &signals);
    }
    session.warm_up(&mut runs)?;
    if plan.metric == WALL {
        let starts = session.starts(plan.rule.equivalence, plan.seed)?;
        facts.starts.get_or_init(|| starts);
    }
    let is_too_short = facts.too_short(&runs).is_some();
    let estimate = estimate(&plan, session.block_s());
    if args.dry_run {
        let answer = if is_too_short { facts.answer(&runs, &[], None).lines.join("\n") + "\n" } else { String::new() };
        terminal::print(format!("{shown}{estimate}\n{answer}").as_bytes())?;
        return Ok(Exit::Ok);
    }
    if !args.quiet {
        terminal::say_bytes(format!("{estimate}\n\n").as_bytes());
    }
    session.show(args.quiet);
    let stop = if is_too_short { TrialStop::TooShort } else { conduct(&plan, &mut runs, &mut session)? };
    session.clear();
    let elapsed_s = trial::conduct::Runner::elapsed_s(&session);
    let exit = exit(&facts, &runs, stop, expected, &signals);
    let document = build(&facts, State { runs: &runs, elapsed_s, stop: Some(stop), exit: Some(exit) });
    show(args, sink, &document, exit)
}

/// Shows the document and keeps it.
fn show(args: &Trial, sink: Option<&Sink>, document: &TrialDocument, exit: Exit) -> Result<Exit, Fault> {
    let bytes = json(document)?;
    let (saved_to, kept) = sink.map_or((None, Ok(())), |sink| settled(sink, sink.write_or_rescue(&bytes), exit));
    let printed = if args.json.as_deref() == Some(Path::new("-")) {
        terminal::print_document(&bytes)
    } else {
        let saved_to = saved_to.map(|path| path.display().to_string());
        let style = Style { width: terminal::width(), color: terminal::color(args.color), quiet: args.quiet, saved_to };
        terminal::print(render::terminal::trial(document, &style).as_bytes())
    };
    kept.and(printed).map(|()| exit)
}

fn json(document: &TrialDocument) -> Result<Vec<u8>, Fault> {
    report::json::json_value(document).map_err(|error| Fault::new(Exit::NoResult, error))
}

fn own_argv() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

fn plan(args: &Trial, variants: &Variants, metrics: &[Metric]) -> Result<Plan, Fault> {
    let metric = &metrics[0].described;
    let mut names: Vec<String> = variants.all.iter().map(|variant| variant.described.name.clone()).collect();
    if args.aa.is_some() {
        names.push("again".to_owned());
    }
    let comparisons = names.len() - 1;
    let max_blocks = args.max_runs as usize;
    let Some(last) = looks::last_within(comparisons, max_blocks) else {
        let first = looks::looks(comparisons).next().map_or(0, |look| look.blocks);
        let text = format!(
            "--max-runs {max_blocks} is too few: with {} no difference can be told before {} of each",
            counted(comparisons, "comparison"),
            counted(first, "run")
        );
        return Err(Fault::usage(anyhow!(text)));
    };
    let better = if metric.more_is_better { Better::Higher } else { Better::Lower };
    Ok(Plan {
        variants: names,
        metric: metric.name.clone(),
        // Runs after the last look would say nothing.
        rule: Rule { equivalence: args.equivalence, max_blocks: last.blocks, better },
        seed: args.seed,
        max_time_s: args.max_time.map(|limit| limit.as_secs_f64()),
    })
}

fn expected(args: &Trial, plan: &Plan) -> Result<Option<usize>, Fault> {
    let Some(name) = &args.expect else { return Ok(None) };
    match plan.variants.iter().position(|variant| variant == name) {
        Some(at) => Ok(Some(at)),
        None => Err(Fault::usage(anyhow!(
            "--expect {name}: there is no such variant; there are {}",
            plan.variants.join(", ")
        ))),
    }
}

/// A trial that is taken up must have the variants that it had.
fn same_variants(before: Option<&TrialDocument>, variants: &Variants) -> Result<(), Fault> {
    let Some(before) = before else { return Ok(()) };
    let now: Vec<_> = variants.all.iter().map(|variant| &variant.described).collect();
    if now.len() == before.variants.len() && now.iter().zip(&before.variants).all(|(now, then)| *now == then) {
        return Ok(());
    }
    let names = |all: Vec<String>| all.join("; ");
    let text = |variant: &report::trial::TrialVariant| format!("{} ({})", variant.name, variant.what);
    Err(Fault::usage(anyhow!(
        "the trial cannot be taken up here: its variants were {}, and are {} now: take it up on the same machine in the same allocation, or begin anew",
        names(before.variants.iter().map(text).collect()),
        names(now.into_iter().map(text).collect())
    )))
}

/// What will be run.
fn plan_text(facts: &Facts<'_>) -> String {
    let plan = facts.plan;
    let mut text = format!(
        "Trial of {}: {}, every one once in each block, in random order (seed {})\n",
        facts.args.program.join(std::ffi::OsStr::new(" ")).to_string_lossy(),
        counted(plan.variants.len(), "variant"),
        plan.seed
    );
    for variant in &facts.variants.all {
        let described = &variant.described;
        text.push_str(&format!("  {}: {}\n      {}\n", described.name, described.what, described.line));
    }
    let metric = &facts.metrics[0].described;
    let better = if metric.more_is_better { "more" } else { "less" };
    text.push_str(&format!(
        "Compared by {}, {better} is better; differences within ± {:.1} % do not matter\n",
        metric.name,
        plan.rule.equivalence * 100.0
    ));
    for note in &facts.variants.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

fn estimate(plan: &Plan, block_s: Option<f64>) -> String {
    let Some(block_s) = block_s else { return "The time is not known: no warm-up run counts".to_owned() };
    let first = looks::looks(plan.variants.len() - 1).next().map_or(0, |look| look.blocks);
    let most = plan.rule.max_blocks;
    let time = |blocks: usize| seconds(blocks as f64 * block_s);
    format!(
        "A block takes {}; the first verdict can come after {} ({}), the last after {most} ({})",
        seconds(block_s),
        counted(first, "block"),
        time(first),
        time(most)
    )
}

fn exit(facts: &Facts<'_>, runs: &[TrialRun], stop: TrialStop, expected: Option<usize>, signals: &Signals) -> Exit {
    use report::trial::TrialOutcome::{Counted, Misplaced};
    if let (TrialStop::Signal, Some(exit)) = (stop, signals.exit()) {
        return exit;
    }
    let comparisons = facts.compared(runs, &facts.metrics[0].described);
    if stop == TrialStop::TooShort {
        return Exit::Undecided;
    }
    if comparisons.iter().all(|found| found.pairs == 0) {
        return Exit::NoResult;
    }
    let answer = facts.answer(runs, &comparisons, Some(stop));
    let is_any = |outcome| runs.iter().any(|run| run.outcome == outcome);
    let has_failed = runs.iter().any(|run| run.block > 0 && !matches!(run.outcome, Counted | Misplaced));
    match expected.map(|expected| holds(&answer, &comparisons, expected)) {
        Some(Some(false)) => Exit::Finding,
        _ if is_any(Misplaced) => Exit::Finding,
        Some(None) => Exit::Undecided,
        None if !answer.is_decided => Exit::Undecided,
        _ if has_failed => Exit::Partial,
        _ => Exit::Ok,
    }
}

/// The baseline against itself, in so many trials: how often a difference is claimed where there is none.
fn against_itself(plan: &Plan, session: &mut Session<'_>, trials: u32, signals: &Signals) -> Result<Exit, Fault> {
    let (mut done, mut decided, mut wrong) = (0, 0, 0);
    for trial in 0..trials {
        let plan = Plan { seed: stats::random::mix(plan.seed ^ u64::from(trial)), ..plan.clone() };
        let mut runs = Vec::new();
        let stop = conduct(&plan, &mut runs, &mut Twice { session, plan: &plan })?;
        if stop == TrialStop::Signal {
            break;
        }
        done += 1;
        let found = trial::conduct::stands(&plan, &runs).compared.into_iter().next();
        match found.map(|found| found.verdict) {
            Some(Verdict::Better | Verdict::Worse) => wrong += 1,
            Some(Verdict::Same) => decided += 1,
            _ => {}
        }
    }
    let undecided = done - decided - wrong;
    let most = stats::tolerance::largest_share(wrong, done, stats::alpha::CONFIDENCE);
    let text = format!(
        "The baseline against itself: {wrong} of {} claimed a difference that is none (at most {:.0} % of such trials, 95 % sure).\n\
         {decided} found no difference beyond ± {:.1} %, {undecided} could not decide.\n",
        counted(done as usize, "trial"),
        most * 100.0,
        plan.rule.equivalence * 100.0
    );
    terminal::print(text.as_bytes())?;
    // What was finished before a signal is a result too.
    Ok(if done < trials { signals.exit().unwrap_or(Exit::NoResult) } else { Exit::Ok })
}

/// A session whose only variant is run under two names.
struct Twice<'t, 's> {
    session: &'t mut Session<'s>,
    plan: &'t Plan,
}

impl trial::conduct::Runner for Twice<'_, '_> {
    type Error = Fault;

    fn run(&mut self, block: u32, variant: usize) -> Result<TrialRun, Fault> {
        let run = trial::conduct::Runner::run(self.session, block, 0)?;
        Ok(TrialRun { variant: self.plan.variants[variant].clone(), ..run })
    }

    fn after(&mut self, _: &[TrialRun], _: &trial::decide::Standing) -> Result<(), Fault> {
        Ok(())
    }

    fn elapsed_s(&self) -> f64 {
        trial::conduct::Runner::elapsed_s(self.session)
    }

    fn is_over(&self) -> bool {
        trial::conduct::Runner::is_over(self.session)
    }
}
