//! `numabench topo --input`: any bytes as a file, read as the binary reads it, then every view of what came
//! out.
//!
//! The file is read in a forked child, where hwloc may crash: that is an error message, not a finding. A
//! finding is a panic of our own code in the child or here, a view that is empty or holds what a terminal
//! would obey, or JSON that does not read back. What the child covers counts, because libFuzzer's counters
//! are moved to memory that it shares ([`share_counters`]). hwloc itself is not instrumented. Left out: views
//! that write files.

#![no_main]

mod mutate;

use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use topo::{Survey, TopoError, difference, survey_xml, text};

type View = fn(&Survey, usize) -> String;

/// The views: one row each, as in the tests of `topo`.
const VIEWS: [(&str, View); 5] = [
    ("default", text::render),
    ("numa", text::numa),
    ("tree", text::tree),
    ("matrix", text::matrix),
    ("identity", text::identity),
];

fuzz_target!(
    init: {
        share_counters();
        // libFuzzer's hook aborts at once. In the child that would look like a crash of hwloc's; unwinding,
        // the child says "a panic", and here libFuzzer's own guard aborts. A panic of hwlocality's about
        // hwloc counts as a crash of hwloc's.
        std::panic::set_hook(Box::new(|panic| {
            eprintln!("{panic}");
            if panic.location().is_some_and(|at| at.file().contains("hwlocality")) {
                std::process::abort();
            }
        }));
        keep_plugins();
    },
    |bytes: &[u8]| {
        match read(bytes) {
            Ok(survey) => show(&survey),
            Err(TopoError::Crashed { how, .. }) => assert!(how.contains("SIG"), "in the child: {how}"),
            Err(error) => clean("the error", &error.to_string()),
        }
    }
);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::mutate(data, size, max_size, seed)
});

/// What the binary makes of a file with these bytes.
fn read(bytes: &[u8]) -> Result<Survey, TopoError> {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let path = FILE.get_or_init(|| std::env::temp_dir().join(format!("topo-input-{}.xml", std::process::id())));
    let written = std::fs::File::create(path).and_then(|mut file| file.write_all(bytes));
    assert!(written.is_ok(), "cannot write {}: {written:?}", path.display());
    survey_xml(path)
}

fn show(survey: &Survey) {
    for (name, view) in VIEWS {
        for width in [0, 80, 120] {
            clean(name, &view(survey, width));
        }
    }
    let json = serde_json::to_string_pretty(survey).expect("a survey has a JSON form");
    assert_eq!(serde_json::from_str::<Survey>(&json).expect("its JSON reads back"), *survey);
    assert_eq!(difference::differences(survey, survey), []);
    let nothing =
        Survey { topology: survey.topology.restricted_to(&Default::default()), nics: Vec::new(), ..survey.clone() };
    let differences = difference::differences(survey, &nothing);
    clean("diff", &text::changes(survey, &nothing, &differences, 100));
    for gpu in &survey.topology.gpus {
        let _ = (survey.topology.first_local_pu(gpu), survey.topology.host_nodes(gpu));
    }
}

/// Something is printed, and nothing that a terminal obeys or that turns a line around.
fn clean(what: &str, text: &str) {
    assert!(!text.trim().is_empty(), "{what} is empty");
    let obeyed = text.chars().find(|c| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    assert_eq!(obeyed, None, "{what} holds it: {text:?}");
}

/// Keeps hwloc's plugins loaded, which each child would otherwise load anew: two thirds of its time.
fn keep_plugins() {
    std::mem::forget(hwlocality::topology::builder::TopologyBuilder::new());
}

// Where libFuzzer's counters lie. In assembly, because a declaration in Rust takes the linker's names from
// the compiler's own pass.
std::arch::global_asm!(
    ".pushsection .data.rel.ro, \"aw\"",
    ".globl topo_input_counters",
    "topo_input_counters:",
    ".quad __start___sancov_cntrs",
    ".quad __stop___sancov_cntrs",
    ".popsection"
);

unsafe extern "C" {
    static topo_input_counters: [usize; 2];
}

/// Puts shared memory in place of the whole pages of libFuzzer's 8-bit counters, so that what a forked child
/// counts is counted. The first and the last page hold other variables too and stay private: of what is
/// counted there only the parent's part is seen.
fn share_counters() {
    // SAFETY: two addresses that the linker has filled in, which nobody writes.
    let [start, stop] = unsafe { topo_input_counters };
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let (first, last) = (start.next_multiple_of(page), stop / page * page);
    assert!(first < last, "there are fewer counters than a page");
    // SAFETY: the bytes from `first` to `last` are this program's own counters; nothing counts while they are
    // copied.
    let kept = unsafe { std::slice::from_raw_parts(first as *const u8, last - first) }.to_vec();
    // SAFETY: the pages from `first` to `last` hold nothing but counters, which are plain bytes that only
    // instrumented code and libFuzzer touch, by address; no thread of this process runs instrumented code
    // yet.
    unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let at = libc::mmap(first as *mut _, last - first, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_eq!(at as usize, first, "cannot share the counters: {}", std::io::Error::last_os_error());
        std::ptr::copy_nonoverlapping(kept.as_ptr(), first as *mut u8, kept.len());
    }
    eprintln!("{} of {} bytes of counters are shared with the child", last - first, stop - start);
}
