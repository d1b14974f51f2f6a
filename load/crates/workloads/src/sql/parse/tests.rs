//! Scripts that are read, and scripts that are refused with their place.
#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn refusal(text: &str) -> (u32, u32, String) {
    let error = parse(text).unwrap_err();
    (error.line, error.column, error.message)
}

fn pieces(text: &str) -> Vec<String> {
    parse(text).unwrap()[0].statements[0].pieces.clone()
}

#[test]
fn statements_alone_are_events_of_their_own() {
    let events = parse("SELECT 1; SELECT {n:uniform(1, 2)} + {n};").unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].statements[0].pieces, ["SELECT 1"]);
    assert_eq!(events[1].statements[0].pieces, ["SELECT ", " + ", ""]);
    assert_eq!(events[1].statements[0].placeholders, [0, 0]);
    assert_eq!(
        (events[1].name.as_str(), events[1].weight),
        ("statement_2", 1)
    );
}

#[test]
fn headers_name_and_weigh_events_of_several_statements() {
    let text = "-- two kinds\n@read weight 9\nSELECT {id:zipfian(1, 10, 0.9)};\n\
        @move # and a rare one\nBEGIN;\nUPDATE t SET k = k + {d:uniform(1,5)};\n\
        UPDATE t SET k = k - {d};\nCOMMIT;\n";
    let events = parse(text).unwrap();
    let shape: Vec<(&str, u64, usize)> = events
        .iter()
        .map(|e| (e.name.as_str(), e.weight, e.statements.len()))
        .collect();
    assert_eq!(shape, [("read", 9, 1), ("move", 1, 4)]);
    assert_eq!(events[1].sources.len(), 1);
}

#[test]
fn quotes_comments_and_doubled_braces_are_text() {
    assert_eq!(
        pieces("SELECT '{a};''\\'', \"{b}\", `{c}`;"),
        ["SELECT '{a};''\\'', \"{b}\", `{c}`"]
    );
    assert_eq!(
        pieces("SELECT /*+ {hint}; */ 1 -- {no};\n, 2;"),
        ["SELECT /*+ {hint}; */ 1 \n, 2"]
    );
    assert_eq!(pieces("SELECT '1' {{ }} 5--3;"), ["SELECT '1' { } 5--3"]);
}

#[test]
fn every_fault_has_its_place() {
    for (text, line, column, word) in [
        ("", 1, 1, "no statement"),
        ("\n  -- only\n", 3, 1, "no statement"),
        ("SELECT 1", 1, 1, "has no end"),
        ("SELECT 1;\n  ;", 2, 3, "empty"),
        ("SELECT {id};", 1, 9, "is not defined"),
        (
            "SELECT {id:uniform(1,2)}, {id:uniform(1,2)};",
            1,
            28,
            "is defined twice",
        ),
        ("SELECT\n {id:unifrom(1,2)};", 2, 6, "uniform"),
        ("SELECT {id:uniform(2)};", 1, 12, "uniform(low, high)"),
        ("SELECT {id:uniform(2,1)};", 1, 12, "2 is above 1"),
        ("SELECT {id:uniform 1,2};", 1, 20, "parentheses"),
        ("SELECT {id:uniform(1;2)};", 1, 21, "comma"),
        ("SELECT {id:uniform(a,2)};", 1, 20, "number"),
        ("SELECT {id:uniform(1,2);", 1, 24, "}"),
        ("SELECT {};", 1, 9, "name"),
        ("SELECT };", 1, 8, "without its {"),
        ("SELECT 'abc;", 1, 8, "no end"),
        ("SELECT /* abc;", 1, 8, "no end"),
        ("@\nSELECT 1;", 1, 2, "name"),
        ("@a weigth 3\nSELECT 1;", 1, 4, "weigth"),
        ("@a weight 0\nSELECT 1;", 1, 11, "whole number"),
        ("@a weight=40\nSELECT 1;", 1, 10, "without ="),
        ("@a weight = 40\nSELECT 1;", 1, 11, "without ="),
        ("@a SELECT 1;", 1, 4, "weight"),
        ("@a\n@b\nSELECT 1;", 2, 1, "no statement"),
        ("@a\nSELECT 1;\n@a\nSELECT 1;", 3, 1, "already"),
        ("SELECT 1;\n@a\nSELECT 1;", 2, 1, "belong to no event"),
        ("@a\nSELECT 1;\n@b\n", 4, 1, "no statement"),
    ] {
        let (l, c, message) = refusal(text);
        assert_eq!((l, c), (line, column), "{text:?}: {message}");
        assert!(message.contains(word), "{text:?}: {message}");
    }
    let many = "SELECT 1;".repeat(STATEMENTS_MAX + 1);
    assert!(refusal(&many).2.contains("more than"));
}

#[test]
fn columns_count_characters() {
    assert_eq!(refusal("SELECT 'ä€' };").1, 13);
}

proptest! {
    #[test]
    fn no_text_panics(text in "[@{}a-z0-9:;'\"`#*/(), \n\\\\-]{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn what_is_read_has_a_piece_more_than_placeholders(n in 0usize..20) {
        let text = format!("SELECT {};", vec!["{a:uniform(1,2)}"; n.min(1)].join(","));
        let events = parse(&text).unwrap();
        let statement = &events[0].statements[0];
        prop_assert_eq!(statement.pieces.len(), statement.placeholders.len() + 1);
    }
}
