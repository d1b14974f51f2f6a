//! The template of a statement: its tokens without its values.
//!
//! Statements that differ in values, in the length of lists of values, in comments or in case have
//! one template. It never holds a value. On the way, the tokens tell whether a statement can be
//! sent again.

use contend_sql::{Mode, Token, TokenKind, Tokens};

/// A template is cut here.
pub const TEMPLATE_BYTES_MAX: usize = 16 << 10;
/// Words in front of a list of values.
const LISTS: [&[u8]; 4] = [b"IN", b"VALUES", b"VALUE", b"ROW"];
/// Words behind which a minus is a sign.
const BEFORE_SIGNS: [&[u8]; 14] = [
    b"BETWEEN",
    b"AND",
    b"OR",
    b"SELECT",
    b"THEN",
    b"ELSE",
    b"WHEN",
    b"BY",
    b"LIKE",
    b"NOT",
    b"RETURN",
    b"INTERVAL",
    b"LIMIT",
    b"OFFSET",
];

/// What the tokens of a statement tell, besides its template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementShape {
    /// The template's hash, the same in either case.
    pub hash: u64,
    /// It has no code at all.
    pub is_empty: bool,
    /// A quote or comment has no end.
    pub is_open: bool,
    /// A semicolon is followed by more.
    pub is_several: bool,
    pub has_placeholder: bool,
    /// A comment in it is an optimizer hint.
    pub has_hint: bool,
    /// Text in it may be a password of the server's.
    pub is_secret: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastPart {
    Nothing,
    Literal,
    Comma,
    Open,
    Group,
    Word,
    Operator,
}

/// An open parenthesis of the template.
#[derive(Clone, Copy, Debug)]
struct TemplateGroup {
    start: usize,
    /// Its values are a list, however few they are.
    is_list: bool,
    /// The group in front, with a comma between.
    before: Option<(usize, usize)>,
}

/// Makes templates; its memory is used again.
#[derive(Debug)]
pub struct Templates {
    text: Vec<u8>,
    groups: Vec<TemplateGroup>,
    /// The last parts, the last one first.
    last: [LastPart; 3],
    literal_start: usize,
    word: (usize, usize),
    group: (usize, usize),
}

impl Default for Templates {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            groups: Vec::new(),
            last: [LastPart::Nothing; 3],
            literal_start: 0,
            word: (0, 0),
            group: (0, 0),
        }
    }
}

impl Templates {
    /// The template of the last statement read.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    pub fn read(&mut self, statement: &[u8], mode: Mode) -> StatementShape {
        self.text.clear();
        self.groups.clear();
        self.last = [LastPart::Nothing; 3];
        let mut shape = StatementShape {
            is_empty: true,
            ..StatementShape::default()
        };
        let mut secrets = SecretWords::default();
        let mut is_over = false;
        let mut tokens = Tokens::new(statement, mode);
        let mut before_end = 0;
        for token in tokens.by_ref() {
            secrets.take(&token);
            match token.kind {
                TokenKind::Space => continue,
                TokenKind::Comment => {
                    shape.has_hint |= token.text.starts_with(b"/*+");
                    continue;
                }
                TokenKind::Unterminated => shape.is_open = true,
                TokenKind::Placeholder => shape.has_placeholder = true,
                _ => {}
            }
            if token.is_operator(b";") {
                is_over = !shape.is_empty;
                continue;
            }
            if std::mem::take(&mut is_over) {
                shape.is_several = true;
                self.put(b";", LastPart::Operator);
            }
            shape.is_empty = false;
            if self.text.len() < TEMPLATE_BYTES_MAX {
                self.take(&token, token.start == before_end);
            }
            before_end = token.end();
        }
        shape.is_open |= tokens.open_comment().is_some();
        shape.is_secret = secrets.is_secret;
        shape.hash = hash(&self.text);
        shape
    }

    fn take(&mut self, token: &Token<'_>, is_adjacent: bool) {
        match token.kind {
            TokenKind::Text | TokenKind::Number | TokenKind::Bits | TokenKind::Placeholder => {
                self.literal();
            }
            TokenKind::Word if self.is_value(token) => self.literal(),
            TokenKind::Word | TokenKind::Name => self.word(token.text),
            TokenKind::Operator => self.operator(token.text, is_adjacent),
            TokenKind::RunsFrom => self.put(b"/*!", LastPart::Operator),
            TokenKind::RunsTo => self.put(b"*/", LastPart::Operator),
            TokenKind::Skipped => self.put(b"/*!*/", LastPart::Operator),
            // The rest of the text may be a value.
            TokenKind::Unterminated => self.put(b"?", LastPart::Literal),
            TokenKind::Space | TokenKind::Comment => {}
        }
    }

    /// NULL, TRUE and FALSE where a value may be.
    fn is_value(&self, token: &Token<'_>) -> bool {
        let is_one = [&b"NULL"[..], b"TRUE", b"FALSE"]
            .iter()
            .any(|word| token.is_word(word));
        is_one
            && matches!(
                self.last[0],
                LastPart::Operator | LastPart::Comma | LastPart::Open
            )
    }

    fn word(&mut self, text: &[u8]) {
        self.put(text, LastPart::Word);
        self.word = (self.text.len() - text.len(), self.text.len());
    }

    /// The last part, if it is a word.
    fn last_word(&self) -> &[u8] {
        match self.last[0] {
            LastPart::Word => self.text.get(self.word.0..self.word.1).unwrap_or_default(),
            _ => b"",
        }
    }

    fn is_last_of(&self, words: &[&[u8]]) -> bool {
        let last = self.last_word();
        words.iter().any(|word| last.eq_ignore_ascii_case(word))
    }

    fn literal(&mut self) {
        if self.last_word().starts_with(b"_") {
            // `_utf8mb4'a'`: the character set belongs to the value.
            self.text.truncate(self.word.0);
            self.last = [self.last[1], self.last[2], LastPart::Nothing];
            while self.text.last() == Some(&b' ') {
                self.text.pop();
            }
        }
        match self.last {
            [LastPart::Comma, LastPart::Literal, _] => {
                self.text.truncate(self.literal_start);
                self.text.extend_from_slice(b"?+");
                self.last = [LastPart::Literal, LastPart::Nothing, LastPart::Nothing];
            }
            // Texts side by side are one.
            [LastPart::Literal, ..] => {}
            _ => {
                self.put(b"?", LastPart::Literal);
                self.literal_start = self.text.len() - 1;
            }
        }
    }

    fn operator(&mut self, text: &[u8], is_adjacent: bool) {
        match text {
            b"(" => {
                let is_call =
                    is_adjacent && self.last[0] == LastPart::Word && !self.is_last_of(&LISTS);
                let is_row = self.last.starts_with(&[LastPart::Comma, LastPart::Group]);
                let group = TemplateGroup {
                    start: 0,
                    is_list: is_row || self.is_last_of(&LISTS),
                    before: is_row.then_some(self.group),
                };
                if is_call {
                    self.text.push(b'(');
                    self.last = [LastPart::Open, self.last[0], self.last[1]];
                } else {
                    self.put(b"(", LastPart::Open);
                }
                let start = self.text.len() - 1;
                self.groups.push(TemplateGroup { start, ..group });
            }
            b")" => {
                self.put(b")", LastPart::Group);
                self.close();
            }
            b"," => self.put(b",", LastPart::Comma),
            b"-" | b"+" if self.is_sign() => {}
            b"." => {
                self.text.push(b'.');
                self.last = [LastPart::Operator, self.last[0], self.last[1]];
            }
            _ => self.put(text, LastPart::Operator),
        }
    }

    fn is_sign(&self) -> bool {
        match self.last[0] {
            LastPart::Nothing | LastPart::Comma | LastPart::Open | LastPart::Operator => true,
            LastPart::Word => self.is_last_of(&BEFORE_SIGNS),
            LastPart::Literal | LastPart::Group => false,
        }
    }

    /// Behind a closing parenthesis: rows of equal form are one row.
    fn close(&mut self) {
        let Some(group) = self.groups.pop() else {
            return;
        };
        if group.is_list && self.text.get(group.start..) == Some(b"(?)") {
            self.text.truncate(group.start);
            self.text.extend_from_slice(b"(?+)");
        }
        let range = (group.start, self.text.len());
        self.group = match group.before {
            Some(before) if self.text.get(before.0..before.1) == self.text.get(range.0..) => {
                self.text.truncate(before.1);
                before
            }
            _ => range,
        };
        self.last = [LastPart::Group, LastPart::Nothing, LastPart::Nothing];
    }

    fn put(&mut self, part: &[u8], kind: LastPart) {
        let is_close = matches!(kind, LastPart::Comma | LastPart::Group) || part == b";";
        let follows = self.text.last().copied();
        if !is_close && follows.is_some_and(|byte| !matches!(byte, b'(' | b'.' | b'@')) {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(part);
        self.last = [kind, self.last[0], self.last[1]];
    }
}

/// Hash of a template, the same in either case: eight bytes at a time, letters as small ones. Signs that differ
/// from a different sign only by the bit of the case are taken for it.
fn hash(text: &[u8]) -> u64 {
    const CASE: u64 = 0x2020_2020_2020_2020;
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, part: u64| {
        let product = u128::from(hash ^ part) * u128::from(ODD);
        product as u64 ^ (product >> 64) as u64
    };
    let (parts, rest) = text.as_chunks();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let parts = parts.iter().chain([&last]);
    let hash = parts.fold(text.len() as u64 ^ ODD, |hash, part| {
        mix(hash, u64::from_le_bytes(*part) | CASE)
    });
    mix(hash, ODD)
}

/// Passwords of accounts: what a statement with one looks like. It errs on the safe side.
#[derive(Debug, Default)]
struct SecretWords {
    first: FirstWord,
    has_first: bool,
    before: SecretWord,
    is_secret: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FirstWord {
    #[default]
    Other,
    /// A statement that may set a password.
    Account,
    /// A statement that may hold another one as text.
    Holder,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SecretWord {
    #[default]
    None,
    Set,
    Change,
    Password,
}

const ALWAYS_SECRET: [&[u8]; 5] = [
    b"IDENTIFIED",
    b"MASTER_PASSWORD",
    b"SOURCE_PASSWORD",
    b"WSREP_SST_AUTH",
    b"CURRENT_PASSWORD",
];
const OF_ACCOUNTS: [&[u8]; 5] = [b"CREATE", b"ALTER", b"START", b"GRANT", b"CHANGE"];
const HOLDERS: [&[u8]; 4] = [b"PREPARE", b"EXECUTE", b"SET", b"CALL"];

impl SecretWords {
    fn take(&mut self, token: &Token<'_>) {
        let is_one_of = |words: &[&[u8]]| words.iter().any(|word| token.is_word(word));
        match token.kind {
            TokenKind::Space => return,
            TokenKind::Comment | TokenKind::Skipped | TokenKind::Unterminated => {
                self.is_secret |= mentions_password(token.text);
                return;
            }
            TokenKind::Text => {
                self.is_secret |= token.inner() == b"<secret>"
                    || self.first == FirstWord::Holder && mentions_password(token.text);
            }
            TokenKind::Operator => {
                self.is_secret |= self.before == SecretWord::Password && token.text == b"(";
            }
            TokenKind::Word if self.has_first && !may_be_secret(token.text) => {}
            TokenKind::Word => {
                if !self.has_first {
                    self.has_first = true;
                    self.first = match (is_one_of(&OF_ACCOUNTS), is_one_of(&HOLDERS)) {
                        (true, _) => FirstWord::Account,
                        (_, true) => FirstWord::Holder,
                        _ => FirstWord::Other,
                    };
                }
                let is_password = is_one_of(&[b"PASSWORD", b"OLD_PASSWORD"]);
                self.is_secret |= is_one_of(&ALWAYS_SECRET)
                    || self.before == SecretWord::Change && is_one_of(&[b"MASTER", b"REPLICATION"])
                    || is_password
                        && (self.before == SecretWord::Set || self.first == FirstWord::Account);
                self.before = match is_password {
                    true => SecretWord::Password,
                    _ if token.is_word(b"SET") => SecretWord::Set,
                    _ if token.is_word(b"CHANGE") => SecretWord::Change,
                    _ => SecretWord::None,
                };
                return;
            }
            _ => {}
        }
        self.before = SecretWord::None;
    }
}

/// Whether a word begins with a letter of the words above.
fn may_be_secret(word: &[u8]) -> bool {
    let first = word.first().copied().unwrap_or_default();
    matches!(
        first | 0x20,
        b'c' | b'i' | b'm' | b'o' | b'p' | b'r' | b's' | b'w'
    )
}

fn mentions_password(text: &[u8]) -> bool {
    [&b"identified"[..], b"password"].iter().any(|word| {
        text.windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let mut templates = Templates::default();
        templates.read(text.as_bytes(), Mode::default());
        String::from_utf8_lossy(templates.text()).into_owned()
    }

    #[test]
    fn values_are_gone_and_lists_are_one() {
        for (text, wanted) in [
            (
                "SELECT a  FROM t\nWHERE id=7 -- x",
                "SELECT a FROM t WHERE id = ?",
            ),
            (
                "SELECT COUNT(*) FROM `t` WHERE a IN (1)",
                "SELECT COUNT(*) FROM `t` WHERE a IN (?+)",
            ),
            (
                "SELECT a FROM t WHERE a IN(1,-2,'c', NULL)",
                "SELECT a FROM t WHERE a IN (?+)",
            ),
            (
                "INSERT INTO t VALUES (1,'a'),(2,'b'), (3,_utf8mb4'c')",
                "INSERT INTO t VALUES (?+)",
            ),
            (
                "INSERT INTO t VALUES (1,NOW()),(2,NOW())",
                "INSERT INTO t VALUES (?, NOW())",
            ),
            ("VALUES (1),(2)", "VALUES (?+)"),
            (
                "SELECT 'a' 'b', x'00', @a, t.b, @@c",
                "SELECT ?+, @a, t.b, @@c",
            ),
            (
                "SELECT a IS NOT NULL, -1, a - 1",
                "SELECT a IS NOT NULL, ?, a - ?",
            ),
            (
                "SELECT /*!50000 1 */ /*!99999 2 */",
                "SELECT /*! ? */ /*!*/",
            ),
            ("SELECT `a b`, `1`", "SELECT `a b`, `1`"),
            ("SELECT 'open", "SELECT ?"),
        ] {
            assert_eq!(of(text), wanted, "{text}");
        }
    }

    #[test]
    fn passwords_are_known_by_their_words() {
        let mut templates = Templates::default();
        for (text, wanted) in [
            ("CREATE USER u IDENTIFIED BY 'x'", true),
            ("/**/ set password = 'x'", true),
            ("SELECT PASSWORD ('x')", true),
            ("ALTER USER u IDENTIFIED WITH p AS '<secret>'", true),
            ("CHANGE MASTER TO MASTER_HOST='a'", true),
            ("PREPARE s FROM 'ALTER USER u IDENTIFIED BY ''x'''", true),
            ("SELECT 1 /*!99999 IDENTIFIED BY 'x' */", true),
            (
                "SELECT password FROM account WHERE name = 'identified'",
                false,
            ),
            ("SELECT 1", false),
        ] {
            let shape = templates.read(text.as_bytes(), Mode::default());
            assert_eq!(shape.is_secret, wanted, "{text}");
        }
    }

    #[test]
    fn the_shape_tells_what_cannot_be_sent() {
        let mut templates = Templates::default();
        let mut of = |text: &str| templates.read(text.as_bytes(), Mode::default());
        assert!(of(" -- x").is_empty);
        assert!(of("SELECT ?").has_placeholder);
        assert!(!of("SELECT '?'").has_placeholder);
        assert!(of("SELECT 1; SELECT 2").is_several && !of("SELECT 1; ;").is_several);
        assert!(of("SELECT 'a").is_open && of("SELECT /*! 1").is_open);
        assert_eq!(
            of("select A from t where b=1").hash,
            of("SELECT a FROM T WHERE b = 2").hash
        );
    }
}
