//! The words, numbers, texts and signs of a statement, read one after another.

/// One piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'s> {
    Word(&'s [u8]),
    /// A name in backticks, without them.
    Name(&'s [u8]),
    /// A text without its quotes, otherwise unchanged: no supported statement needs an escape.
    Text(&'s [u8]),
    /// Digits, and a point between them.
    Number(&'s [u8]),
    /// `?`
    Mark,
    /// `@@`
    Variable,
    Symbol(u8),
    End,
}

/// The pieces of a statement that are still to come.
#[derive(Clone, Debug)]
pub struct Tokens<'s> {
    rest: &'s [u8],
}

impl<'s> Tokens<'s> {
    pub fn new(sql: &'s [u8]) -> Self {
        Self { rest: sql }
    }

    pub fn rest(&self) -> &'s [u8] {
        self.rest
    }

    /// The next one. Behind the end it is always [`Token::End`].
    #[inline]
    pub fn read(&mut self) -> Token<'s> {
        self.skip_blanks();
        let Some((first, after)) = self.rest.split_first() else {
            return Token::End;
        };
        match first {
            b'0'..=b'9' => {
                Token::Number(self.while_is(|byte| byte.is_ascii_digit() || byte == b'.'))
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                let is_word = |b: u8| b.is_ascii_alphanumeric() || b"_$".contains(&b) || b >= 0x80;
                Token::Word(self.while_is(is_word))
            }
            b'?' => {
                self.rest = after;
                Token::Mark
            }
            b'\'' | b'"' => self
                .quoted(*first)
                .map_or(Token::Symbol(*first), Token::Text),
            b'`' => self.quoted(b'`').map_or(Token::Symbol(b'`'), Token::Name),
            b'@' if after.first() == Some(&b'@') => {
                self.rest = after.get(1..).unwrap_or_default();
                Token::Variable
            }
            other => {
                self.rest = after;
                Token::Symbol(*other)
            }
        }
    }

    /// Takes the next one if it is this.
    #[inline]
    pub fn takes(&mut self, token: Token<'_>) -> bool {
        let mut after = self.clone();
        let is_it = after.read() == token;
        if is_it {
            *self = after;
        }
        is_it
    }

    /// Takes the next token if it is this word, in capitals or not.
    #[inline]
    pub fn takes_word(&mut self, word: &[u8]) -> bool {
        let mut after = self.clone();
        let is_it = matches!(after.read(), Token::Word(next) if next.eq_ignore_ascii_case(word));
        if is_it {
            *self = after;
        }
        is_it
    }

    #[inline]
    fn while_is(&mut self, is: impl Fn(u8) -> bool) -> &'s [u8] {
        let end = self.rest.iter().position(|byte| !is(*byte));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// The text between two quotes of a kind; none if the second is missing, and then only the
    /// first is taken. A quote that is doubled or behind a backslash does not end it.
    fn quoted(&mut self, quote: u8) -> Option<&'s [u8]> {
        let inner = self.rest.get(1..).unwrap_or_default();
        let mut place = 0;
        while let Some(byte) = inner.get(place) {
            if *byte == b'\\' && quote != b'`' {
                place += 2;
            } else if *byte != quote {
                place += 1;
            } else if inner.get(place + 1) == Some(&quote) {
                place += 2;
            } else {
                self.rest = inner.get(place + 1..).unwrap_or_default();
                return inner.get(..place);
            }
        }
        self.rest = inner;
        None
    }

    /// Blanks, and comments that no server reads.
    #[inline]
    fn skip_blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_ascii_start();
            let line = self.rest.starts_with(b"-- ") || self.rest.starts_with(b"#");
            if line {
                let end = self.rest.iter().position(|byte| *byte == b'\n');
                self.rest = self
                    .rest
                    .get(end.unwrap_or(self.rest.len())..)
                    .unwrap_or_default();
                continue;
            }
            let is_comment =
                self.rest.starts_with(b"/*") && !matches!(self.rest.get(2), Some(b'!' | b'M'));
            let end = is_comment
                .then(|| self.rest.windows(2).skip(2).position(|pair| pair == b"*/"))
                .flatten();
            match end {
                Some(end) => self.rest = self.rest.get(end + 4..).unwrap_or_default(),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(sql: &str) -> Vec<Token<'_>> {
        let mut tokens = Tokens::new(sql.as_bytes());
        std::iter::from_fn(|| Some(tokens.read()).filter(|token| *token != Token::End)).collect()
    }

    #[test]
    fn a_statement_falls_into_its_pieces() {
        assert_eq!(
            all("SELECT `a b`,c1 FROM t WHERE k IN (?, 42) AND @@x='it\\'s' -- end"),
            [
                Token::Word(b"SELECT"),
                Token::Name(b"a b"),
                Token::Symbol(b','),
                Token::Word(b"c1"),
                Token::Word(b"FROM"),
                Token::Word(b"t"),
                Token::Word(b"WHERE"),
                Token::Word(b"k"),
                Token::Word(b"IN"),
                Token::Symbol(b'('),
                Token::Mark,
                Token::Symbol(b','),
                Token::Number(b"42"),
                Token::Symbol(b')'),
                Token::Word(b"AND"),
                Token::Variable,
                Token::Word(b"x"),
                Token::Symbol(b'='),
                Token::Text(b"it\\'s"),
            ]
        );
    }

    #[test]
    fn comments_are_passed_over_and_hidden_statements_are_not() {
        assert_eq!(
            all("/* a */ USE # b\n x/**/"),
            [Token::Word(b"USE"), Token::Word(b"x")]
        );
        assert_eq!(all("/*!40101 SET")[0], Token::Symbol(b'/'));
        assert_eq!(all("/* open")[0], Token::Symbol(b'/'));
    }

    #[test]
    fn a_quote_that_is_not_closed_is_a_sign_of_its_own() {
        assert_eq!(all("'abc"), [Token::Symbol(b'\''), Token::Word(b"abc")]);
        assert_eq!(all("'a''b'"), [Token::Text(b"a''b")]);
    }
}
