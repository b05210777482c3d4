//! The report in a real browser: pages of every kind at three widths, light and dark. No text is over another
//! or beyond its box, no request leaves the file, the values are under the pointer, and colours differ as
//! their figures do. The page says that of itself, by its own measured rectangles (`check.js`, in a copy of
//! the page that may run it). One browser holds all pages, each in a frame.

#[path = "../results/made.rs"]
#[allow(dead_code, reason = "other tests of these documents need more of it")]
mod made;
mod pages;

use std::path::Path;
use std::process::Command;

use made::Done;
use serde_json::Value;

const WIDTHS: [u32; 3] = [400, 800, 1400];
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const CHECK: &str = include_str!("check.js");

/// The browser on this machine.
fn browser() -> Option<&'static str> {
    let is_there = |name: &&&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    NAMES.iter().find(is_there).copied()
}

/// What every page at every width says of itself.
fn page_reports(
    browser: &str,
    pages: &[(String, String)],
    dark: bool,
) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut frames = String::new();
    for (name, html) in pages {
        for wide in WIDTHS {
            let script = format!("<script>const name_of_page = {name:?};\n{CHECK}</script></head>");
            let copy = html
                .replace("default-src 'none'; ", "default-src 'none'; script-src 'unsafe-inline'; ")
                .replacen("</head>", &script, 1);
            std::fs::write(folder.path().join(format!("{name}-{wide}.html")), copy)?;
            frames +=
                &format!("<iframe src=\"{name}-{wide}.html\" width=\"{wide}\" height=\"9000\"></iframe>\n");
        }
    }
    let around = format!(
        "<!DOCTYPE html><meta charset=utf-8><pre id=said></pre><script>addEventListener('message', (event) \
         => {{ document.getElementById('said').textContent += JSON.stringify(event.data) + '\\n'; \
         }});</script>\n{frames}"
    );
    let index = folder.path().join("index.html");
    std::fs::write(&index, around)?;
    let output = run(browser, folder.path(), &index, dark)?;
    let lines =
        output.split("<pre id=\"said\">").nth(1).and_then(|rest| rest.split("</pre>").next()).unwrap_or("");
    let plain = lines.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    Ok(plain.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn run(browser: &str, folder: &Path, page: &Path, dark: bool) -> Result<String, Box<dyn std::error::Error>> {
    let scheme = if dark {
        "--blink-settings=preferredColorScheme=0"
    } else {
        "--blink-settings=preferredColorScheme=1"
    };
    let output = Command::new("timeout")
        .args([
            "120",
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--virtual-time-budget=60000",
            "--window-size=1500,1000",
            scheme,
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that skips something says so")]
fn every_kind_of_page_is_readable_at_every_width_light_and_dark() -> Done {
    let Some(browser) = browser() else {
        eprintln!("SKIPPED pages in a browser: there is no chromium (package chromium)");
        return Ok(());
    };
    let pages = pages::all()?;
    for dark in [false, true] {
        let said = page_reports(browser, &pages, dark)?;
        assert_eq!(said.len(), pages.len() * WIDTHS.len(), "every page is heard of: {said:?}");
        let mut faults: Vec<String> = Vec::new();
        for page in &said {
            let found = page["faults"].as_array().ok_or("faults")?;
            let name = format!("{} at {}", page["page"], page["wide"]);
            faults.extend(found.iter().map(|fault| format!("{name}: {fault}")));
            assert_eq!(page["dark"], dark, "{name}");
            let is_seen = page["values"].as_u64().unwrap_or(0) + page["cells"].as_u64().unwrap_or(0) > 0;
            assert!(is_seen, "nothing on {name} shows a value: {page}");
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
    Ok(())
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that skips something says so")]
fn what_is_wrong_with_a_page_is_found() -> Done {
    let Some(browser) = browser() else {
        eprintln!("SKIPPED pages in a browser: there is no chromium (package chromium)");
        return Ok(());
    };
    let (_, good) = pages::all()?.into_iter().next().ok_or("no page")?;
    let cases: [(&str, &str, &str, &str); 7] = [
        (
            "over",
            "</svg>",
            "<text x=\"9\" y=\"99\">one text</text><text x=\"19\" y=\"101\">another</text></svg>",
            "is over",
        ),
        (
            "beyond",
            "</svg>",
            "<text x=\"300\" y=\"99\">a text that goes on far beyond the edge of a picture of any width, and \
             on, and on, and on and on to its end</text></svg>",
            "beyond the picture",
        ),
        ("cut", "</text>", "…</text>", "is cut"),
        ("asks", "</main>", "<img src=\"http://localhost:1/x.png\"></main>", "asked for"),
        ("wide", "</main>", "<div style=\"width:3000px\">x</div></main>", "px wide"),
        ("pale", "color: #1a1a1a; background: #fff", "color: #ddd; background: #fff", "stand out"),
        ("broken", "</main>", "<script>nothing.at.all()</script></main>", "script error"),
    ];
    let mut pages: Vec<(String, String)> =
        cases.iter().map(|(name, old, new, _)| ((*name).to_owned(), good.replace(old, new))).collect();
    let (_, matrix) = pages::all()?.into_iter().find(|(name, _)| name == "matrix").ok_or("no matrix")?;
    let same: String = matrix
        .split("background-color:#")
        .enumerate()
        .map(|(at, part)| match at {
            0 => part.to_owned(),
            _ => format!("background-color:#21908c{}", &part[6..]),
        })
        .collect();
    pages.push(("same".to_owned(), same));
    pages.push(("untold".to_owned(), matrix.replace(" title=\"", " lang=\"")));
    pages.push(("mute".to_owned(), good.replace("<title>", "<desc>").replace("</title></", "</desc></")));
    let said = page_reports(browser, &pages, false)?;
    let more = [("same", "have one colour"), ("untold", "nothing under the pointer")];
    for (name, words) in cases.iter().map(|(name, .., words)| (*name, *words)).chain(more) {
        let of_page: Vec<&Value> = said.iter().filter(|page| page["page"] == name).collect();
        assert!(of_page.iter().any(|page| page["faults"].to_string().contains(words)), "{name}: {of_page:?}");
    }
    let mut mute = said.iter().filter(|page| page["page"] == "mute");
    assert!(mute.all(|page| page["values"] == 0), "marks without values are seen to have none: {said:?}");
    Ok(())
}
