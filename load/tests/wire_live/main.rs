//! The protocol against a real server: logins, layers, answers.
//!
//! `CONTEND_TEST_SERVER` describes one whose root has no password on its Unix socket, as JSON:
//! `{"socket": …, "port": …, "ca": …, "certificate": …, "key": …}`. Without it these tests say
//! that they are skipped. `tests/server/test_wire_live.py` runs them against every kind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod channels;
mod client;
mod logins;
mod statements;
