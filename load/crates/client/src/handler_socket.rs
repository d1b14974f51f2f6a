//! HandlerSocket's side of one connection: lines in, lines out, no login but a secret.

use super::Target;
use super::dialect::{Dialect, Heard, LeftBytes, SessionFacts};
use crate::request::{Reply, Request, RequestProtocol};
use contend_wire::handler_socket::{LineReader, put_secret};
use contend_wire::{ServerError, Summary, WireError};

impl RequestProtocol {
    /// HandlerSocket: rows by key.
    pub const HANDLER_SOCKET: Self = Self("handler_socket");
}

/// The protocol side of one connection to a port of the plugin.
#[derive(Default)]
pub struct KeyLink {
    stage: KeyStage,
    secret: String,
    reader: LineReader,
    request: Option<Request>,
    /// Lines that follow the one that is being read.
    more_lines: u32,
    /// Further requests are under way.
    expects_more: bool,
    left: LeftBytes,
    summary: Summary,
    error: Option<ServerError>,
}

#[derive(Default)]
enum KeyStage {
    #[default]
    Closed,
    /// The connection is not open yet, or the answer to the secret has not come.
    Entering,
    Open,
}

impl Dialect for KeyLink {
    const PROTOCOL: RequestProtocol = RequestProtocol::HANDLER_SOCKET;

    fn open(&mut self, target: &Target) {
        self.close();
        self.stage = KeyStage::Entering;
        self.secret.clone_from(&target.credentials.password);
    }

    fn greet(&mut self, out: &mut Vec<u8>) -> Result<Heard, WireError> {
        if self.secret.is_empty() {
            self.stage = KeyStage::Open;
            return Ok(Heard::Opened);
        }
        put_secret(out, &self.secret);
        Ok(Heard::More)
    }

    fn close(&mut self) -> Option<Request> {
        self.stage = KeyStage::Closed;
        self.reader = LineReader::default();
        self.left.clear();
        self.expects_more = false;
        self.request.take()
    }

    fn is_open(&self) -> bool {
        matches!(self.stage, KeyStage::Open)
    }

    fn is_closed(&self) -> bool {
        matches!(self.stage, KeyStage::Closed)
    }

    fn is_waiting(&self) -> bool {
        self.request.is_some()
    }

    fn facts(&self) -> Option<SessionFacts> {
        self.is_open().then(|| SessionFacts {
            server_version: String::new(),
            agreed: vec!["handler_socket"],
        })
    }

    #[inline]
    fn expect(&mut self, request: Request, _sequence: u8) {
        self.more_lines = match request.reply {
            Reply::Several(lines) => lines.saturating_sub(1),
            _ => 0,
        };
        self.summary = Summary::default();
        self.error = None;
        self.request = Some(request);
    }

    fn expect_more(&mut self, more: bool) {
        self.expects_more = more;
    }

    fn left_bytes(&self) -> usize {
        self.left.len()
    }

    fn hear_left(&mut self, _spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        let mut left = std::mem::take(&mut self.left);
        let heard = left.read(|bytes| self.read(bytes).map(|(heard, rest)| (heard, rest.len())));
        self.left = left;
        heard
    }

    #[inline]
    fn hear(
        &mut self,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        _spare: &mut Vec<u8>,
    ) -> Result<Heard, WireError> {
        if matches!(self.stage, KeyStage::Entering) {
            return self.hear_welcome(bytes);
        }
        let (heard, rest) = self.read(bytes)?;
        if !rest.is_empty() {
            self.left.put(rest);
        }
        Ok(heard)
    }

    #[inline]
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn error(&self) -> Option<&ServerError> {
        self.error.as_ref()
    }
}

impl KeyLink {
    fn hear_welcome(&mut self, bytes: &[u8]) -> Result<Heard, WireError> {
        if self.secret.is_empty() {
            return Err(unasked());
        }
        match self.reader.feed(bytes).map_err(not_ours)? {
            None => Ok(Heard::More),
            Some(length) if length < bytes.len() => Err(unasked()),
            Some(_) => match self.reader.take().error() {
                Some(error) => Err(WireError::Refused(error)),
                None => {
                    self.stage = KeyStage::Open;
                    Ok(Heard::Opened)
                }
            },
        }
    }

    /// Reads up to the end of the answer. Returns the bytes that come after it, if they may.
    #[inline]
    fn read<'b>(&mut self, bytes: &'b [u8]) -> Result<(Heard, &'b [u8]), WireError> {
        let mut rest = bytes;
        let Some(request) = self.request else {
            return Err(unasked());
        };
        while let Some(length) = self.reader.feed(rest).map_err(not_ours)? {
            rest = rest.get(length..).unwrap_or_default();
            self.end_line(request);
            if self.more_lines == 0 {
                if !rest.is_empty() && !self.expects_more {
                    return Err(unasked());
                }
                self.request = None;
                return Ok((Heard::Answered(request), rest));
            }
            self.more_lines -= 1;
        }
        Ok((Heard::More, &[]))
    }

    /// Adds a line to the answer; of several the first error counts.
    #[inline]
    fn end_line(&mut self, request: Request) {
        let said = self.reader.take();
        self.summary.results += 1;
        if said.code != 0 {
            self.summary.failed = true;
            self.error = self.error.take().or_else(|| said.error());
        } else if request.reply == Reply::Changed {
            self.summary.affected_rows += said.first;
        } else {
            self.summary.rows += said.rows();
        }
    }
}

/// HandlerSocket never does, MySQL's own port does.
fn unasked() -> WireError {
    not_ours(WireError::theirs("it sent data without a request"))
}

/// A peer that answers otherwise is a different protocol's port.
#[cold]
fn not_ours(error: WireError) -> WireError {
    match error {
        WireError::Theirs(words) => WireError::theirs(format!(
            "{words}; check that this is a port of HandlerSocket, see server.handler_socket"
        )),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::request::Class;
    use contend_reactor::socket::Address;
    use contend_wire::Credentials;
    use contend_wire::mysql::Options;
    use std::time::Duration;

    fn target(secret: &str) -> Target {
        Target {
            address: Address::Unix("/nowhere".into()),
            credentials: Credentials {
                user: String::new(),
                password: secret.to_owned(),
            },
            options: Options::default(),
            connect_timeout: Duration::from_secs(1),
        }
    }

    fn opened() -> KeyLink {
        let mut link = KeyLink::default();
        link.open(&target(""));
        assert_eq!(link.greet(&mut Vec::new()), Ok(Heard::Opened));
        link
    }

    fn request(reply: Reply) -> Request {
        Request {
            link: 0,
            class: Class::Of(0),
            reply,
            ends: None,
        }
    }

    fn hear(link: &mut KeyLink, bytes: &[u8]) -> Result<Heard, WireError> {
        link.hear(bytes, &mut Vec::new(), &mut Vec::new())
    }

    #[test]
    fn rows_that_were_found_are_told_from_rows_that_changed() {
        let mut link = opened();
        let found = request(Reply::Counts);
        link.expect(found, 0);
        assert_eq!(hear(&mut link, b"0\t1\tab"), Ok(Heard::More));
        assert_eq!(hear(&mut link, b"c\n"), Ok(Heard::Answered(found)));
        assert_eq!((link.summary().rows, link.summary().affected_rows), (1, 0));
        let changed = request(Reply::Changed);
        link.expect(changed, 0);
        assert_eq!(hear(&mut link, b"0\t1\t1\n"), Ok(Heard::Answered(changed)));
        assert_eq!((link.summary().rows, link.summary().affected_rows), (0, 1));
    }

    #[test]
    fn of_several_answers_the_first_error_counts() {
        let mut link = opened();
        let three = request(Reply::Several(3));
        link.expect(three, 0);
        assert_eq!(
            hear(&mut link, b"0\t1\n2\t1\topen_table\n"),
            Ok(Heard::More)
        );
        assert_eq!(
            hear(&mut link, b"2\t1\tidxnum\n"),
            Ok(Heard::Answered(three))
        );
        assert!(link.summary().failed);
        assert_eq!(link.error().unwrap().message, "open_table");
        link.expect(request(Reply::Counts), 0);
        assert!(link.error().is_none() && !link.summary().failed);
    }

    proptest::proptest! {
        #[test]
        fn answers_to_requests_under_way_may_come_in_any_split(
            rows in proptest::collection::vec(0..4_usize, 1..70),
            pieces in proptest::collection::vec(1..40_usize, 1..20),
        ) {
            let line = |rows: &usize| format!("0\t1{}\n", "\tvalue".repeat(*rows));
            let bytes: String = rows.iter().map(line).collect();
            let (mut rest, mut told) = (bytes.as_bytes(), Vec::new());
            let mut link = opened();
            let asked = request(Reply::Counts);
            link.expect(asked, 0);
            link.expect_more(rows.len() > 1);
            for piece in pieces.iter().cycle() {
                let (now, later) = rest.split_at((*piece).min(rest.len()));
                rest = later;
                let mut said = hear(&mut link, now).unwrap();
                while said == Heard::Answered(asked) {
                    told.push(link.summary().rows as usize);
                    link.expect(asked, 0);
                    link.expect_more(told.len() + 1 < rows.len());
                    if !link.has_left() {
                        break;
                    }
                    said = link.hear_left(&mut Vec::new()).unwrap();
                }
                if rest.is_empty() {
                    break;
                }
            }
            proptest::prop_assert_eq!(told, rows);
        }
    }

    #[test]
    fn a_secret_is_said_first_and_may_be_refused() {
        for (answer, is_in) in [(b"0\t1\n".as_slice(), true), (b"3\t1\tunauth\n", false)] {
            let mut link = KeyLink::default();
            link.open(&target("s3"));
            let mut said = Vec::new();
            assert_eq!(link.greet(&mut said), Ok(Heard::More));
            assert_eq!(said, b"A\t1\ts3\n");
            match hear(&mut link, answer) {
                Ok(heard) => assert!(is_in && heard == Heard::Opened && link.is_open()),
                Err(error) => assert!(!is_in && error.to_string().contains("unauth")),
            }
        }
    }

    #[test]
    fn another_protocol_is_named_as_such() {
        let mut link = opened();
        let error = hear(&mut link, b"\x4a\0\0\0\x0a5.5.5").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("check that this is a port of HandlerSocket")
        );
        link.expect(request(Reply::Counts), 0);
        assert!(hear(&mut link, b"0\t1\n0\t1\n").is_err());
    }
}
