//! Tokens of texts, and what holds for every text.
use super::*;
use proptest::prelude::*;

const PLAIN: Mode = Mode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    version: 101_119,
};
const ANSI: Mode = Mode {
    ansi_quotes: true,
    ..PLAIN
};
const NO_ESCAPES: Mode = Mode {
    no_backslash_escapes: true,
    ..PLAIN
};
const MYSQL: Mode = Mode {
    version: 80_400,
    ..PLAIN
};

/// The tokens without blanks: the first letters of their kinds, and their texts.
fn read(text: &str, mode: Mode) -> Vec<String> {
    let tokens = Tokens::new(text.as_bytes(), mode).filter(|token| token.kind != TokenKind::Space);
    let shown = |token: Token<'_>| {
        let kind = format!("{:?}", token.kind);
        let kind = match token.kind {
            TokenKind::RunsFrom | TokenKind::RunsTo => kind.as_str(),
            _ => kind.get(..1).unwrap_or_default(),
        };
        format!("{kind} {}", String::from_utf8_lossy(token.text))
    };
    tokens.map(shown).collect()
}

#[test]
fn a_statement_has_words_names_texts_numbers_and_operators() {
    assert_eq!(
        read("SELECT `a b`.c1, 'it''s' FROM té WHERE k IN (?,42)", PLAIN),
        [
            "W SELECT",
            "N `a b`",
            "O .",
            "W c1",
            "O ,",
            "T 'it''s'",
            "W FROM",
            "W té",
            "W WHERE",
            "W k",
            "W IN",
            "O (",
            "P ?",
            "O ,",
            "N 42",
            "O )"
        ]
    );
    assert_eq!(
        read("a<=>b<=c<>d!=e:=f||g->>'$.a'&&!h>>-i..j", PLAIN),
        [
            "W a", "O <=>", "W b", "O <=", "W c", "O <>", "W d", "O !=", "W e", "O :=", "W f",
            "O ||", "W g", "O ->>", "T '$.a'", "O &&", "O !", "W h", "O >>", "O -", "W i", "O ..",
            "W j"
        ]
    );
    assert_eq!(
        read("?a a? \\N\\a\0", PLAIN),
        ["O ?", "W a", "W a", "P ?", "W \\N", "O \\", "W a", "O \0"]
    );
}

#[test]
fn quotes_depend_on_the_mode() {
    let text = r#"'a\';' "b\";" `c\`"#;
    assert_eq!(read(text, PLAIN), [r"T 'a\';'", r#"T "b\";""#, r"N `c\`"]);
    assert_eq!(
        read(text, ANSI),
        [r"T 'a\';'", r#"N "b\""#, "O ;", r#"U " `c\`"#]
    );
    assert_eq!(
        read(text, NO_ESCAPES),
        [r"T 'a\'", "O ;", r#"U ' "b\";" `c\`"#]
    );
    assert_eq!(read(r"'\\' '\", PLAIN), [r"T '\\'", r"U '\"]);
    assert_eq!(
        read("''''\"\"`a``b`", PLAIN),
        ["T ''''", "T \"\"", "N `a``b`"]
    );
    let inner: Vec<&[u8]> = Tokens::new(b"n'a'`b``c`''", PLAIN)
        .map(|token| token.inner())
        .collect();
    assert_eq!(inner, [&b"a"[..], b"b``c", b""]);
}

#[test]
fn numbers_and_bits_end_where_a_servers_do() {
    assert_eq!(
        read("1 1.5 .5 1. 1e3 1E-3 1.5e+3 2e5abc 1e 1e+ 1..2", PLAIN),
        [
            "N 1", "N 1.5", "N .5", "N 1.", "N 1e3", "N 1E-3", "N 1.5e+3", "N 2e5", "W abc",
            "W 1e", "W 1e", "O +", "N 1", "O ..", "N 2"
        ]
    );
    assert_eq!(
        read("0x1F 0X1F 0x 0x1g 0b01 0b2 x'1f' B'0''1' n'\\'' 1a", PLAIN),
        [
            "B 0x1F", "W 0X1F", "W 0x", "W 0x1g", "B 0b01", "W 0b2", "B x'1f'", "B B'0'", "T '1'",
            "T n'\\''", "W 1a"
        ]
    );
    assert_eq!(read("x'1", PLAIN), ["U x'1"]);
}

#[test]
fn names_behind_points_and_at_signs_may_begin_with_digits() {
    assert_eq!(
        read("t.5 `t`.5 t .5 a.x'1' @5.a @'x' @@g.7 @@`a`.1", PLAIN),
        [
            "W t", "O .", "W 5", "N `t`", "N .5", "W t", "N .5", "W a", "O .", "W x", "T '1'",
            "O @", "W 5.a", "O @", "T 'x'", "O @@", "W g", "O .", "W 7", "O @@", "N `a`", "N .1"
        ]
    );
}

#[test]
fn comments_are_those_of_a_server() {
    assert_eq!(
        read("a--1 -- b\n--\tc\n--", PLAIN),
        ["W a", "O -", "O -", "N 1", "C -- b", "C --\tc", "C --"]
    );
    assert_eq!(read("--\u{a0}b", PLAIN), ["O -", "O -", "W \u{a0}b"]);
    assert_eq!(
        read("#a\0b /* c /* d */ */", PLAIN),
        ["C #a", "O \0", "W b", "C /* c /* d */", "O *", "O /"]
    );
    assert_eq!(read("/**/ /*/ a", PLAIN), ["C /**/", "U /*/ a"]);
}

#[test]
fn executable_comments_run_by_version() {
    assert_eq!(
        read("/*!50100 a /* b */ 'c*/' */ */", PLAIN),
        [
            "RunsFrom /*!50100",
            "W a",
            "C /* b */",
            "T 'c*/'",
            "RunsTo */",
            "O *",
            "O /"
        ]
    );
    let other = "/*!80100 a /* b */ c */ d";
    assert_eq!(read(other, PLAIN), ["S /*!80100 a /* b */ c */", "W d"]);
    assert_eq!(read("/*!80400 a*/", MYSQL)[0], "RunsFrom /*!80400");
    assert_eq!(read("/*!80401 a*/", MYSQL), ["S /*!80401 a*/"]);
    assert_eq!(read("/*!080401 a*/", MYSQL), ["S /*!080401 a*/"]);
    assert_eq!(
        read("/*!800001a*/", MYSQL)[..2],
        ["RunsFrom /*!80000", "W 1a"]
    );
    assert_eq!(read("/*M!80100 a*/", PLAIN)[0], "RunsFrom /*M!80100");
    assert_eq!(read("/*M!80100 a*/", MYSQL), ["C /*M!80100 a*/"]);
    assert_eq!(read("/*!101120 a*/", PLAIN), ["S /*!101120 a*/"]);
    assert_eq!(read("/*!1234 a*/", PLAIN)[..2], ["RunsFrom /*!", "N 1234"]);
    assert_eq!(
        read("/*!1011191 a*/", PLAIN)[..2],
        ["RunsFrom /*!101119", "N 1"]
    );
    assert_eq!(read("/*!99999 a", PLAIN), ["U /*!99999 a"]);
    let mut open = Tokens::new(b"a /*! b", PLAIN);
    while open.next().is_some() {}
    assert_eq!(open.open_comment(), Some(2));
}

#[test]
fn a_reader_of_a_grammar_sees_no_blanks_or_comments() {
    let mut tokens = Tokens::new(b" /* a */ USE # b\n x/*! , */ y", PLAIN);
    assert!(!tokens.takes_word(b"x") && tokens.takes_word(b"use") && tokens.takes_word(b"X"));
    assert!(!tokens.takes(b";") && tokens.takes(b","));
    assert_eq!(tokens.clone().read().map(|token| token.start), Some(28));
    tokens.skip_to(29);
    assert!(tokens.read().is_none());
    assert_eq!(tokens.between(1, 3), b"/*");
    assert_eq!(tokens.between(20, 90), b"");
}

/// Parts of SQL text, and any bytes between them.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        proptest::sample::select(vec![
            "'", "\"", "`", "\\", ";", "-- ", "#", "\n", "/*", "*/", "/*!", "/*!99999", "/*M!",
            ".", "5", "0x1", "e", "x'", "N'", "@", "?", " ", "ab", "<=",
        ])
        .prop_map(|part| part.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..3),
    ];
    proptest::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

fn mode() -> impl Strategy<Value = Mode> {
    let version = proptest::sample::select(vec![80_400, 101_119]);
    (any::<bool>(), any::<bool>(), version).prop_map(
        |(ansi_quotes, no_backslash_escapes, version)| Mode {
            ansi_quotes,
            no_backslash_escapes,
            version,
        },
    )
}

proptest! {
    #[test]
    fn nothing_is_lost(text in text(), mode in mode()) {
        let mut whole = Vec::new();
        for token in Tokens::new(&text, mode) {
            prop_assert_eq!(token.start, whole.len());
            prop_assert!(!token.text.is_empty());
            prop_assert!(token.inner().len() <= token.text.len());
            whole.extend_from_slice(token.text);
        }
        prop_assert_eq!(whole, text);
    }

    #[test]
    fn a_quoted_text_is_one_token(text in text(), mode in mode()) {
        let mut quoted = vec![b'\''];
        for byte in &text {
            if *byte == b'\'' || *byte == b'\\' && !mode.no_backslash_escapes {
                quoted.push(*byte);
            }
            quoted.push(*byte);
        }
        quoted.push(b'\'');
        let tokens: Vec<Token<'_>> = Tokens::new(&quoted, mode).collect();
        prop_assert_eq!(tokens, vec![Token { kind: TokenKind::Text, start: 0, text: &quoted }]);
    }

    /// Text before a token changes the token only if it is part of it.
    #[test]
    fn tokens_of_a_rest_are_the_rest_of_the_tokens(text in text(), mode in mode()) {
        let all: Vec<Token<'_>> = Tokens::new(&text, mode).collect();
        if let Some(place) = all.iter().position(|token| token.kind == TokenKind::Space) {
            let rest = &all[place..];
            let from = Tokens::starting_at(&text, rest[0].start, mode);
            if !all.iter().any(|token| token.kind == TokenKind::RunsFrom) {
                prop_assert_eq!(from.collect::<Vec<_>>(), rest.to_vec());
            }
        }
    }
}
