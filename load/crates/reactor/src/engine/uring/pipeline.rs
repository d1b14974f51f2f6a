//! A socket on which several requests may be under way.
//!
//! While the kernel sends from one buffer, new requests are gathered in a second one. So the bytes
//! stay in order, and we never write to a buffer that the kernel may still read. Completions of
//! such sends are reported, unlike those of a socket with one request at a time.

use super::super::sends::Sends;

#[derive(Debug, Default)]
pub(super) struct Pipeline {
    /// Requests for the next send.
    pub next: Vec<u8>,
    /// The kernel has the request buffer.
    pub is_sending: bool,
    /// How much of that buffer it has sent.
    sent: usize,
    pub sends: Sends,
}

/// What a completed send leaves to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AfterSend {
    Nothing,
    /// More requests were gathered meanwhile.
    Gathered,
    /// The kernel has sent only a part; the rest must be sent from its place on.
    Rest,
}

impl Pipeline {
    /// Keeps bytes for the next send. True: they are the first, and the kernel has none to send.
    pub fn gather(&mut self, bytes: &[u8]) -> bool {
        let is_first = self.next.is_empty() && !self.is_sending;
        self.next.extend_from_slice(bytes);
        self.sends.put(bytes.len());
        is_first
    }

    /// Puts the gathered bytes into the request buffer, which the kernel gets now.
    pub fn turn(&mut self, request: &mut Vec<u8>) {
        std::mem::swap(request, &mut self.next);
        self.next.clear();
        (self.sent, self.is_sending) = (0, true);
    }

    /// The bytes of the request buffer that the kernel has not sent.
    pub fn rest<'r>(&self, request: &'r [u8]) -> &'r [u8] {
        request.get(self.sent..).unwrap_or_default()
    }

    /// The kernel has sent `sent` bytes.
    pub fn completed(&mut self, sent: usize, request: &[u8]) -> AfterSend {
        self.sent += sent;
        if !self.rest(request).is_empty() {
            return AfterSend::Rest;
        }
        self.is_sending = false;
        match self.next.is_empty() {
            true => AfterSend::Nothing,
            false => AfterSend::Gathered,
        }
    }

    /// The kernel was given the request buffer. A part of it was given before.
    pub fn given(&mut self, request: &[u8], at_ns: u64) {
        if self.sent == 0 {
            self.sends.give(request.len(), at_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_while_the_kernel_sends_waits_for_its_end() {
        let (mut pipeline, mut request) = (Pipeline::default(), Vec::new());
        assert!(pipeline.gather(b"one"));
        assert!(!pipeline.gather(b"two"));
        pipeline.turn(&mut request);
        assert_eq!(pipeline.rest(&request), b"onetwo");
        assert!(!pipeline.gather(b"three"));
        assert_eq!(pipeline.completed(4, &request), AfterSend::Rest);
        assert_eq!(pipeline.rest(&request), b"wo");
        assert!(!pipeline.gather(b"four"));
        assert_eq!(pipeline.completed(2, &request), AfterSend::Gathered);
        pipeline.turn(&mut request);
        assert_eq!(pipeline.rest(&request), b"threefour");
        assert_eq!(pipeline.completed(9, &request), AfterSend::Nothing);
        assert!(pipeline.gather(b"five"));
    }
}
