//! MySQL's protocol on one connection: from the bytes of its socket to complete answers.

use super::dialect::{Dialect, Heard, SessionFacts, Target};
use crate::wire::mysql::{
    Agreed, AnswerReader, AnswerState, Capabilities, Channel, Login, Prepared, ServerError,
    Summary, WireError, command, sequence_after,
};
use crate::workload::{Reply, Request, Tongue};

/// Most bytes kept of an answer that a session wants whole.
const WHOLE_BYTES_MAX: usize = 64 << 20;

/// The protocol side of one connection. On the event loop its socket belongs to the engine, under
/// the same token.
pub struct Link {
    stage: LinkStage,
    reader: AnswerReader,
    channel: Channel,
    /// Bytes at the end of the last read that need more bytes to be understood: at most
    /// [`crate::wire::mysql::TAIL_MAX`].
    tail: Vec<u8>,
    /// Packets after decryption and decompression, if the connection uses either.
    opened: Vec<u8>,
    whole: Vec<u8>,
    /// The request that waits for its answer.
    request: Option<Request>,
    /// How many answers are still to come after the one that is being read.
    more_answers: u32,
}

enum LinkStage {
    Closed,
    LoggingIn(Box<Login>),
    Open(Box<Agreed>),
}

impl Default for Link {
    fn default() -> Self {
        Self {
            stage: LinkStage::Closed,
            reader: AnswerReader::new(Capabilities::NONE),
            channel: Channel::default(),
            tail: Vec::new(),
            opened: Vec::new(),
            whole: Vec::new(),
            request: None,
            more_answers: 0,
        }
    }
}

impl Dialect for Link {
    const TONGUE: Tongue = Tongue::Sql;

    fn open(&mut self, target: &Target) {
        self.close();
        let (credentials, options) = (target.credentials.clone(), target.options.clone());
        self.stage = LinkStage::LoggingIn(Box::new(Login::new(credentials, options)));
    }

    fn close(&mut self) -> Option<Request> {
        self.stage = LinkStage::Closed;
        self.channel = Channel::default();
        self.tail.clear();
        self.opened.clear();
        self.whole = Vec::new();
        self.request.take()
    }

    fn is_open(&self) -> bool {
        matches!(self.stage, LinkStage::Open(_))
    }

    fn is_closed(&self) -> bool {
        matches!(self.stage, LinkStage::Closed)
    }

    fn is_waiting(&self) -> bool {
        self.request.is_some()
    }

    fn agreed(&self) -> Option<&Agreed> {
        match &self.stage {
            LinkStage::Open(agreed) => Some(agreed),
            _ => None,
        }
    }

    fn facts(&self) -> Option<SessionFacts> {
        let agreed = self.agreed()?;
        let has = |flag| agreed.capabilities.has(flag);
        let parts = [
            (self.channel.is_encrypted(), "tls"),
            (has(Capabilities::COMPRESS), "zlib"),
            (has(Capabilities::ZSTD_COMPRESSION), "zstd"),
            (has(Capabilities::MARIADB_CACHE_METADATA), "cached_metadata"),
        ];
        Some(SessionFacts {
            server_version: agreed.server_version.clone(),
            agreed: parts
                .into_iter()
                .filter_map(|(is, name)| is.then_some(name))
                .collect(),
        })
    }

    #[inline]
    fn expect(&mut self, request: Request) {
        let reply = match request.reply {
            Reply::Prepared => crate::wire::mysql::ReplyForm::Prepare,
            Reply::Counts | Reply::Changed | Reply::Several(_) | Reply::Whole | Reply::Nothing => {
                crate::wire::mysql::ReplyForm::Results
            }
        };
        self.reader.expect(reply);
        self.more_answers = match request.reply {
            Reply::Several(requests) => requests.saturating_sub(1),
            _ => 0,
        };
        if request.reply == Reply::Whole {
            self.whole.clear();
        }
        self.request = Some(request);
    }

    #[inline]
    fn seal<'a>(
        &mut self,
        packets: &'a [u8],
        spare: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], WireError> {
        self.reader.expect_sequence(sequence_after(packets));
        if self.channel.is_plain() {
            return Ok(packets);
        }
        spare.clear();
        self.channel.seal(packets, spare)?;
        Ok(spare)
    }

    #[inline]
    fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        spare: &mut Vec<u8>,
    ) -> Result<Heard, WireError> {
        match &mut self.stage {
            LinkStage::Open(_) if self.channel.is_plain() => self.hear_packets(bytes, spare),
            LinkStage::Open(_) => self.hear_layered(bytes, spare),
            LinkStage::LoggingIn(login) => {
                let Some(session) = login.receive(bytes, out)? else {
                    return Ok(Heard::More);
                };
                self.reader = AnswerReader::new(session.agreed.capabilities);
                self.channel = session.channel;
                self.stage = LinkStage::Open(Box::new(session.agreed));
                Ok(Heard::Opened)
            }
            LinkStage::Closed => Ok(Heard::More),
        }
    }

    #[cold]
    fn put_file_part(
        &mut self,
        part: &[u8],
        out: &mut Vec<u8>,
        spare: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let (sequence, is_plain) = (self.reader.next_sequence(), self.channel.is_plain());
        let packets = if is_plain { &mut *out } else { &mut *spare };
        if !is_plain {
            packets.clear();
        }
        if part.is_empty() {
            let next = command::infile_end(packets, sequence);
            self.reader.infile_sent(next);
        } else {
            let next = command::infile_part(packets, sequence, part);
            self.reader.expect_sequence(next);
        }
        match is_plain {
            true => Ok(()),
            false => self.channel.seal_more(spare, out),
        }
    }

    #[inline]
    fn summary(&self) -> &Summary {
        self.reader.summary()
    }

    fn error(&self) -> Option<&ServerError> {
        self.reader.error()
    }

    fn prepared(&self) -> Option<Prepared> {
        self.reader.prepared()
    }

    fn whole(&self) -> &[u8] {
        &self.whole
    }

    fn put_goodbye(&self, out: &mut Vec<u8>) {
        if self.is_open() && !self.is_waiting() {
            command::quit(out);
        }
    }
}

impl Link {
    fn hear_layered(&mut self, bytes: &[u8], spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        let mut opened = std::mem::take(&mut self.opened);
        let mut bytes = bytes;
        let heard = loop {
            opened.clear();
            let held_back = self.channel.open(bytes, &mut opened)?;
            let heard = self.hear_packets(&opened, spare)?;
            if heard != Heard::More || !held_back {
                break heard;
            }
            bytes = &[];
        };
        self.opened = opened;
        Ok(heard)
    }

    #[inline]
    fn hear_packets(&mut self, bytes: &[u8], spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        if bytes.is_empty() {
            return Ok(Heard::More);
        }
        if self.tail.is_empty() {
            return self.hear_joined(bytes);
        }
        spare.clear();
        spare.extend_from_slice(&self.tail);
        spare.extend_from_slice(bytes);
        self.tail.clear();
        self.hear_joined(spare)
    }

    #[inline]
    fn hear_joined(&mut self, bytes: &[u8]) -> Result<Heard, WireError> {
        let Some(request) = self.request else {
            return Err(unasked(bytes));
        };
        let mut fed = self.reader.feed(bytes)?;
        let (taken, mut rest) = bytes.split_at_checked(fed.consumed).unwrap_or((bytes, &[]));
        if request.reply == Reply::Whole {
            self.keep(taken)?;
        }
        while fed.state == AnswerState::Done && self.more_answers > 0 {
            self.more_answers -= 1;
            self.reader.expect_another();
            fed = self.reader.feed(rest)?;
            rest = rest.get(fed.consumed..).unwrap_or_default();
        }
        match fed.state {
            AnswerState::More => {
                self.tail.extend_from_slice(rest);
                Ok(Heard::More)
            }
            AnswerState::Done if rest.is_empty() => {
                self.request = None;
                Ok(Heard::Answered(request))
            }
            AnswerState::Done => Err(unasked(rest)),
            AnswerState::LocalInfile if rest.is_empty() => Ok(Heard::LocalFile),
            AnswerState::LocalInfile => Err(unasked(rest)),
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if self.whole.len() + bytes.len() > WHOLE_BYTES_MAX {
            return Err(WireError::Ours(
                format!("an answer is longer than {} MB", WHOLE_BYTES_MAX >> 20).into(),
            ));
        }
        self.whole.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes out the bytes of the answer that were kept so far.
    pub fn take_whole(&mut self) -> std::vec::Drain<'_, u8> {
        self.whole.drain(..)
    }
}

/// The error for bytes that no request asked for. A server may send its own error before it closes
/// a connection: then it is that one.
fn unasked(bytes: &[u8]) -> WireError {
    match bytes.get(4..) {
        Some(packet) if packet.first() == Some(&0xff) => match ServerError::parse(packet) {
            Ok(error) => WireError::Refused(error),
            Err(error) => error,
        },
        _ => WireError::Theirs("it speaks without being asked".into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::mysql::Flavour;
    use crate::workload::{Class, Ending};

    const OK: &[u8] = b"\x07\0\0\x01\0\x01\0\x02\0\0\0";
    const REQUEST: Request = Request {
        link: 0,
        class: Class::Of(0),
        reply: Reply::Counts,
        ends: Some(Ending {
            kind: 0,
            rolled_back: false,
        }),
    };

    fn open_link() -> Link {
        let agreed = Agreed {
            server_version: "test".to_owned(),
            flavour: Flavour::MariaDb,
            connection_id: 1,
            capabilities: Capabilities::PROTOCOL_41,
            status: 2,
        };
        Link {
            stage: LinkStage::Open(Box::new(agreed)),
            reader: AnswerReader::new(Capabilities::PROTOCOL_41),
            ..Link::default()
        }
    }

    #[test]
    fn an_answer_may_come_in_any_pieces() {
        for piece in 1..=OK.len() {
            let mut link = open_link();
            link.expect(REQUEST);
            let mut heard = Heard::More;
            for bytes in OK.chunks(piece) {
                assert_eq!(heard, Heard::More);
                heard = link.hear(bytes, &mut Vec::new(), &mut Vec::new()).unwrap();
            }
            assert_eq!(heard, Heard::Answered(REQUEST));
            assert_eq!(link.summary().affected_rows, 1);
            assert!(!link.is_waiting());
        }
    }

    #[test]
    fn a_whole_answer_is_kept_and_the_next_forgets_it() {
        let whole = Request {
            reply: Reply::Whole,
            ..REQUEST
        };
        let mut link = open_link();
        for _ in 0..2 {
            link.expect(whole);
            link.hear(&OK[..3], &mut Vec::new(), &mut Vec::new())
                .unwrap();
            link.hear(&OK[3..], &mut Vec::new(), &mut Vec::new())
                .unwrap();
            assert_eq!(link.whole(), OK);
        }
    }

    #[test]
    fn answers_to_several_requests_are_one() {
        const SEVERAL: Request = Request {
            reply: Reply::Several(3),
            ..REQUEST
        };
        let failed = b"\x0c\0\0\x01\xff\x28\x04#23000dup";
        let all = [OK, failed, OK].concat();
        for piece in 1..=all.len() {
            let mut link = open_link();
            link.expect(SEVERAL);
            let mut heard = Heard::More;
            for bytes in all.chunks(piece) {
                assert_eq!(heard, Heard::More, "{piece}");
                heard = link.hear(bytes, &mut Vec::new(), &mut Vec::new()).unwrap();
            }
            assert_eq!(heard, Heard::Answered(SEVERAL));
            assert_eq!(link.summary().affected_rows, 2);
            assert!(link.summary().failed);
            assert_eq!(link.error().unwrap().code, 1064);
        }
        let mut link = open_link();
        link.expect(SEVERAL);
        let four = [OK; 4].concat();
        assert!(link.hear(&four, &mut Vec::new(), &mut Vec::new()).is_err());
    }

    #[test]
    fn what_nobody_asked_for_is_refused_with_its_reason() {
        let mut link = open_link();
        let error = link.hear(OK, &mut Vec::new(), &mut Vec::new()).unwrap_err();
        assert!(matches!(error, WireError::Theirs(_)));
        let why = b"\x10\0\0\0\xff\x1d\x04#08S01Shutdown";
        let error = link
            .hear(why, &mut Vec::new(), &mut Vec::new())
            .unwrap_err();
        assert!(matches!(error, WireError::Refused(error) if error.code == 1053));
        link.expect(REQUEST);
        let twice = [OK, OK].concat();
        assert!(link.hear(&twice, &mut Vec::new(), &mut Vec::new()).is_err());
    }

    #[test]
    fn closing_gives_back_what_was_not_answered() {
        let mut link = open_link();
        link.expect(REQUEST);
        assert_eq!(link.close(), Some(REQUEST));
        assert_eq!(link.close(), None);
        assert!(link.is_closed());
    }
}
