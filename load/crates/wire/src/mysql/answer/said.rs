//! The terms of an answer: the expected packet, the packet that came, the meaning.

/// What kind of answer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyForm {
    /// To everything but a prepare: OK, ERR, result sets, a request for a local file.
    Results,
    /// To COM_STMT_PREPARE.
    Prepare,
}

/// What [`super::AnswerReader::feed`] made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// This number of bytes is done with. With [`AnswerState::More`] the rest, at most
    /// [`super::TAIL_MAX`] bytes, must come again in front of the bytes that follow.
    pub consumed: usize,
    pub state: AnswerState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerState {
    /// The answer goes on.
    More,
    /// The answer is over; bytes that follow belong to the next one.
    Done,
    /// The server waits for a local file's packets, numbered from
    /// [`super::AnswerReader::next_sequence`]; call [`super::AnswerReader::infile_sent`], feed on.
    LocalInfile,
}

/// One packet of an answer, as [`super::AnswerReader::packet`] names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPacket<'p> {
    /// A prepare answer's first packet: see [`super::AnswerReader::prepared`].
    Prepared,
    /// A result set begins. Without `metadata` its columns are those sent last time.
    ResultSet {
        columns: u32,
        metadata: bool,
    },
    /// The definition of a parameter, of a column.
    Parameter(&'p [u8]),
    Column(&'p [u8]),
    /// The EOF packet between definitions and the packets after them.
    Mark,
    Row(&'p [u8]),
    /// A result is over and another follows.
    ResultEnd,
    /// The name of the file that the server asks for.
    LocalInfile(&'p [u8]),
    /// The answer is over: see [`super::AnswerReader::summary`] and [`super::AnswerReader::error`].
    Done,
}
