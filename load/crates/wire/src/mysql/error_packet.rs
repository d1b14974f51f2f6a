//! Reading an ERR packet.

use super::cursor::Cursor;
use crate::error::{ServerError, WireError};

/// Longest message kept of an ERR packet. The servers' own limit is 512 bytes.
const MESSAGE_MAX: usize = 512;

impl ServerError {
    /// Reads an ERR packet, its first byte (0xFF) included. Longer messages are cut.
    ///
    /// # Errors
    /// It is not an ERR packet.
    pub fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut error = Self::default();
        error.read(payload)?;
        Ok(error)
    }

    /// Like [`Self::parse`], in the place of an error before: its message's room is used again.
    ///
    /// # Errors
    /// It is not an ERR packet; the error before stays.
    pub fn read(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let mut cursor = Cursor::new(payload);
        if cursor.u8("error packet")? != 0xff {
            return Err(WireError::theirs("an error packet of an unknown kind"));
        }
        let code = cursor.u16("error code")?;
        let mut sqlstate = *b"HY000";
        // Errors sent before the handshake have no SQLSTATE: 1040 and 1129 come so.
        if cursor.rest().first() == Some(&b'#') && cursor.rest().len() >= 6 {
            cursor.u8("SQLSTATE mark")?;
            for (kept, sent) in sqlstate.iter_mut().zip(cursor.bytes(5, "SQLSTATE")?) {
                // Only letters and digits may get into a report: anything else is not a SQLSTATE.
                *kept = if sent.is_ascii_alphanumeric() {
                    *sent
                } else {
                    b'?'
                };
            }
        }
        let message = cursor.rest();
        let message = message.get(..MESSAGE_MAX).unwrap_or(message);
        (self.code, self.sqlstate) = (code, sqlstate);
        self.message.clear();
        self.message.push_str(&String::from_utf8_lossy(message));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_an_error_with_and_without_sqlstate() {
        let error = ServerError::parse(b"\xff\x28\x04#42000You have an error").unwrap();
        assert_eq!((error.code, error.sqlstate()), (1064, "42000"));
        assert_eq!(error.message, "You have an error");
        let error = ServerError::parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((error.code, error.sqlstate()), (1040, "HY000"));
        assert_eq!(error.to_string(), "1040 (HY000): Too many connections");
    }

    #[test]
    fn cuts_long_messages_and_refuses_short_packets() {
        let mut packet = b"\xff\x01\x02#HY000".to_vec();
        packet.extend_from_slice(&[b'x'; 5000]);
        assert_eq!(
            ServerError::parse(&packet).unwrap().message.len(),
            MESSAGE_MAX
        );
        assert!(ServerError::parse(b"\xff\x01").is_err());
        assert!(ServerError::parse(b"").is_err());
    }
}
