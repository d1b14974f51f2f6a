//! MySQL's protocol on one connection: from the bytes of its socket to complete answers.

use super::Target;
use super::dialect::{Dialect, Heard, LeftBytes, SessionFacts};
use crate::request::{Reply, Request, RequestProtocol};
use contend_wire::mysql::{
    Agreed, AnswerReader, AnswerState, Channel, Login, command, sequence_after,
};
use contend_wire::{Capabilities, Prepared, ServerError, Summary, WireError};

/// Most bytes kept of an answer that a caller wants whole.
const WHOLE_BYTES_MAX: usize = 64 << 20;

/// Whether this number of bytes of an answer may be kept.
pub(super) fn may_keep(bytes: usize) -> Result<(), WireError> {
    match bytes > WHOLE_BYTES_MAX {
        true => Err(WireError::Ours(
            format!("an answer is longer than {} MB", WHOLE_BYTES_MAX >> 20).into(),
        )),
        false => Ok(()),
    }
}

/// The protocol side of one connection. On the event loop its socket belongs to the engine, under
/// the same token.
pub struct Link {
    stage: LinkStage,
    reader: AnswerReader,
    channel: Channel,
    /// Bytes at the end of the last read that need more bytes to be understood: at most
    /// [`contend_wire::mysql::TAIL_MAX`].
    tail: Vec<u8>,
    /// Packets after decryption and decompression, if the connection uses either.
    opened: Vec<u8>,
    whole: Vec<u8>,
    /// The request that waits for its answer.
    request: Option<Request>,
    /// How many answers are still to come after the one that is being read.
    more_answers: u32,
    /// Further requests are under way.
    expects_more: bool,
    left: LeftBytes,
    /// The channel has more packets than it has handed over.
    is_held_back: bool,
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
            expects_more: false,
            left: LeftBytes::default(),
            is_held_back: false,
        }
    }
}

impl Dialect for Link {
    const PROTOCOL: RequestProtocol = RequestProtocol::SQL;

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
        self.left.clear();
        (self.expects_more, self.is_held_back) = (false, false);
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

    fn capabilities(&self) -> Option<Capabilities> {
        self.agreed().map(|agreed| agreed.capabilities)
    }

    fn connection_number(&self) -> Option<u64> {
        self.agreed().map(|agreed| agreed.connection_id.into())
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
    fn sequence_after(packets: &[u8]) -> u8 {
        sequence_after(packets)
    }

    #[inline]
    fn expect(&mut self, request: Request, sequence: u8) {
        let reply = match request.reply {
            Reply::Prepared => contend_wire::mysql::ReplyForm::Prepare,
            Reply::Counts | Reply::Changed | Reply::Several(_) | Reply::Whole | Reply::Nothing => {
                contend_wire::mysql::ReplyForm::Results
            }
        };
        self.reader.expect(reply);
        self.reader.expect_sequence(sequence);
        self.more_answers = match request.reply {
            Reply::Several(requests) => requests.saturating_sub(1),
            _ => 0,
        };
        if request.reply == Reply::Whole {
            self.whole.clear();
        }
        self.request = Some(request);
    }

    fn expect_more(&mut self, more: bool) {
        self.expects_more = more;
    }

    fn has_left(&self) -> bool {
        self.left.len() > 0 || self.is_held_back
    }

    fn left_bytes(&self) -> usize {
        match self.channel.is_plain() {
            true => self.left.len(),
            false => 0,
        }
    }

    fn hear_left(&mut self, spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        if self.left.len() == 0 {
            return self.hear_layered(&[], spare);
        }
        let mut left = std::mem::take(&mut self.left);
        let heard = left.read(|bytes| self.read(bytes).map(|(heard, rest)| (heard, rest.len())));
        self.left = left;
        match heard? {
            Heard::More if self.is_held_back => self.hear_layered(&[], spare),
            heard => self.unless_more_came(heard),
        }
    }

    #[inline]
    fn seal<'a>(
        &mut self,
        packets: &'a [u8],
        spare: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], WireError> {
        if self.channel.is_plain() {
            return Ok(packets);
        }
        spare.clear();
        self.channel.seal(packets, spare)?;
        Ok(spare)
    }

    #[inline(always)]
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
    /// The facts agreed at login.
    pub fn agreed(&self) -> Option<&Agreed> {
        match &self.stage {
            LinkStage::Open(agreed) => Some(agreed),
            _ => None,
        }
    }

    fn hear_layered(&mut self, bytes: &[u8], spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        let mut opened = std::mem::take(&mut self.opened);
        let mut bytes = bytes;
        let heard = loop {
            opened.clear();
            self.is_held_back = self.channel.open(bytes, &mut opened)?;
            let heard = self.hear_packets(&opened, spare)?;
            if heard != Heard::More || !self.is_held_back {
                break heard;
            }
            bytes = &[];
        };
        self.opened = opened;
        self.unless_more_came(heard)
    }

    /// Refuses compressed packets, whole or not, after the last answer that is expected: they would
    /// be read as the answer to the next request. Records of TLS leave none behind: those that are
    /// whole have been read, and one that is not may be of TLS itself.
    fn unless_more_came(&mut self, heard: Heard) -> Result<Heard, WireError> {
        let is_over = self.request.is_none() && !self.expects_more || heard == Heard::LocalFile;
        if !is_over || !self.channel.has_unread() {
            return Ok(heard);
        }
        let mut next = Vec::new();
        self.channel.open(&[], &mut next)?;
        Err(unasked(&next))
    }

    #[inline(always)]
    fn hear_packets(&mut self, bytes: &[u8], spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        if bytes.is_empty() {
            return Ok(Heard::More);
        }
        match self.tail.is_empty() {
            true => self.hear_joined(bytes),
            false => self.hear_behind_tail(bytes, spare),
        }
    }

    #[cold]
    #[inline(never)]
    fn hear_behind_tail(&mut self, bytes: &[u8], spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        spare.clear();
        spare.extend_from_slice(&self.tail);
        spare.extend_from_slice(bytes);
        self.tail.clear();
        self.hear_joined(spare)
    }

    #[inline(always)]
    fn hear_joined(&mut self, bytes: &[u8]) -> Result<Heard, WireError> {
        let (heard, rest) = self.read(bytes)?;
        if !rest.is_empty() {
            self.left.put(rest);
        }
        Ok(heard)
    }

    /// Reads up to the end of the answer. Returns the bytes that come after it, if they may.
    #[inline(always)]
    fn read<'b>(&mut self, bytes: &'b [u8]) -> Result<(Heard, &'b [u8]), WireError> {
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
                Ok((Heard::More, &[]))
            }
            AnswerState::Done if rest.is_empty() || self.expects_more => {
                self.request = None;
                Ok((Heard::Answered(request), rest))
            }
            AnswerState::Done => Err(unasked(rest)),
            AnswerState::LocalInfile if rest.is_empty() => Ok((Heard::LocalFile, rest)),
            AnswerState::LocalInfile => Err(unasked(rest)),
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        may_keep(self.whole.len() + bytes.len())?;
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
        _ => WireError::Theirs("it sent data without a request".into()),
    }
}

#[cfg(test)]
mod layered;
#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::request::{Class, Ending};
    use contend_wire::Flavour;

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
            link.expect(REQUEST, 1);
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
            link.expect(whole, 1);
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
            link.expect(SEVERAL, 1);
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
        link.expect(SEVERAL, 1);
        let four = [OK; 4].concat();
        assert!(link.hear(&four, &mut Vec::new(), &mut Vec::new()).is_err());
    }

    const FAILED: &[u8] = b"\x0c\0\0\x01\xff\x28\x04#23000dup";
    /// One row with one column, of a server that sends EOF packets.
    const ROW: &[u8] =
        b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x01c\0\x0c\x21\0\x0a\0\0\0\xfd\0\0\0\0\0\
        \x05\0\0\x03\xfe\0\0\x02\0\x03\0\0\x04\x02ab\x05\0\0\x05\xfe\0\0\x02\0";

    /// Reads the answers to `answers` requests in flight: the result of each, and how many bytes it
    /// had.
    fn hear_all(bytes: &[u8], pieces: &[usize], answers: usize) -> Vec<(u64, u64, Option<u16>)> {
        let mut link = open_link();
        let (mut heard, mut due) = (Vec::new(), answers);
        let (mut spare, mut rest) = (Vec::new(), bytes);
        link.expect(REQUEST, 1);
        link.expect_more(due > 1);
        for piece in pieces.iter().cycle() {
            let (now, later) = rest.split_at((*piece).min(rest.len()));
            rest = later;
            let mut said = link.hear(now, &mut Vec::new(), &mut spare).unwrap();
            while said == Heard::Answered(REQUEST) {
                let summary = link.summary();
                let code = link.error().map(|error| error.code);
                heard.push((summary.rows, summary.affected_rows, code));
                due -= 1;
                if due == 0 {
                    assert!(!link.has_left() && rest.is_empty());
                    return heard;
                }
                link.expect(REQUEST, 1);
                link.expect_more(due > 1);
                if !link.has_left() {
                    break;
                }
                said = link.hear_left(&mut spare).unwrap();
            }
            assert!(!rest.is_empty(), "{due} answers are missing");
        }
        heard
    }

    proptest::proptest! {
        #[test]
        fn answers_to_requests_under_way_may_come_in_any_split(
            kinds in proptest::collection::vec(0..3_usize, 1..70),
            pieces in proptest::collection::vec(1..200_usize, 1..20),
        ) {
            let answers: [(&[u8], _); 3] =
                [(OK, (0, 1, None)), (FAILED, (0, 0, Some(1064))), (ROW, (1, 0, None))];
            let bytes: Vec<u8> = kinds.iter().flat_map(|kind| answers[*kind].0).copied().collect();
            let told: Vec<_> = kinds.iter().map(|kind| answers[*kind].1).collect();
            proptest::prop_assert_eq!(hear_all(&bytes, &pieces, kinds.len()), told);
        }
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
        link.expect(REQUEST, 1);
        let twice = [OK, OK].concat();
        assert!(link.hear(&twice, &mut Vec::new(), &mut Vec::new()).is_err());
    }

    #[test]
    fn closing_gives_back_what_was_not_answered() {
        let mut link = open_link();
        link.expect(REQUEST, 1);
        assert_eq!(link.close(), Some(REQUEST));
        assert_eq!(link.close(), None);
        assert!(link.is_closed());
    }
}
