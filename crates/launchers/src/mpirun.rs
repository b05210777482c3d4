//! Options of `mpirun` and `mpiexec`, which are names of three launchers: Open MPI, Hydra (MPICH, Intel MPI)
//! and PALS (HPE Cray).
//!
//! One table reads them, since their names hardly collide; whose line it is, the options say that only one of
//! them has. Where nothing does, `mpirun` is taken for Open MPI's and `mpiexec` for Hydra's, and a note says
//! so where an option that several know (`-bind-to`) decides.

use crate::error::LineError;
use crate::grammar::{Given, Grammar, Style, is_among};
use crate::launcher::{Launcher, hydra, open_mpi, pals};
use crate::layout::{LaunchLine, Options};
use crate::mpi_options::Common;

const MPIRUN: Grammar = Grammar {
    tool: "mpirun",
    style: Style::Words,
    letters: "n:c:N:H:x:f:qvVhdsl",
    names: "allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot continuous daemonize debug \
        debug-daemons debug-daemons-file debug-devel disable-auto-cleanup disable-hostname-propagation \
        disable-recovery disable-x display-allocation display-devel-allocation display-devel-map \
        display-diffable-map display-map display-topo do-not-launch do-not-resolve dvm \
        enable-instant-on-support enable-recovery enable-x envall envnone exclusive fwd-mpirun-port genvall \
        genvnone get-stack-traces help hetero-nodes index-argv-by-rank info label leave-session-attached \
        line-buffer merge-stderr-to-stdout no-abort-on-failure no-app-prefix no-transfer no-vni nolocal \
        nooversubscribe noprefix novm output-proctable oversubscribe parsable parseable pernode pmi-port \
        preload-binary prepend-rank print-all-exitcodes profile quiet report-bindings \
        report-child-jobs-separately report-state-on-timeout rr set-cwd-to-session-dir show-progress \
        skip-launch-node stop-in-init stop-on-exec tag-output terminate timestamp-output transfer tv \
        use-hwthread-cpus use-regexp verbose version xml add-host: add-hostfile: am: app: app-prefix: \
        bind-to: bootstrap: bootstrap-exec: cartofile: cf: configfile: cpu-bind: cpu-list: cpu-set: \
        cpus-per-proc: cpus-per-rank: debugger: default-hostfile: demux: depth: display: dvm-uri: envlist: \
        errfile-pattern: exec-agent: file: forward-signals: genvlist: gpu-bind: gpus-per-proc: grr: hnp: \
        host: hostfile: hostlist: hosts: iface: initial-errhandler: keepalive: launch-agent: launcher: \
        launcher-exec: localhost: machine: machinefile: map-by: max-restarts: max-vm-size: mem-bind: \
        membind: nameserver: np: npernode: npersocket: num-connect-retries: ompi-server: order-nodes: \
        outfile-pattern: output: output-filename: path: perhost: personality: pmi: pmix-prefix: ppn: ppr: \
        prefix: preload-files: prepend-pattern: pset: rank-by: rankfile: report-events: report-pid: \
        report-uri: rf: rlimits: rmk: runtime-options: server-wait-time: soft: spawn-timeout: stdin: \
        stream-buffering: timeout: topolib: tune: umask: usize: wd: wdir: with-ft: xml-file: xterm: env:+ \
        genv:+ gmca:+ gomca:+ gpmixmca:+ gprtemca:+ mca:+ omca:+ pmixmca:+ prtemca:+",
    is_open: true,
};

/// PALS' `-d` is a depth.
const MPIEXEC: Grammar = Grammar { tool: "mpiexec", letters: "n:c:N:H:x:f:d:qvVhsl", ..MPIRUN };

/// Reads the options of the launcher whose line it is: of `named`, for which the command is taken, unless an
/// option says otherwise.
///
/// # Errors
/// [`LineError`]: the launcher would refuse them, or they are not known.
pub(crate) fn read<'l>(named: Launcher, line: &LaunchLine<'l>) -> Result<(Launcher, Options<'l>), LineError> {
    let grammar = if line.command == "mpirun" { &MPIRUN } else { &MPIEXEC };
    let (given, program) = grammar.read(line.words)?;
    let launcher = match line.command {
        "mpirun" | "mpiexec" => by_options(named, line, &given),
        _ => named,
    };
    let mut common = Common { given, ..Common::default() };
    for one in common.given.clone() {
        common.option(&one)?;
    }
    let passed_over = grammar.notes(&common.given);
    let (layouts, mut notes) = match launcher {
        Launcher::Pals => (vec![pals::layout(&common, line)?], Vec::new()),
        Launcher::Hydra => {
            let layouts = hydra::layouts(&common, line)?;
            let is_mpichs =
                line.command == "mpiexec" && layouts.len() == 1 && common.last(&["bind-to"]).is_some();
            let note = "the mpiexec is taken for MPICH's: Open MPI's maps in another way, and Intel MPI's \
                does not read -bind-to";
            (layouts, is_mpichs.then(|| note.to_owned()).into_iter().collect())
        }
        // Nobody else's line comes here.
        _ => {
            let open_mpi::OpenMpiLayouts { layouts, notes } = open_mpi::layouts(&mut common, line)?;
            (layouts, notes)
        }
    };
    notes.extend(passed_over);
    let Common { count, environment, .. } = common;

    Ok((launcher, Options { count, layouts, program, environment, withheld: Vec::new(), notes }))
}

/// Whose line of `mpirun` or `mpiexec` it is.
fn by_options(named: Launcher, line: &LaunchLine<'_>, given: &[Given<'_>]) -> Launcher {
    let has = |names: &str| given.iter().any(|one| is_among(names, one.name));
    let value =
        |name: &str| given.iter().find(|one| one.name == name).map(|one| one.value().to_ascii_lowercase());
    let (map_by, bind_to) = (value("map-by").unwrap_or_default(), value("bind-to").unwrap_or_default());
    let is_width = |text: &str| text.split_once(':').is_some_and(|(_, width)| width.parse::<usize>().is_ok());

    // Hydra writes `core:4` of a width, Open MPI `:PE=4` and `ppr:`.
    let is_hydras = bind_to.starts_with("user:")
        || bind_to == "rr"
        || is_width(&bind_to)
        || is_width(&map_by)
        || line.variables.keys().any(|name| name.starts_with("I_MPI_"))
        || given.iter().any(|one| matches!(one.name, "env" | "genv") && one.value().starts_with("I_MPI_"))
        || has(hydra::ITS_OWN);

    let is_open_mpis =
        (map_by.contains(':') && !is_width(&map_by)) || map_by == "slot" || has(open_mpi::ITS_OWN);

    match () {
        () if has(pals::ITS_OWN) => Launcher::Pals,
        () if is_open_mpis => Launcher::Mpirun,
        () if is_hydras || (line.command == "mpirun" && has("ppn hosts")) => Launcher::Hydra,
        () => named,
    }
}
