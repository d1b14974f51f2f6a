//! Reads a script of weighted events: from text to statements with typed placeholders.
//!
//! `docs/reference/sql-workload.md` has the grammar. Every refusal names its line and column.

use super::placeholder::{Argument, Source};
use contend_engine::workload::CLASSES_MAX;
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
        rest: text,
        line: 1,
        column: 1,
    };
    let mut events: Vec<EventText> = Vec::new();
    let mut statements = 0;
    // Without any header each statement is a separate event.
    let mut has_headers = false;
    let mut names: HashMap<String, usize> = HashMap::new();
    loop {
        parser.skip_blank()?;
        let start = parser.place();
        match parser.peek() {
            None => break,
            Some('@') => {
                if !has_headers && !events.is_empty() {
                    return Err(
                        start.error("statements before the first @ line belong to no event")
                    );
                }
                if let Some(event) = events.last()
                    && event.statements.is_empty()
                {
                    return Err(start.error(format!("event {:?} has no statement", event.name)));
                }
                has_headers = true;
                let (name, weight) = parser.header()?;
                if events.iter().any(|event| event.name == name) {
                    return Err(start.error(format!("event {name:?} exists already")));
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
                    return Err(start.error(format!("more than {STATEMENTS_MAX} statements")));
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
        None => Err(parser.place().error("there is no statement")),
        Some(event) if event.statements.is_empty() => Err(parser
            .place()
            .error(format!("event {:?} has no statement", event.name))),
        Some(_) => Ok(events),
    }
}

#[derive(Clone, Copy)]
struct Place {
    line: u32,
    column: u32,
}

impl Place {
    fn error(self, message: impl Into<String>) -> SqlError {
        SqlError {
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
    line: u32,
    column: u32,
}

impl<'t> Parser<'t> {
    fn place(&self) -> Place {
        Place {
            line: self.line,
            column: self.column,
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        if next == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(next)
    }

    fn skip(&mut self, characters: usize) {
        for _ in 0..characters {
            self.next();
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, _) = self.rest.split_at(end);
        self.skip(taken.chars().count());
        taken
    }

    /// Takes a character if it is the next one.
    fn eat(&mut self, wanted: char) -> bool {
        let eats = self.peek() == Some(wanted);
        if eats {
            self.next();
        }
        eats
    }

    /// Passes over blanks and comments between statements.
    fn skip_blank(&mut self) -> Result<(), SqlError> {
        loop {
            self.take_while(char::is_whitespace);
            match comment(self.rest) {
                Some(Comment::Line) => {
                    self.take_while(|c| c != '\n');
                }
                Some(Comment::Block) => {
                    self.block()?;
                }
                None => return Ok(()),
            }
        }
    }

    /// Takes a block comment.
    fn block(&mut self) -> Result<&'t str, SqlError> {
        let start = self.place();
        match self.rest.find("*/") {
            Some(end) => {
                let (comment, _) = self.rest.split_at(end + 2);
                self.skip(comment.chars().count());
                Ok(comment)
            }
            None => Err(start.error("this comment has no end (*/)")),
        }
    }

    /// `@name` or `@name weight 3`, up to the end of the line.
    fn header(&mut self) -> Result<(String, u64), SqlError> {
        self.next();
        let start = self.place();
        let name = self.take_while(is_name);
        if name.is_empty() {
            return Err(start.error("a name must follow the @, of letters, digits and _"));
        }
        self.take_while(is_space);
        let mut weight = 1;
        let start = self.place();
        let word = self.take_while(is_name);
        if word == "weight" {
            self.take_while(is_space);
            let start = self.place();
            if self.peek() == Some('=') {
                return Err(start.error("write a weight without =, such as `weight 3`"));
            }
            let digits = self.take_while(|c| c.is_ascii_digit());
            weight = digits
                .parse()
                .ok()
                .filter(|weight| (1..=WEIGHT_MAX).contains(weight))
                .ok_or_else(|| {
                    start.error(format!("a weight is a whole number from 1 to {WEIGHT_MAX}"))
                })?;
            self.take_while(is_space);
        } else if !word.is_empty() {
            return Err(start.error(format!("unknown word {word:?}; use `weight 3`")));
        }
        match self.peek() {
            None | Some('\n' | '\r') => Ok((name.to_owned(), weight)),
            _ if comment(self.rest).is_some() => Ok((name.to_owned(), weight)),
            Some(_) => Err(self.place().error("the statements begin on the next line")),
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
        loop {
            match self.peek() {
                None => return Err(start.error("this statement has no end (;)")),
                Some(';') => {
                    self.next();
                    break;
                }
                Some('{') if self.rest.starts_with("{{") => {
                    self.skip(2);
                    piece.push('{');
                }
                Some('}') if self.rest.starts_with("}}") => {
                    self.skip(2);
                    piece.push('}');
                }
                Some('}') => return Err(self.place().error("a } without its {; write }} for one")),
                Some('{') => {
                    if placeholders.len() == PLACEHOLDERS_MAX {
                        return Err(self.place().error("too many placeholders"));
                    }
                    placeholders.push(self.placeholder(names, sources)?);
                    pieces.push(std::mem::take(&mut piece));
                }
                Some('\'' | '"' | '`') => piece.push_str(self.quoted()?),
                Some(_) => match comment(self.rest) {
                    Some(Comment::Line) => {
                        self.take_while(|c| c != '\n');
                    }
                    // Hints are comments to us and orders to the server.
                    Some(Comment::Block) => piece.push_str(self.block()?),
                    None => piece.extend(self.next()),
                },
            }
        }
        piece.truncate(piece.trim_end().len());
        pieces.push(piece);
        if placeholders.is_empty() && pieces.iter().all(|piece| piece.is_empty()) {
            return Err(start.error("an empty statement"));
        }
        Ok(StatementText {
            pieces,
            placeholders,
        })
    }

    /// A quoted part, with its quotes. A quote inside is doubled or follows a backslash.
    fn quoted(&mut self) -> Result<&'t str, SqlError> {
        let start = self.place();
        let text = self.rest;
        let Some(quote) = self.next() else {
            return Ok("");
        };
        loop {
            match self.next() {
                None => return Err(start.error(format!("this {quote} has no end"))),
                Some('\\') if quote != '`' => {
                    self.next();
                }
                Some(c) if c == quote && !self.eat(quote) => break,
                Some(_) => {}
            }
        }
        let (quoted, _) = text.split_at(text.len() - self.rest.len());
        Ok(quoted)
    }

    /// `{name}` or `{name:type(arguments)}`. Returns the place of its source.
    fn placeholder(
        &mut self,
        names: &mut HashMap<String, usize>,
        sources: &mut Vec<Source>,
    ) -> Result<usize, SqlError> {
        self.next();
        self.take_while(char::is_whitespace);
        let start = self.place();
        let name = self.take_while(is_name);
        if name.is_empty() {
            return Err(start.error("placeholder without a name; write {id:uniform(1, 100)}"));
        }
        self.take_while(char::is_whitespace);
        let place = if self.eat(':') {
            self.take_while(char::is_whitespace);
            let source = self.source()?;
            if names.contains_key(name) {
                return Err(start.error(format!(
                    "{{{name}}} is defined twice; use {{{name}}} alone from the second time on"
                )));
            }
            names.insert(name.to_owned(), sources.len());
            sources.push(source);
            sources.len() - 1
        } else {
            *names.get(name).ok_or_else(|| {
                start.error(format!(
                    "{{{name}}} is not defined; the first time write for example \
                     {{{name}:uniform(1, 100)}}"
                ))
            })?
        };
        self.take_while(char::is_whitespace);
        if !self.eat('}') {
            return Err(self.place().error("a } must end the placeholder here"));
        }
        Ok(place)
    }

    /// `type(argument, …)`.
    fn source(&mut self) -> Result<Source, SqlError> {
        let start = self.place();
        let kind = self.take_while(is_name);
        self.take_while(char::is_whitespace);
        if !self.eat('(') {
            return Err(self
                .place()
                .error("the type's arguments must follow here, in parentheses"));
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
                    return Err(self.place().error("a comma or a ) must follow here"));
                }
            }
        }
        Source::new(kind, arguments).map_err(|message| start.error(message))
    }

    /// A number, or text in single quotes.
    fn argument(&mut self) -> Result<Argument, SqlError> {
        let start = self.place();
        if self.peek() == Some('\'') {
            let quoted = self.quoted()?;
            let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
            return Ok(Argument::Text(inner.replace("''", "'")));
        }
        let number = self.take_while(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        let plain = number.replace('_', "");
        if let Ok(whole) = plain.parse::<i64>() {
            return Ok(Argument::Int(whole));
        }
        match plain.parse::<f64>() {
            Ok(real) if real.is_finite() && !plain.is_empty() => Ok(Argument::Real(real)),
            _ => Err(start.error("a number, or text in single quotes, must follow here")),
        }
    }
}

pub enum Comment {
    Line,
    Block,
}

/// The comment that begins here, as the servers see it: two dashes need a blank after them.
pub fn comment(text: &str) -> Option<Comment> {
    if text.starts_with("/*") {
        return Some(Comment::Block);
    }
    if text.starts_with('#') {
        return Some(Comment::Line);
    }
    let after = text.strip_prefix("--")?;
    after
        .chars()
        .next()
        .is_none_or(char::is_whitespace)
        .then_some(Comment::Line)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_space(c: char) -> bool {
    c == ' ' || c == '\t'
}

#[cfg(test)]
mod tests;
