//! From a text to its tokens.

use super::Mode;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Space,
    /// `-- …` and `# …` without the end of their line, and `/* … */`.
    Comment,
    /// An executable comment for a different server or version. This one ignores it.
    Skipped,
    /// `/*!`, `/*!50100` or `/*M!100100`, if this server runs what follows.
    RunsFrom,
    /// The `*/` behind that.
    RunsTo,
    /// A keyword or a name without quotes.
    Word,
    /// A name in backticks, or with `ANSI_QUOTES` in double quotes.
    Name,
    /// With its quotes, and the `N` of `N'…'`.
    Text,
    /// Without its sign.
    Number,
    /// Hexadecimal or binary: `x'1F'`, `0x1F`, `b'01'`, `0b01`.
    Bits,
    /// `?`
    Placeholder,
    /// One operator, or one other sign.
    Operator,
    /// A quote or a comment without an end, up to the end of the text.
    Unterminated,
}

impl TokenKind {
    pub fn is_literal(self) -> bool {
        matches!(self, Self::Text | Self::Number | Self::Bits)
    }

    /// Part of the statement itself: no blank, no comment and no border of one.
    #[inline]
    pub fn is_code(self) -> bool {
        !matches!(
            self,
            Self::Space | Self::Comment | Self::Skipped | Self::RunsFrom | Self::RunsTo
        )
    }
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    pub kind: TokenKind,
    /// Its position in the text, in bytes.
    pub start: usize,
    pub text: &'t [u8],
}

impl<'t> Token<'t> {
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// What a text or a name has between its quotes, with its escapes; all of any other token.
    pub fn inner(&self) -> &'t [u8] {
        if !matches!(self.kind, TokenKind::Text | TokenKind::Name) {
            return self.text;
        }
        let from = self.text.iter().position(|byte| b"'\"`".contains(byte));
        let to = self.text.len().saturating_sub(1);
        self.text
            .get(from.map_or(0, |from| from + 1)..to)
            .unwrap_or_default()
    }

    #[inline]
    pub fn is_operator(&self, operator: &[u8]) -> bool {
        self.kind == TokenKind::Operator && self.text == operator
    }

    #[inline]
    pub fn is_word(&self, word: &[u8]) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }
}

/// What the last token demands of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextToken {
    Anything,
    /// A word has a name behind its point: `t.5` is not followed by `.5`.
    Point,
    /// Behind a point or `@@`, digits too are a name.
    Name,
    /// Behind `@`, points too are part of a name.
    Host,
}

/// The tokens of a text: all of them as an iterator, those of the statement itself by
/// [`Tokens::read`].
#[derive(Clone, Debug)]
pub struct Tokens<'t> {
    text: &'t [u8],
    mode: Mode,
    place: usize,
    next: NextToken,
    open_comment: Option<usize>,
}

impl<'t> Tokens<'t> {
    pub fn new(text: &'t [u8], mode: Mode) -> Self {
        Self::starting_at(text, 0, mode)
    }

    /// The tokens from a position on, as if the text began there.
    pub fn starting_at(text: &'t [u8], place: usize, mode: Mode) -> Self {
        Self {
            text,
            mode,
            place: place.min(text.len()),
            next: NextToken::Anything,
            open_comment: None,
        }
    }

    /// The position of the next token.
    pub fn place(&self) -> usize {
        self.place
    }

    /// The text between two positions.
    pub fn between(&self, start: usize, end: usize) -> &'t [u8] {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Continues at a later position.
    pub fn skip_to(&mut self, place: usize) {
        self.place = place.clamp(self.place, self.text.len());
        self.next = NextToken::Anything;
    }

    /// Position of the executable comment that this place is in.
    pub fn open_comment(&self) -> Option<usize> {
        self.open_comment
    }

    /// The next token of the statement itself.
    #[inline]
    pub fn read(&mut self) -> Option<Token<'t>> {
        self.find(|token| token.kind.is_code())
    }

    /// Reads the next token if it is this operator.
    #[inline]
    pub fn takes(&mut self, operator: &[u8]) -> bool {
        self.takes_if(|token| token.is_operator(operator))
    }

    /// Reads the next token if it is this word, in either case.
    #[inline]
    pub fn takes_word(&mut self, word: &[u8]) -> bool {
        self.takes_if(|token| token.is_word(word))
    }

    #[inline]
    fn takes_if(&mut self, is_it: impl Fn(Token<'_>) -> bool) -> bool {
        let mut after = self.clone();
        let takes = after.read().is_some_and(is_it);
        if takes {
            *self = after;
        }
        takes
    }

    #[inline]
    fn byte(&self, place: usize) -> Option<u8> {
        self.text.get(place).copied()
    }

    fn has(&self, place: usize, wanted: impl Fn(u8) -> bool) -> bool {
        self.byte(place).is_some_and(wanted)
    }

    fn starts(&self, place: usize, with: &[u8]) -> bool {
        self.text
            .get(place..)
            .is_some_and(|rest| rest.starts_with(with))
    }

    /// The first position from `place` on whose byte is different.
    #[inline]
    fn run(&self, place: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(place..).unwrap_or_default();
        let length = rest.iter().position(|byte| !wanted(*byte));
        place + length.unwrap_or(rest.len())
    }

    /// Kind and end of the token at `place`, whose first byte is this. Not inlined: both come in
    /// registers, while a whole token would be written in parts and then read at once, which stalls.
    #[inline(never)]
    fn token(&mut self, first: u8) -> (TokenKind, usize) {
        let place = self.place;
        match std::mem::replace(&mut self.next, NextToken::Anything) {
            NextToken::Point => return self.point(),
            NextToken::Name if is_name(first) => return self.word(place),
            NextToken::Host if is_host(first) => {
                return (TokenKind::Word, self.run(place, is_host));
            }
            _ => {}
        }
        let second = self.byte(place + 1);
        let is_before = |byte: u8| second == Some(byte);
        match first {
            b'\t'..=b'\r' | b' ' => (TokenKind::Space, self.run(place, is_space)),
            b'#' => self.line_comment(),
            b'-' if is_before(b'-') && self.byte(place + 2).is_none_or(ends_dashes) => {
                self.line_comment()
            }
            b'/' if is_before(b'*') => self.comment(),
            b'*' if is_before(b'/') && self.open_comment.take().is_some() => {
                (TokenKind::RunsTo, place + 2)
            }
            b'\'' => self.quoted(place, TokenKind::Text),
            b'"' if !self.mode.ansi_quotes => self.quoted(place, TokenKind::Text),
            b'"' | b'`' => self.quoted(place, TokenKind::Name),
            b'n' | b'N' if is_before(b'\'') => self.quoted(place + 1, TokenKind::Text),
            b'x' | b'X' | b'b' | b'B' if is_before(b'\'') => {
                let end = self.run(place + 2, |byte| byte != b'\'');
                self.closed(TokenKind::Bits, (end < self.text.len()).then_some(end + 1))
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.has(place + 1, |byte| byte.is_ascii_digit()) => self.fraction(place + 1),
            b'.' if !is_before(b'.') => self.point(),
            b'?' if !self.has(place + 1, is_name) => (TokenKind::Placeholder, place + 1),
            b'@' => self.at_sign(),
            b'\\' if is_before(b'N') => (TokenKind::Word, place + 2),
            _ if is_name(first) => self.word(place),
            _ => self.operator(first),
        }
    }

    /// A word from here on. A point and a name may follow it at once.
    #[inline]
    fn word(&mut self, from: usize) -> (TokenKind, usize) {
        let end = self.run(from, is_name);
        if self.byte(end) == Some(b'.') && self.has(end + 1, is_name) {
            self.next = NextToken::Point;
        }
        (TokenKind::Word, end)
    }

    fn point(&mut self) -> (TokenKind, usize) {
        self.next = NextToken::Name;
        (TokenKind::Operator, self.place + 1)
    }

    fn at_sign(&mut self) -> (TokenKind, usize) {
        let is_system = self.byte(self.place + 1) == Some(b'@');
        self.next = if is_system {
            NextToken::Name
        } else {
            NextToken::Host
        };
        (TokenKind::Operator, self.place + 1 + usize::from(is_system))
    }

    fn operator(&self, first: u8) -> (TokenKind, usize) {
        let [second, third] = [1, 2].map(|after| self.byte(self.place + after).unwrap_or(0));
        let length = match [first, second] {
            [b'<', b'='] | [b'-', b'>'] if third == b'>' => 3,
            [b'<', b'=' | b'>' | b'<']
            | [b'>', b'=' | b'>']
            | [b'-', b'>']
            | [b'!' | b':', b'='] => 2,
            [b'&', b'&'] | [b'|', b'|'] | [b'.', b'.'] => 2,
            _ => 1,
        };
        (TokenKind::Operator, self.place + length)
    }

    /// Digits, a decimal or floating number, bits, or a word that begins with digits.
    fn number(&mut self) -> (TokenKind, usize) {
        let place = self.place;
        let bits = match (self.byte(place), self.byte(place + 1)) {
            (Some(b'0'), Some(b'x')) => self.run(place + 2, |byte| byte.is_ascii_hexdigit()),
            (Some(b'0'), Some(b'b')) => self.run(place + 2, |byte| matches!(byte, b'0' | b'1')),
            _ => place,
        };
        if bits > place + 2 && !self.has(bits, is_name) {
            return (TokenKind::Bits, bits);
        }
        let end = self.digits(place);
        match self.byte(end) {
            Some(b'.') if self.byte(end + 1) != Some(b'.') => self.fraction(end + 1),
            Some(byte) if is_name(byte) => match self.exponent(end) {
                Some(end) => (TokenKind::Number, end),
                None => self.word(place),
            },
            _ => (TokenKind::Number, end),
        }
    }

    /// The rest of a number, behind its point.
    fn fraction(&self, from: usize) -> (TokenKind, usize) {
        let end = self.digits(from);
        (TokenKind::Number, self.exponent(end).unwrap_or(end))
    }

    /// The end of the exponent that begins here.
    fn exponent(&self, from: usize) -> Option<usize> {
        let is_sign = |byte: u8| matches!(byte, b'+' | b'-');
        let letter = self.has(from, |byte| matches!(byte, b'e' | b'E'));
        let from = from + 1 + usize::from(self.has(from + 1, is_sign));
        let end = self.digits(from);
        (letter && end > from).then_some(end)
    }

    fn digits(&self, from: usize) -> usize {
        self.run(from, |byte| byte.is_ascii_digit())
    }

    /// A zero byte ends the comment for a server too.
    fn line_comment(&self) -> (TokenKind, usize) {
        let end = self.run(self.place, |byte| !matches!(byte, b'\n' | 0));
        (TokenKind::Comment, end)
    }

    fn comment(&mut self) -> (TokenKind, usize) {
        let place = self.place;
        let is_marias = self.mode.is_mariadb() && self.starts(place, b"/*M!");
        if !is_marias && !self.starts(place, b"/*!") {
            return self.closed(TokenKind::Comment, self.comment_end(place + 2, 0));
        }
        let from = place + 3 + usize::from(is_marias);
        let digits = match self.digits(from) - from {
            0..=4 => 0,
            // The sixth is MySQL's only in front of a blank.
            6.. if self.mode.is_mariadb() || self.has(from + 6, is_space) => 6,
            _ => 5,
        };
        let version = self.between(from, from + digits).iter();
        let version = version.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        if !self.mode.runs(version, is_marias) {
            return self.closed(TokenKind::Skipped, self.comment_end(from, 1));
        }
        self.open_comment = Some(place);
        (TokenKind::RunsFrom, from + digits)
    }

    /// The position behind the end of a comment. Comments may be inside it to this depth.
    fn comment_end(&self, from: usize, depth: u32) -> Option<usize> {
        let mut place = from;
        loop {
            place = self.run(place, |byte| !matches!(byte, b'*' | b'/'));
            if place == self.text.len() {
                return None;
            } else if self.starts(place, b"*/") {
                return Some(place + 2);
            } else if depth > 0 && self.starts(place, b"/*") {
                place = self.comment_end(place + 2, depth - 1)?;
            } else {
                place += 1;
            }
        }
    }

    /// A text or a name whose first quote is here. A quote inside is doubled or, in a text,
    /// follows a backslash.
    fn quoted(&self, from: usize, kind: TokenKind) -> (TokenKind, usize) {
        let quote = self.byte(from).unwrap_or(b'\'');
        let escapes = kind == TokenKind::Text && !self.mode.no_backslash_escapes;
        let is_plain = |byte: u8| byte != quote && !(escapes && byte == b'\\');
        let mut place = self.run(from + 1, is_plain);
        while let Some(byte) = self.byte(place) {
            if byte == quote && self.byte(place + 1) != Some(quote) {
                return (kind, place + 1);
            }
            place = self.run(place + 2, is_plain);
        }
        (TokenKind::Unterminated, self.text.len())
    }

    fn closed(&self, kind: TokenKind, end: Option<usize>) -> (TokenKind, usize) {
        match end {
            Some(end) => (kind, end),
            None => (TokenKind::Unterminated, self.text.len()),
        }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    #[inline(always)]
    fn next(&mut self) -> Option<Token<'t>> {
        let start = self.place;
        let (kind, end) = self.token(self.byte(start)?);
        self.place = end;
        Some(Token {
            kind,
            start,
            text: self.between(start, end),
        })
    }
}

impl Mode {
    /// From version 10.0 on it is MariaDB.
    fn is_mariadb(self) -> bool {
        self.version >= 100_000
    }

    /// Whether the server runs an executable comment of a version. MariaDB ignores those for
    /// MySQL 5.7 and later, unless it is named (`/*M!`).
    fn runs(self, version: u32, is_marias: bool) -> bool {
        let is_mysqls = (50_700..100_000).contains(&version);
        version <= self.version && (is_marias || !is_mysqls || !self.is_mariadb())
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// What must follow `--` to begin a comment, unless the text ends.
fn ends_dashes(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_control()
}

/// A byte of a name without quotes.
#[inline]
pub fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn is_host(byte: u8) -> bool {
    is_name(byte) || byte == b'.'
}

#[cfg(test)]
mod tests;
