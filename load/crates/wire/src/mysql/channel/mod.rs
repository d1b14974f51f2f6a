//! The layers between the packets and the socket: none, or encryption, compression, both.

mod codec;
mod compression;
mod encryption;

use super::tls::TlsConfig;
use crate::{Capabilities, WireError};

pub use codec::Algorithm;
pub(super) use codec::ZSTD_LEVEL;
use compression::CompressionLayer;
use encryption::Encryption;

/// The way from packets to socket bytes and back.
///
/// If [`Channel::is_plain`], packets *are* the socket's bytes: send the bytes of the command
/// writers, feed those of the socket, and never call the others.
#[derive(Debug, Default)]
pub struct Channel {
    layers: Option<Box<Layers>>,
}

/// The layers in use, the outer one first.
#[derive(Debug, Default)]
struct Layers {
    encryption: Option<Encryption>,
    compression: Option<CompressionLayer>,
    /// Passed from one layer to the other; empty from one call to the next.
    between: Vec<u8>,
}

impl Channel {
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.layers.is_none()
    }

    pub fn is_encrypted(&self) -> bool {
        self.layers
            .as_ref()
            .is_some_and(|layers| layers.encryption.is_some())
    }

    /// Appends to `socket` the bytes that carry `packets`: whole commands.
    pub fn seal(&mut self, packets: &[u8], socket: &mut Vec<u8>) -> Result<(), WireError> {
        self.seal_by(CompressionLayer::seal_commands, packets, socket)
    }

    /// Like [`Self::seal`], for packets that go on with a command: the parts of a local file.
    pub fn seal_more(&mut self, packets: &[u8], socket: &mut Vec<u8>) -> Result<(), WireError> {
        self.seal_by(CompressionLayer::seal, packets, socket)
    }

    fn seal_by(
        &mut self,
        compress: CompressBy,
        packets: &[u8],
        socket: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match &mut self.layers {
            None => {
                socket.extend_from_slice(packets);
                Ok(())
            }
            Some(layers) => layers.seal(compress, packets, socket),
        }
    }

    /// Takes bytes from the socket, all of them, and appends their content to `packets`.
    ///
    /// True: more has come out than is safe to hand over at once (a little can say a lot, where
    /// it is compressed). Read `packets`, then call again with no bytes.
    pub fn open(&mut self, socket: &[u8], packets: &mut Vec<u8>) -> Result<bool, WireError> {
        match &mut self.layers {
            None => {
                packets.extend_from_slice(socket);
                Ok(false)
            }
            Some(layers) => layers.open(socket, packets),
        }
    }

    /// Whether compressed packets have come that [`Self::open`] has not handed over, or parts of
    /// one.
    pub fn has_unread(&self) -> bool {
        let layers = self.layers.as_ref();
        let compression = layers.and_then(|layers| layers.compression.as_ref());
        compression.is_some_and(CompressionLayer::has_unread)
    }

    /// From now on bytes are encrypted; appends the first ones to `socket`.
    pub fn encrypt(&mut self, config: &TlsConfig, socket: &mut Vec<u8>) -> Result<(), WireError> {
        let encryption = Encryption::start(config, socket)?;
        self.layers.get_or_insert_default().encryption = Some(encryption);
        Ok(())
    }

    /// Appends the bytes that the layers themselves must send. True: packets can be sent.
    pub fn settle(&mut self, socket: &mut Vec<u8>) -> bool {
        let Some(layers) = &mut self.layers else {
            return true;
        };
        layers
            .encryption
            .as_mut()
            .is_none_or(|encryption| encryption.settle(socket))
    }

    /// From now on packets are compressed, where that was agreed.
    pub fn compress(&mut self, agreed: Capabilities) {
        let algorithm = if agreed.has(Capabilities::ZSTD_COMPRESSION) {
            Algorithm::Zstd
        } else if agreed.has(Capabilities::COMPRESS) {
            Algorithm::Zlib
        } else {
            return;
        };
        self.layers.get_or_insert_default().compression = Some(CompressionLayer::new(algorithm));
    }
}

/// Whole commands, or bytes that continue one.
type CompressBy = fn(&mut CompressionLayer, &[u8], &mut Vec<u8>) -> Result<(), WireError>;

impl Layers {
    fn seal(
        &mut self,
        compress: CompressBy,
        packets: &[u8],
        socket: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match (&mut self.compression, &mut self.encryption) {
            (None, None) => socket.extend_from_slice(packets),
            (Some(compression), None) => compress(compression, packets, socket)?,
            (None, Some(encryption)) => encryption.seal(packets, socket)?,
            (Some(compression), Some(encryption)) => {
                self.between.clear();
                compress(compression, packets, &mut self.between)?;
                encryption.seal(&self.between, socket)?;
                self.between.clear();
            }
        }
        Ok(())
    }

    fn open(&mut self, socket: &[u8], packets: &mut Vec<u8>) -> Result<bool, WireError> {
        match (&mut self.compression, &mut self.encryption) {
            (None, None) => packets.extend_from_slice(socket),
            (None, Some(encryption)) => encryption.open(socket, packets)?,
            (Some(compression), None) => {
                compression.feed(socket);
                return compression.open(packets);
            }
            (Some(compression), Some(encryption)) => {
                self.between.clear();
                encryption.open(socket, &mut self.between)?;
                compression.feed(&self.between);
                self.between.clear();
                return compression.open(packets);
            }
        }
        Ok(false)
    }
}
