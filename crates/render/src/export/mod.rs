//! Documents in the forms of dashboards and pipelines: pure functions from a document to text.
//!
//! * `csv` a row a rank and case, for spreadsheets and data frames;
//! * `bmf` Bencher's metric format; `gha` the input of github-action-benchmark;
//! * `openmetrics` for Prometheus (node_exporter's textfile collector) and GitLab;
//! * `junit` for CI servers; `influx` line protocol;
//! * `trial` documents of `numabench trial` in all of these;
//! * `points` documents whose places are words (MPI runs, imported ones) in all of these.
//!
//! Formats that key on names get names that stay the same from run to run: no host, no date, no rank number. What a case of
//! small copies is told by is its time, above 64 KiB its rate, as comparisons judge them.

mod bmf;
mod csv;
mod gha;
mod imported;
mod influx;
mod junit;
mod mpi;
mod name;
mod openmetrics;
mod points;
mod trial;
mod words;

use analysis::kept::Kept;
use report::Document;
use report::block::NoBlock;
use report::json::JsonError;

pub use self::imported::points as imported;
pub use self::mpi::points as mpi;
pub use points::{Point, Points, Value};
pub use trial::trial;

/// The forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// Bencher Metric Format.
    Bmf,
    /// github-action-benchmark, `customBiggerIsBetter`: the rates.
    GhaBigger,
    /// github-action-benchmark, `customSmallerIsBetter`: the times.
    GhaSmaller,
    /// OpenMetrics text.
    OpenMetrics,
    /// JUnit XML.
    Junit,
    /// InfluxDB line protocol.
    Influx,
}

/// The document in this form.
///
/// # Errors
/// [`JsonError`]: a figure is not finite, which no document that was read has.
pub fn export<B>(document: &Document<B>, form: Form) -> Result<Vec<u8>, JsonError> {
    match form {
        Form::Csv => Ok(csv::csv(document).into_bytes()),
        Form::Bmf => bmf::bmf(document),
        Form::GhaBigger => gha::bigger(document),
        Form::GhaSmaller => gha::smaller(document),
        Form::OpenMetrics => Ok(openmetrics::openmetrics(document).into_bytes()),
        Form::Junit => Ok(junit::junit(document).into_bytes()),
        Form::Influx => Ok(influx::influx(document).into_bytes()),
    }
}

/// A document of any kind in this form.
///
/// # Errors
/// As [`export`].
pub fn any(document: &Kept<NoBlock>, form: Form) -> Result<Vec<u8>, JsonError> {
    match document {
        Kept::Result(document) => export(document, form),
        Kept::Trial(document) => trial(document, form),
        Kept::Mpi(document) => mpi(document).export(form),
        Kept::Imported(document) => imported(document).export(form),
    }
}
