//! Plug-ins that are not what they should be, written in C: the interface is C's, and what lies at a site may
//! be old.

#![allow(clippy::print_stdout, reason = "a test that skips something says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

use ranks::{Flavour, Plugin, World};

const DECLARATIONS: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
struct place { uint32_t rank, size, node, nodes, node_rank, node_size, thread_level; };
struct table {
    unsigned version, bytes;
    size_t (*library)(uint8_t *, size_t), (*trouble)(uint8_t *, size_t);
    int (*start)(struct place *), (*post)(uint32_t, const uint8_t *, size_t);
    int (*collect)(uint32_t *, size_t *), (*take)(uint8_t *, size_t);
    void (*abort)(int);
    int (*leave)(void);
    int (*send)(uint32_t, size_t, size_t), (*receive)(uint32_t, size_t, size_t);
    int (*start_send)(uint32_t, size_t, size_t), (*start_receive)(uint32_t, size_t, size_t), (*wait_all)(void);
    int (*operate)(uint32_t, uint32_t, size_t, size_t, size_t);
    size_t (*said)(uint8_t *, size_t);
    void (*of_a_later_version)(void);
};
static size_t text(const char *text, uint8_t *buffer, size_t capacity) {
    size_t length = strlen(text);
    memcpy(buffer, text, length < capacity ? length : capacity);
    return length;
}
static size_t library(uint8_t *b, size_t c) { return text("MPICH Version:\t9.9\nand more", b, c); }
static size_t trouble(uint8_t *b, size_t c) { return text("MPI_Somewhat\nit is broken", b, c); }
static int start(struct place *place) { *place = (struct place){ 1, 4, 0, 2, 1, 2, LEVEL }; return STARTED; }
static int post(uint32_t to, const uint8_t *b, size_t n) { return -1; }
static int collect(uint32_t *from, size_t *n) { *from = 3; *n = 5; return 0; }
static int take(uint8_t *b, size_t n) { memcpy(b, "hello", n); return 0; }
static void abort_(int code) {}
static int leave(void) { return 0; }
static const struct table table = { VERSION, BYTES, library, trouble, start, post, collect, take, abort_, leave };
const struct table *numabench_mpi_v1(void) { return TABLE; }
"#;

/// A plug-in compiled with these definitions, beside the usual ones.
fn plugin(folder: &Path, name: &str, defined: &[&str]) -> Option<PathBuf> {
    let (source, library) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    std::fs::write(&source, DECLARATIONS).expect("written");
    let usual = ["VERSION=1", "BYTES=sizeof(struct table)", "TABLE=&table", "LEVEL=1", "STARTED=0"];
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    for definition in usual {
        let name = definition.split_once('=').map(|(name, _)| format!("{name}="));
        let own = defined.iter().find(|own| name.as_ref().is_some_and(|name| own.starts_with(name)));
        cc.arg(format!("-D{}", own.unwrap_or(&definition)));
    }
    let Ok(status) = cc.status() else {
        println!("skipped: there is no cc to compile a plug-in with");
        return None;
    };
    assert!(status.success());
    Some(library)
}

fn open(file: &Path) -> Result<Plugin, String> {
    Plugin::find(Some(file.as_os_str()), Path::new("/x")).map_err(|error| error.to_string())
}

/// The module of the MPI is not loaded: the plug-in is there, and a library that it needs is not.
#[test]
fn a_library_that_the_plug_in_needs_and_that_is_not_there_is_named_in_the_linkers_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let (needed, plugin) = (folder.path().join("libmpi_of_the_site.so.40"), folder.path().join("plugin.so"));
    let compiled = |output: &Path, more: &[&std::ffi::OsStr]| {
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-x", "c", "/dev/null", "-x", "none", "-o"]);
        cc.arg(output).args(more).status().is_ok_and(|status| status.success())
    };
    let name = "-Wl,-soname,libmpi_of_the_site.so.40".as_ref();
    if !compiled(&needed, &[name]) || !compiled(&plugin, &[needed.as_os_str()]) {
        println!("skipped: there is no cc to compile a library with");
        return;
    }
    std::fs::remove_file(&needed).expect("removed");
    let error = open(&plugin).err().unwrap_or_default();
    assert!(error.contains("libmpi_of_the_site.so.40: cannot open shared object file"), "{error}");
    assert!(error.contains("load the MPI module it was built with"), "{error}");
}

#[test]
fn a_plug_in_of_another_version_or_too_short_a_table_is_refused_with_both_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, defined, what) in [
        ("later", "VERSION=2", "interface version 2 of 136 bytes, where 1 of 128 bytes is needed"),
        ("older", "BYTES=72", "interface version 1 of 72 bytes, where 1 of 128 bytes is needed"),
        ("none", "TABLE=0", "interface version 0 of 0 bytes"),
    ] {
        let Some(file) = plugin(folder.path(), name, &[defined]) else { return };
        let error = open(&file).expect_err("refused");
        assert!(error.contains(what) && error.contains(&file.display().to_string()), "{error}");
        assert!(error.contains("build it anew"), "{error}");
    }
}

#[test]
fn a_longer_table_of_the_same_version_is_read_as_far_as_it_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(file) = plugin(folder.path(), "longer", &[]) else { return };
    let plugin = open(&file).expect("opened");
    assert_eq!((plugin.library().flavour, plugin.library().version.as_str()), (Flavour::Mpich, "9.9"));
    let mpi = plugin.start(None).expect("started");
    let place = mpi.place();
    assert_eq!((place.rank, place.size, place.node, place.nodes), (1, 4, 0, 2));
    assert_eq!((place.node_rank, place.node_size), (1, 2));
    assert_eq!(
        mpi.collect().map(|message| message.map(|l| (l.from, l.bytes))),
        Ok(Some((3, b"hello".to_vec())))
    );
    assert_eq!(
        mpi.post(2, b"").map_err(|error| error.to_string()),
        Err("MPI_Somewhat failed: it is broken".into())
    );
}

#[test]
fn an_mpi_that_does_not_start_or_allows_no_threads_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, defined, what) in [
        ("fails", "STARTED=-1", "MPI_Somewhat failed: it is broken"),
        (
            "single",
            "LEVEL=0",
            "MPI_Init_thread failed: gave MPI_THREAD_SINGLE where MPI_THREAD_FUNNELED is the least",
        ),
    ] {
        let Some(file) = plugin(folder.path(), name, &[defined]) else { return };
        let error = open(&file).expect("opened").start(None).expect_err("refused").to_string();
        assert!(error.starts_with(what), "{error}");
    }
}
