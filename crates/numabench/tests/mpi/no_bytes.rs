//! Messages of no bytes: a latency, and no rate in any face of the result.

use serde_json::Value;

use crate::launch::{all, verdict};
use crate::run::{Done, no_driver, run};

#[test]
fn messages_of_no_bytes_have_a_latency_and_no_rate_anywhere() -> Done {
    for mpi in all() {
        let args = ["--size", "0B,8B,2MiB", "--max-time", "2s"];
        let (ended, document) = mpi.document(&no_driver(), &[], &args)?;
        let cases = document["pairs"][0]["cases"].as_array().ok_or("cases")?;
        let empty: Vec<&Value> = cases.iter().filter(|case| case["bytes"] == 0).collect();
        let [case] = empty[..] else { return Err(format!("one figure: {empty:?}").into()) };
        assert_eq!((&case["path"], &case["pattern"]), (&"host".into(), &"ping-pong".into()));
        assert!(case["message_ns"].as_f64().is_some_and(|ns| ns > 50.0), "{case:#}");
        assert_eq!((&case["bytes_per_s"], &case["verified_bytes"]), (&Value::Null, &0.into()));
        // A busy machine's figure may be too noisy to stand there.
        assert!(verdict(&document).contains(" for 0 B"), "{}", verdict(&document));
        let of_none = ended.out.lines().find(|line| line.trim_start().starts_with("0 B")).ok_or("no line")?;
        // With its interval where the machine is busy.
        let figure = of_none.split(" ± ").next().unwrap_or_default();
        assert!(figure.ends_with(" µs") && !of_none.contains("GB/s"), "{of_none}");

        let folder = tempfile::tempdir()?;
        let file = folder.path().join("mpi.json").display().to_string();
        std::fs::write(&file, serde_json::to_vec(&document)?)?;
        let csv = run(&["export", "--to", "csv", &file]).well().out;
        let line = csv.lines().find(|line| line.contains("host/ping-pong/0,")).ok_or("no line")?;
        assert!(line.contains("measured") && !line.contains("inf") && !line.contains("NaN"), "{line}");
        let page = folder.path().join("mpi.html").display().to_string();
        run(&["report", &file, "--output", &page]).well();
        assert!(std::fs::read_to_string(&page)?.contains("host/ping-pong/0"));
        // A busy machine's figure may be too noisy to be held against another.
        assert!(matches!(run(&["compare", &file, &file]).code, Some(0 | 6)));

        mpi.host(2, &["--size", "0B", "--pattern", "one-way"])
            .refused(2, &["--size 0B", "a latency and no rate", "--pattern ping-pong"]);
    }
    Ok(())
}
