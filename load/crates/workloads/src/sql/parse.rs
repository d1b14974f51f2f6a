//! Reads a script of weighted events: from text to statements with typed placeholders.
//!
//! `docs/reference/sql-workload.md` has the grammar. Every refusal names its line and column.

use super::placeholder::{Argument, Source};
use contend_engine::workload::CLASSES_MAX;
use contend_sql::{Mode, Token, TokenKind, Tokens};
use std::collections::HashMap;
use std::fmt;

/// One kind of event: statements that are asked one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct EventText {
    pub name: String,
    pub weight: u64,
    pub statements: Vec<StatementText>,
    /// The values of the event's placeholders; statements name them by place.
    pub sources: Vec<Source>,
}

/// A statement: text, placeholder, text, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText {
    /// One more than there are placeholders.
    pub pieces: Vec<String>,
    pub placeholders: Vec<usize>,
}

/// The error, and its place. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SqlError {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

/// Statements of a whole script: each is a class.
const STATEMENTS_MAX: usize = CLASSES_MAX;
const WEIGHT_MAX: u64 = 1_000_000_000;
/// Values of a statement: the protocol counts them with two bytes.
const PLACEHOLDERS_MAX: usize = 65_535;

/// Reads a script.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(text: &str) -> Result<Vec<EventText>, SqlError> {
    let mut parser = Parser {
        text,
        tokens: Tokens::new(text.as_bytes(), Mode::default()),
    };
    let mut events: Vec<EventText> = Vec::new();
    let mut statements = 0;
    // Without any header each statement is a separate event.
    let mut has_headers = false;
    let mut names: HashMap<String, usize> = HashMap::new();
    loop {
        parser.skip_blank();
        let start = parser.place();
        match parser.peek() {
            None => break,
            Some('@') => {
                if !has_headers && !events.is_empty() {
                    return Err(parser.error(
                        start,
                        "statements before the first @ line belong to no event",
                    ));
                }
                if let Some(event) = events.last()
                    && event.statements.is_empty()
                {
                    return Err(
                        parser.error(start, format!("event {:?} has no statement", event.name))
                    );
                }
                has_headers = true;
                let (name, weight) = parser.header()?;
                if events.iter().any(|event| event.name == name) {
                    return Err(parser.error(start, format!("event {name:?} exists already")));
                }
                names.clear();
                events.push(EventText {
                    name,
                    weight,
                    statements: Vec::new(),
                    sources: Vec::new(),
                });
            }
            Some(_) => {
                statements += 1;
                if statements > STATEMENTS_MAX {
                    return Err(
                        parser.error(start, format!("more than {STATEMENTS_MAX} statements"))
                    );
                }
                if !has_headers {
                    names.clear();
                    events.push(EventText {
                        name: format!("statement_{statements}"),
                        weight: 1,
                        statements: Vec::new(),
                        sources: Vec::new(),
                    });
                }
                let Some(event) = events.last_mut() else {
                    break;
                };
                let statement = parser.statement(&mut names, &mut event.sources)?;
                event.statements.push(statement);
            }
        }
    }
    match events.last() {
        None => Err(parser.error(parser.place(), "there is no statement")),
        Some(event) if event.statements.is_empty() => Err(parser.error(
            parser.place(),
            format!("event {:?} has no statement", event.name),
        )),
        Some(_) => Ok(events),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Tokens<'t>,
}

impl<'t> Parser<'t> {
    fn error(&self, place: usize, message: impl Into<String>) -> SqlError {
        let before = self.text.get(..place).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        SqlError {
            line: 1 + before.matches('\n').count() as u32,
            column: 1 + line.chars().count() as u32,
            message: message.into(),
        }
    }

    fn place(&self) -> usize {
        self.tokens.place()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.place()..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let (taken, _) = rest.split_at(end);
        self.tokens.skip_to(self.place() + end);
        taken
    }

    /// Takes a character if it is the next one.
    fn eat(&mut self, wanted: char) -> bool {
        let eats = self.peek() == Some(wanted);
        if eats {
            self.tokens.skip_to(self.place() + wanted.len_utf8());
        }
        eats
    }

    fn text_of(&self, token: Token<'t>) -> &'t str {
        self.text.get(token.start..token.end()).unwrap_or_default()
    }

    /// Passes over blanks and comments between statements.
    fn skip_blank(&mut self) {
        let mut after = self.tokens.clone();
        while let Some(TokenKind::Space | TokenKind::Comment) = after.next().map(|token| token.kind)
        {
            self.tokens = after.clone();
        }
    }

    /// `@name` or `@name weight 3`, up to the end of the line.
    fn header(&mut self) -> Result<(String, u64), SqlError> {
        self.eat('@');
        let start = self.place();
        let name = self.take_while(is_name);
        if name.is_empty() {
            return Err(self.error(start, "a name must follow the @, of letters, digits and _"));
        }
        self.take_while(is_space);
        let mut weight = 1;
        let start = self.place();
        let word = self.take_while(is_name);
        if word == "weight" {
            self.take_while(is_space);
            let start = self.place();
            if self.peek() == Some('=') {
                return Err(self.error(start, "write a weight without =, such as `weight 3`"));
            }
            let digits = self.take_while(|c| c.is_ascii_digit());
            weight = digits
                .parse()
                .ok()
                .filter(|weight| (1..=WEIGHT_MAX).contains(weight))
                .ok_or_else(|| {
                    self.error(
                        start,
                        format!("a weight is a whole number from 1 to {WEIGHT_MAX}"),
                    )
                })?;
            self.take_while(is_space);
        } else if !word.is_empty() {
            return Err(self.error(start, format!("unknown word {word:?}; use `weight 3`")));
        }
        match self.peek() {
            None | Some('\n' | '\r') => Ok((name.to_owned(), weight)),
            Some(_) => match self.tokens.clone().next().map(|token| token.kind) {
                Some(TokenKind::Comment | TokenKind::Unterminated) => Ok((name.to_owned(), weight)),
                _ => Err(self.error(self.place(), "the statements begin on the next line")),
            },
        }
    }

    /// A statement up to its semicolon.
    fn statement(
        &mut self,
        names: &mut HashMap<String, usize>,
        sources: &mut Vec<Source>,
    ) -> Result<StatementText, SqlError> {
        let start = self.place();
        let mut piece = String::new();
        let mut pieces = Vec::new();
        let mut placeholders = Vec::new();
        let mut ends = false;
        while let Some(token) = self.tokens.next() {
            let text = self.text_of(token);
            match (token.kind, text) {
                (TokenKind::Unterminated, _) => return Err(self.no_end(token.start)),
                (TokenKind::Operator, ";") => {
                    ends = true;
                    break;
                }
                (TokenKind::Operator, "{") if !self.eat('{') => {
                    if placeholders.len() == PLACEHOLDERS_MAX {
                        return Err(self.error(token.start, "too many placeholders"));
                    }
                    placeholders.push(self.placeholder(names, sources)?);
                    pieces.push(std::mem::take(&mut piece));
                }
                (TokenKind::Operator, "}") if !self.eat('}') => {
                    let why = "a } without its {; write }} for one";
                    return Err(self.error(token.start, why));
                }
                // Hints are comments to us and orders to the server.
                (TokenKind::Comment, _) if !text.starts_with("/*") => {}
                _ => piece.push_str(text),
            }
        }
        if let Some(place) = self.tokens.open_comment() {
            return Err(self.no_end(place));
        }
        if !ends {
            return Err(self.error(start, "this statement has no end (;)"));
        }
        piece.truncate(piece.trim_end().len());
        pieces.push(piece);
        if placeholders.is_empty() && pieces.iter().all(|piece| piece.is_empty()) {
            return Err(self.error(start, "an empty statement"));
        }
        Ok(StatementText {
            pieces,
            placeholders,
        })
    }

    /// Refuses the quote or the comment that begins here.
    fn no_end(&self, place: usize) -> SqlError {
        let rest = self.text.get(place..).unwrap_or_default();
        let quote = rest.chars().find(|c| "'\"`".contains(*c));
        self.error(
            place,
            match quote {
                Some(quote) if !rest.starts_with("/*") => format!("this {quote} has no end"),
                _ => "this comment has no end (*/)".to_owned(),
            },
        )
    }

    /// What follows the `{` of `{name}` or `{name:type(arguments)}`. Returns the place of its source.
    fn placeholder(
        &mut self,
        names: &mut HashMap<String, usize>,
        sources: &mut Vec<Source>,
    ) -> Result<usize, SqlError> {
        self.take_while(char::is_whitespace);
        let start = self.place();
        let name = self.take_while(is_name);
        if name.is_empty() {
            return Err(self.error(
                start,
                "placeholder without a name; write {id:uniform(1, 100)}",
            ));
        }
        self.take_while(char::is_whitespace);
        let place =
            if self.eat(':') {
                self.take_while(char::is_whitespace);
                let source = self.source()?;
                if names.contains_key(name) {
                    return Err(self.error(start, format!(
                    "{{{name}}} is defined twice; use {{{name}}} alone from the second time on"
                )));
                }
                names.insert(name.to_owned(), sources.len());
                sources.push(source);
                sources.len() - 1
            } else {
                *names.get(name).ok_or_else(|| {
                    self.error(
                        start,
                        format!(
                            "{{{name}}} is not defined; the first time write for example \
                     {{{name}:uniform(1, 100)}}"
                        ),
                    )
                })?
            };
        self.take_while(char::is_whitespace);
        if !self.eat('}') {
            return Err(self.error(self.place(), "a } must end the placeholder here"));
        }
        Ok(place)
    }

    /// `type(argument, …)`.
    fn source(&mut self) -> Result<Source, SqlError> {
        let start = self.place();
        let kind = self.take_while(is_name);
        self.take_while(char::is_whitespace);
        if !self.eat('(') {
            return Err(self.error(
                self.place(),
                "the type's arguments must follow here, in parentheses",
            ));
        }
        let mut arguments = Vec::new();
        self.take_while(char::is_whitespace);
        if !self.eat(')') {
            loop {
                self.take_while(char::is_whitespace);
                arguments.push(self.argument()?);
                self.take_while(char::is_whitespace);
                if self.eat(')') {
                    break;
                }
                if !self.eat(',') {
                    return Err(self.error(self.place(), "a comma or a ) must follow here"));
                }
            }
        }
        Source::new(kind, arguments).map_err(|message| self.error(start, message))
    }

    /// A number, or text in single quotes.
    fn argument(&mut self) -> Result<Argument, SqlError> {
        let start = self.place();
        if self.peek() == Some('\'')
            && let Some(token) = self.tokens.next()
        {
            let inner = match token.kind {
                TokenKind::Text => token.start + 1..token.end() - 1,
                _ => return Err(self.no_end(start)),
            };
            let inner = self.text.get(inner).unwrap_or_default();
            return Ok(Argument::Text(inner.replace("''", "'")));
        }
        let number = self.take_while(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        let plain = number.replace('_', "");
        if let Ok(whole) = plain.parse::<i64>() {
            return Ok(Argument::Int(whole));
        }
        match plain.parse::<f64>() {
            Ok(real) if real.is_finite() && !plain.is_empty() => Ok(Argument::Real(real)),
            _ => Err(self.error(
                start,
                "a number, or text in single quotes, must follow here",
            )),
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_space(c: char) -> bool {
    c == ' ' || c == '\t'
}

#[cfg(test)]
mod tests;
