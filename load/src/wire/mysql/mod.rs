//! The MySQL and MariaDB client protocol, without a socket: bytes in, bytes and meanings out.
//!
//! No socket, no clock, no thread. Whoever owns those drives it so:
//!
//! ```
//! use contend_load::wire::mysql::{AnswerReader, Credentials, Login, Options, ReplyForm, AnswerState, command};
//! # use contend_load::wire::mysql::WireError;
//! # fn sketch(mut read: impl FnMut(&mut [u8]) -> usize, mut write: impl FnMut(&[u8]))
//! #     -> Result<(), WireError> {
//! // 1. Log in. The server speaks first; `to_send` is what the socket must carry.
//! let credentials = Credentials { user: "root".into(), password: String::new() };
//! let mut login = Login::new(credentials, Options { unix_socket: true, ..Options::default() });
//! let mut buffer = vec![0; 64 * 1024];
//! let mut to_send = Vec::new();
//! let session = loop {
//!     let filled = read(&mut buffer);
//!     if let Some(session) = login.receive(&buffer[..filled], &mut to_send)? {
//!         break session;
//!     }
//!     write(&to_send);
//!     to_send.clear();
//! };
//! // 2. Say which answer is due, append the command, send.
//! let mut answer = AnswerReader::new(session.agreed.capabilities);
//! answer.expect(ReplyForm::Results);
//! command::query(&mut to_send, b"SELECT 1");
//! write(&to_send);
//! // 3. Feed what comes. One buffer serves all connections of a worker: only a torn tail, at
//! //    most `TAIL_MAX` bytes, is kept for this connection and put in front of the next read.
//! let mut tail = 0;
//! loop {
//!     let filled = tail + read(&mut buffer[tail..]);
//!     let fed = answer.feed(&buffer[..filled])?;
//!     match fed.state {
//!         AnswerState::Done => break,
//!         AnswerState::LocalInfile => {
//!             let next = command::infile_end(&mut to_send, answer.next_sequence());
//!             answer.infile_sent(next);
//!             write(&to_send);
//!             tail = 0;
//!         }
//!         AnswerState::More => {
//!             buffer.copy_within(fed.consumed..filled, 0);
//!             tail = filled - fed.consumed;
//!         }
//!     }
//! }
//! println!("{} rows, error {:?}", answer.summary().rows, answer.error());
//! # Ok(()) }
//! ```
//!
//! **Costs.** [`AnswerReader::feed`] copies nothing, allocates only for the message of an error,
//! and of a row sees the header and the first byte. [`PreparedStatement::execute`] and the writers of
//! [`command`] append to the caller's buffer and allocate nothing beyond its growth.
//!
//! **Trust.** Nothing the server sends panics or makes memory grow: a claimed length reserves
//! nothing, counts are bounded, rows and definitions are passed over as they come. After a
//! [`WireError`] the connection is of no more use. An ERR packet in answer to a command is not
//! one: the session goes on, see [`AnswerReader::error`].
//!
//! **Layers.** With TLS or compression [`OpenSession::channel`] is not plain
//! ([`Channel::is_plain`]); then packets pass through [`Channel::seal`] on their way out and
//! [`Channel::open`] on their way in.

pub mod answer;
mod auth;
pub mod capability;
#[cfg(test)]
mod captured;
pub mod channel;
pub mod charset;
pub mod column;
pub mod command;
pub mod cursor;
mod error_packet;
pub mod frame;
pub mod greeting;
pub mod handshake;
pub mod login;
pub mod row;
pub mod rows;
pub mod statement;
pub mod tls;
pub mod value;

pub use crate::wire::error::{ServerError, WireError, client_error};
pub use answer::{
    AnswerPacket, AnswerReader, AnswerState, Fed, Prepared, ReplyForm, Summary, TAIL_MAX,
};
pub use capability::{Capabilities, status};
pub use channel::{Algorithm, Channel};
pub use charset::Charset;
pub use column::Column;
pub use frame::{FrameReader, sequence_after};
pub use greeting::Flavour;
pub use handshake::{Agreed, Credentials, Options};
pub use login::{Login, OpenSession};
pub use row::{BinaryRow, TextRow};
pub use rows::ResultRows;
pub use statement::PreparedStatement;
pub use tls::{TlsConfig, TlsWish, Trust};
pub use value::{Date, Time, Value};
