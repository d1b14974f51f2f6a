//! Reads the fields of one packet. No read can go past its end, and each names its field for the
//! error message.

use crate::error::WireError;

/// A read position in a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor<'p> {
    rest: &'p [u8],
}

impl<'p> Cursor<'p> {
    pub fn new(payload: &'p [u8]) -> Self {
        Self { rest: payload }
    }

    /// The bytes that have not been read yet.
    pub fn rest(&self) -> &'p [u8] {
        self.rest
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'p [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(WireError::theirs(format!(
                "a packet ends inside its {what}"
            )));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], WireError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(WireError::theirs(format!(
                "a packet ends inside its {what}"
            )));
        };
        self.rest = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self, what: &'static str) -> Result<u8, WireError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub fn u16(&mut self, what: &'static str) -> Result<u16, WireError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub fn u24(&mut self, what: &'static str) -> Result<u32, WireError> {
        let [a, b, c] = self.array(what)?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub fn u64(&mut self, what: &'static str) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A length-encoded integer. 0xFB (NULL) and 0xFF (error) are refused.
    #[inline]
    pub fn lenenc(&mut self, what: &'static str) -> Result<u64, WireError> {
        // Nearly all are one byte. The code for longer ones stays out of the request loop.
        if let [short @ 0..=0xfa, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*short));
        }
        self.long_lenenc(what)
    }

    fn long_lenenc(&mut self, what: &'static str) -> Result<u64, WireError> {
        match self.u8(what)? {
            short @ 0..=0xfa => Ok(u64::from(short)),
            0xfc => Ok(u64::from(self.u16(what)?)),
            0xfd => Ok(u64::from(self.u24(what)?)),
            0xfe => self.u64(what),
            _ => Err(WireError::theirs(format!(
                "the {what} is not a length-encoded number"
            ))),
        }
    }

    /// A length-encoded string. A length that goes past the end of the packet is an error.
    pub fn lenenc_bytes(&mut self, what: &'static str) -> Result<&'p [u8], WireError> {
        let length = self.lenenc(what)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.bytes(length, what)
    }

    /// Bytes up to a NUL. The NUL is skipped and not returned.
    pub fn until_nul(&mut self, what: &'static str) -> Result<&'p [u8], WireError> {
        let Some(end) = self.rest.iter().position(|byte| *byte == 0) else {
            return Err(WireError::theirs(format!("the {what} has no end")));
        };
        let taken = self.bytes(end, what)?;
        self.u8(what)?;
        Ok(taken)
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    match number {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a length-encoded string.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_written_number_reads_back(number: u64, trailing in proptest::collection::vec(any::<u8>(), 0..4)) {
            let mut out = Vec::new();
            put_lenenc(&mut out, number);
            let length = out.len();
            out.extend_from_slice(&trailing);
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.lenenc("number").unwrap(), number);
            prop_assert_eq!(cursor.rest(), &trailing[..]);
            prop_assert!(Cursor::new(&out[..length - 1]).lenenc("number").is_err());
        }
    }

    #[test]
    fn a_length_that_lies_is_refused() {
        let mut lie = vec![0xfe];
        lie.extend_from_slice(&(1u64 << 60).to_le_bytes());
        lie.extend_from_slice(b"short");
        assert!(Cursor::new(&lie).lenenc_bytes("name").is_err());
        assert!(Cursor::new(b"\xfb").lenenc("number").is_err());
        assert!(Cursor::new(b"\xff").lenenc("number").is_err());
        assert!(Cursor::new(b"no end").until_nul("name").is_err());
    }
}
