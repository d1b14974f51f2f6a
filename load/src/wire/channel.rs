//! What lies between the packets and the socket: nothing, or layers.

use super::error::WireError;

/// The way from packets to socket bytes and back.
///
/// Where [`Channel::is_plain`], packets *are* the socket's bytes: send what the command writers
/// wrote, feed what the socket gave, and never call the other two.
#[derive(Debug, Default)]
pub enum Channel {
    #[default]
    Plain,
}

impl Channel {
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Appends to `socket` what must be sent to say `packets`.
    pub fn seal(&mut self, packets: &[u8], socket: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::Plain => socket.extend_from_slice(packets),
        }
        Ok(())
    }

    /// Takes bytes from the socket, all of them, and appends what they say to `packets`.
    ///
    /// True: more has come out than is safe to hand over at once (a little can say a lot, where
    /// it is compressed). Read `packets`, then call again with no bytes.
    pub fn open(&mut self, socket: &[u8], packets: &mut Vec<u8>) -> Result<bool, WireError> {
        match self {
            Self::Plain => packets.extend_from_slice(socket),
        }
        Ok(false)
    }
}
