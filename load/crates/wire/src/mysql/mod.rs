//! The MySQL and MariaDB client protocol without I/O: it takes received bytes, and returns their
//! meaning and the bytes to send.
//!
//! It has no socket, no clock and no thread. Code that has them uses it like this:
//!
//! ```
//! use contend_wire::{Credentials, WireError};
//! use contend_wire::mysql::{AnswerReader, Login, Options, ReplyForm, AnswerState, command};
//! # fn sketch(mut read: impl FnMut(&mut [u8]) -> usize, mut write: impl FnMut(&[u8]))
//! #     -> Result<(), WireError> {
//! // 1. Log in. The server sends first; `to_send` holds the bytes to write to the socket.
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
//! // 2. Say which kind of answer to expect, append the command, send.
//! let mut answer = AnswerReader::new(session.agreed.capabilities);
//! answer.expect(ReplyForm::Results);
//! command::query(&mut to_send, b"SELECT 1");
//! write(&to_send);
//! // 3. Feed the bytes that arrive. All connections of a worker share one read buffer. At
//! //    most `TAIL_MAX` bytes of an incomplete packet are kept for this connection; the next
//! //    read is appended to them.
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
//! and reads only the header and the first byte of a row. [`PreparedStatement::execute`] and the
//! functions of [`command`] append to the caller's buffer and allocate only if it must grow.
//!
//! **Trust.** Nothing that the server sends can cause a panic or make memory grow. No memory is
//! reserved for a length that a packet claims, counts have limits, and rows and column definitions
//! are skipped as they arrive. After a [`WireError`](super::WireError) the connection cannot be
//! used any more. An ERR packet in answer to a command is not a [`WireError`](super::WireError):
//! the session goes on, see [`AnswerReader::error`].
//!
//! **Layers.** With TLS or compression [`OpenSession::channel`] is not plain
//! ([`Channel::is_plain`]); then packets pass through [`Channel::seal`] on their way out and
//! [`Channel::open`] on their way in.

pub mod answer;
mod auth;
pub mod capability;
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
#[cfg(test)]
mod testing;
pub mod tls;
pub mod value;

pub use answer::{AnswerPacket, AnswerReader, AnswerState, Fed, ReplyForm, TAIL_MAX};
pub use auth::{Consent, ServerKey};
pub use capability::status;
pub use channel::{Algorithm, Channel};
pub use charset::Charset;
pub use column::Column;
pub use frame::{FrameReader, sequence_after};
pub use handshake::{Agreed, Options};
pub use login::{Login, OpenSession};
pub use row::{BinaryRow, BoundValues, TextRow};
pub use rows::ResultRows;
pub use statement::PreparedStatement;
pub use tls::{TlsConfig, TlsWish, Trust};
