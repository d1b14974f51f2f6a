//! The command line of the model server: what it refuses, and what its help says.

use crate::model_server::Model;
use crate::program::PROGRAM;
use std::process::{Command, Output};

#[test]
fn command_lines_that_cannot_be_are_refused_with_one_line() {
    let refused = |options: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(["model-server", "--port", "0"])
            .args(options)
            .output()
            .unwrap();
        said(&output)
    };
    for (options, code, words) in [
        (
            &["--knob=under_lock=1"][..],
            2,
            "unknown field `under_lock`",
        ),
        (&["--knob=speed=2"], 2, "use 1 to 1.1"),
        (&["--knob=lock"], 2, "NAME=VALUE"),
        (
            &["--variable=no_such=1"],
            2,
            "Unknown system variable 'no_such'",
        ),
        (&["--variable=version=1"], 2, "read only"),
        (&["--variable=key_cache_segments=65"], 2, "0 to 64"),
        (
            &["--variable=key_buffer_size=8K"],
            2,
            "key_buffer_size = 8192",
        ),
        (&["--rows=0"], 2, "--rows"),
        (&["--knob=miss=read"], 1, "--rows-in"),
        (&["--rows-in=/nonexistent", "--rows=10"], 1, "/nonexistent"),
        (&["--truth=/nonexistent/x"], 1, "--truth"),
    ] {
        let (found, line) = refused(options);
        assert_eq!(found, code, "{line}");
        assert!(line.contains(words), "{line}");
    }
    let first = Model::start("port-taken", &["--port=0", "--rows=10"]);
    let port = first.listening["port"].to_string();
    let output = Command::new(PROGRAM)
        .args(["model-server", "--rows=10", "--port", &port])
        .output()
        .unwrap();
    let (code, line) = said(&output);
    assert_eq!(code, 1);
    assert!(line.contains("another server is listening there"), "{line}");
}

fn said(output: &Output) -> (i32, String) {
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    (output.status.code().unwrap(), line)
}

/// The page of the reference shows the help to the letter; with CONTEND_UPDATE_GOLDEN it is written
/// anew.
#[test]
fn the_page_of_the_reference_shows_the_help() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/reference/model-server.md"
    );
    let help = Command::new(PROGRAM)
        .args(["model-server", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    // No line of a page ends with blanks.
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let text = std::fs::read_to_string(page).unwrap();
    let (before, after) = text.split_once("## Help\n\n```text\n").unwrap();
    let (shown, after) = after.split_once("```\n").unwrap();
    let wanted = format!("{}\n", help.join("\n"));
    if std::env::var_os("CONTEND_UPDATE_GOLDEN").is_some() {
        let text = format!("{before}## Help\n\n```text\n{wanted}```\n{after}");
        std::fs::write(page, text).unwrap();
        return;
    }
    assert_eq!(shown, wanted, "CONTEND_UPDATE_GOLDEN=1 updates it");
}
