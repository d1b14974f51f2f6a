//! When the requests under way on a socket were sent.

use std::collections::VecDeque;

/// The requests of a socket whose answers are due, oldest first. Bytes are counted from the first
/// one on, so that a request that the kernel takes later than the one before has a later time.
#[derive(Debug, Default)]
pub(super) struct Sends {
    /// Where each request begins, and when the kernel was given its first byte.
    requests: VecDeque<(u64, Option<u64>)>,
    put: u64,
    given: u64,
}

impl Sends {
    /// The next bytes are those of one more request.
    pub fn begin(&mut self) {
        self.requests.push_back((self.put, None));
    }

    /// `bytes` more wait for the kernel.
    pub fn put(&mut self, bytes: usize) {
        self.put += bytes as u64;
    }

    /// The kernel was given `bytes` of those that wait.
    pub fn give(&mut self, bytes: usize, at_ns: u64) {
        self.given += bytes as u64;
        let given = self.given;
        let waiting = self.requests.iter_mut().rev();
        let new = waiting.take_while(|(_, sent_ns)| sent_ns.is_none());
        new.filter(|(start, _)| *start < given)
            .for_each(|(_, sent_ns)| *sent_ns = Some(at_ns));
    }

    /// When the oldest request was sent, which is answered now.
    pub fn take(&mut self) -> Option<u64> {
        self.requests.pop_front()?.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_with_its_first_byte() {
        let mut sends = Sends::default();
        for length in [10, 20, 5] {
            sends.begin();
            sends.put(length);
        }
        sends.give(10, 1);
        sends.give(1, 2);
        sends.give(19, 3);
        assert_eq!((sends.take(), sends.take()), (Some(1), Some(2)));
        sends.begin();
        sends.put(7);
        // Bytes that belong to the request before.
        sends.put(1);
        sends.give(12, 4);
        assert_eq!((sends.take(), sends.take()), (Some(4), Some(4)));
        assert_eq!(sends.take(), None);
    }

    #[test]
    fn what_the_kernel_has_not_got_has_no_time() {
        let mut sends = Sends::default();
        sends.begin();
        sends.put(3);
        assert_eq!(sends.take(), None);
    }
}
