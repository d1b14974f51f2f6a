//! A value with an address for life: scripts hold pointers to it.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Owns a value on the heap that may also be reached by its address. Unlike a `Box`, moving the
/// owner claims nothing about who else looks at the value.
#[derive(Debug)]
pub struct Fixed<T> {
    value: NonNull<T>,
}

impl<T> Fixed<T> {
    pub fn new(value: T) -> Self {
        Self {
            value: NonNull::from(Box::leak(Box::new(value))),
        }
    }

    /// The address, which holds as long as this does.
    pub fn address(&self) -> *mut T {
        self.value.as_ptr()
    }
}

impl<T> Deref for Fixed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value is alive, and functions of the interface use its address only while
        // they hold the one reference to it.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for Fixed<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { self.value.as_mut() }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `new`, and is freed once.
        drop(unsafe { Box::from_raw(self.value.as_ptr()) });
    }
}

impl<T: Default> Default for Fixed<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_stays_when_the_owner_moves() {
        let first = Fixed::new(7);
        let address = first.address();
        let mut owners = vec![first];
        owners.push(Fixed::new(8));
        assert!(
            owners
                .iter()
                .any(|owner| owner.address() == address && **owner == 7)
        );
    }
}
