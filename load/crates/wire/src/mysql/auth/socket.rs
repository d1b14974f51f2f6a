//! `unix_socket` of MariaDB and `auth_socket` of MySQL: the server asks the kernel for our user.

use super::{Plugin, Secret};
use crate::error::WireError;

pub(super) const NAME_MARIADB: &[u8] = b"unix_socket";
pub(super) const NAME_MYSQL: &[u8] = b"auth_socket";

pub(super) struct SocketAuth;

impl Plugin for SocketAuth {
    fn answer(&mut self, _secret: Secret<'_>, _nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        Ok(Vec::new())
    }
}
