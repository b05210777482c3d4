//! The binary as its users meet it: arguments in; text, documents, messages and exit codes out.
//!
//! Support: `run` starts the binary in a known environment and holds every ending against the rules that all
//! share; `driver` builds the stand-in drivers, `c_program` programs that tests plant; `proof` reads documents and checks what they prove.
//!
//! Tests, by what they hold:
//! * `arguments`  malformed lists, sizes and numbers;
//! * `processors` PUs that cannot be had, and lists of unequal lengths;
//! * `memory`     nodes, budgets and pinning;
//! * `devices`    GPUs and drivers that are not there, broken, or named wrongly;
//! * `simulated` the way to a document on stand-in drivers: every memory and direction, sharing, corrupt
//!   data, a stuck device;
//! * `coherent` GPUs that share memory with their CPU: where their memory lies, and that PCIe bounds nothing;
//! * `faults` GPU drivers of every kind (`kinds`) that fail, hang, lose a device, corrupt data or give
//!   nonsense times;
//! * `figures`    what a described device's links allow is what is measured;
//! * `stalls`     drivers whose calls never return, and whose exit handlers wait for those: time limits hold;
//! * `options`    what was asked for is what was done: rounds, sizes, orders, seeds, verification;
//! * `output`     files, pipes, colour, quiet; `terminal` what a small terminal shows;
//! * `signals`    Ctrl-C, SIGTERM, SIGHUP, SIGXCPU, SIGKILL; `limits` of processes, memory, sizes and times;
//! * `dry_run`    the plan without a driver;
//! * `doctor`     the settings of a node, with and without rights, and in saved files;
//! * `place`      places recommended, measured, read back, and said in every launcher's words;
//! * `goldens`    help and `topo` as text, word for word (snapshots);
//! * `nvml` NVIDIA's management library is opened for the views that show what it says, and for no other;
//! * `workers`    workers of an engine are bound by the simulated GPU that each opens;
//! * `witness`    the copies of a planted program are counted to the byte, however it reaches the driver;
//!   `witness_hip` those of one by HIP;
//! * `exports`    every export of every kind of document is read by a parser of its form;
//! * `results`    comparisons and exports of documents; `unfinished` those of runs that did not end well;
//! * `matrix` rows against GPUs and against memory nodes, on this machine, on stand-in drivers and in a
//!   guest;
//! * `engines`    copy engines and a kernel, one of them and both in one run;
//! * `kernels`    kernels that compute, on stand-in drivers and on cores;
//! * `laplace`    Jacobi's iteration by a rank alone, likewise;
//! * `peer`       copies and loads between GPUs, and within one;
//! * `groups`     topo --measure on GPUs whose links are described;
//! * `measurements` sweep, contend and suite find what stand-in drivers were told;
//! * `installed`  version, manual pages and completions, as tools and shells read them;
//! * `fleet` one task a node: documents, the table of all, who did not answer; `check_bandwidth` what it
//!   keeps GPUs for, and slow memory;
//! * `contrib` the examples to take along, run; `delivery` scripts, pipelines and the dashboard; `docs` the
//!   pages' commands;
//! * `captures`   real machines' hwloc files through the command line, where they are at hand;
//! * `check` what is seen and judged of this process, of running ones and of ranks; `guest_check` in a guest;
//! * `guest` a Linux guest with several NUMA nodes: binding, pages, offline PUs, cpusets, nodes without
//!   memory.
//!
//! No test depends on a measured figure. What a machine lacks is said in a line that begins with `SKIPPED`.

mod arguments;
mod c_program;
mod caches;
mod captures;
mod check;
mod check_bandwidth;
mod check_line;
mod coherent;
mod conditions;
mod contrib;
mod delivery;
mod devices;
mod docs;
mod doctor;
mod driver;
mod dry_run;
mod engines;
mod exports;
mod faults;
mod figures;
mod fleet;
mod goldens;
mod groups;
mod guest;
mod guest_check;
mod guest_doctor;
mod installed;
mod kernels;
mod kinds;
#[allow(dead_code, reason = "other binaries use the rest")]
mod lab;
mod laplace;
mod latency;
mod limits;
mod matrix;
mod measurements;
mod memory;
mod memory_limits;
mod moving;
mod nvml;
mod option_samples;
mod options;
mod output;
mod pairs;
mod peer;
mod peer_sample;
mod pieces;
mod place;
mod processors;
mod proof;
mod published;
mod results;
mod run;
mod shared_queue;
mod signals;
mod simulated;
mod stalls;
mod sweep_room;
mod sweep_rows;
mod systems;
mod terminal;
mod unfinished;
mod witness;
mod witness_gain;
mod witness_hip;
mod workers;
