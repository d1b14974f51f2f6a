//! The bytes of one question, and where an answer ends.

use super::Arguments;
use super::connect::sql;
use contend_random::Stream;
use contend_wire::mysql::{PreparedStatement, command};
use contend_wire::{Prepared, Value};

/// Digits of a key in a text: a number may begin with zeros.
const DIGITS: usize = 10;

/// One connection's statement. Only the keys change from one question to the next.
pub struct Question {
    stream: Stream,
    rows: u64,
    keys: Keys,
    first: Vec<u8>,
    next: Vec<u8>,
    asked: bool,
}

/// Where the keys stand in the bytes.
enum Keys {
    /// So many of 8 bytes each, at the end.
    Binary(usize),
    /// As digits, from these places on.
    Text(Vec<usize>),
}

impl Question {
    pub fn new(prepared: Prepared, arguments: &Arguments, index: u64) -> Self {
        let (keys, first, next) = if arguments.text {
            text(arguments)
        } else {
            executions(prepared)
        };
        Self {
            stream: Stream::new(303, index),
            rows: arguments.rows,
            keys,
            first,
            next,
            asked: false,
        }
    }

    /// The next question.
    #[inline]
    pub fn ask(&mut self) -> &[u8] {
        let bytes = if self.asked {
            &mut self.next
        } else {
            &mut self.first
        };
        self.asked = true;
        match &self.keys {
            Keys::Binary(count) => {
                let keys = bytes.len() - 8 * count;
                for place in bytes
                    .get_mut(keys..)
                    .unwrap_or_default()
                    .chunks_exact_mut(8)
                {
                    place.copy_from_slice(&self.stream.uniform(1, self.rows).to_le_bytes());
                }
            }
            Keys::Text(places) => {
                for &at in places {
                    let mut key = self.stream.uniform(1, self.rows);
                    for digit in bytes
                        .get_mut(at..at + DIGITS)
                        .unwrap_or_default()
                        .iter_mut()
                        .rev()
                    {
                        *digit = b'0' + (key % 10) as u8;
                        key /= 10;
                    }
                }
            }
        }
        bytes
    }
}

/// The first execution announces the types, the second is what all later ones look like.
fn executions(prepared: Prepared) -> (Keys, Vec<u8>, Vec<u8>) {
    let mut statement = PreparedStatement::new(prepared);
    let parameters = usize::from(prepared.parameters);
    let values = vec![Value::Int(1); parameters];
    let (mut first, mut next) = (Vec::new(), Vec::new());
    let written = statement
        .execute(&mut first, &values)
        .and_then(|()| statement.execute(&mut next, &values));
    debug_assert!(written.is_ok());
    (Keys::Binary(parameters), first, next)
}

fn text(arguments: &Arguments) -> (Keys, Vec<u8>, Vec<u8>) {
    let zeros = "0".repeat(DIGITS);
    let mut bytes = Vec::new();
    command::query(&mut bytes, sql(arguments).replace('?', &zeros).as_bytes());
    let places = (0..bytes.len())
        .filter(|&at| bytes.get(at..at + DIGITS) == Some(zeros.as_bytes()))
        .collect();
    (Keys::Text(places), bytes.clone(), bytes)
}

/// Looks for the end of an answer that may come in pieces.
#[derive(Default)]
pub struct End {
    /// Payload bytes of the present frame that are still to come.
    left: usize,
    head: [u8; 5],
    filled: usize,
}

impl End {
    /// True where these bytes end the answer: its last packet begins with 0xfe, or 0xff.
    #[inline]
    pub fn is_in(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        let mut ended = false;
        while !rest.is_empty() {
            let passed = self.left.min(rest.len());
            self.left -= passed;
            rest = rest.get(passed..).unwrap_or_default();
            while self.left == 0 && self.filled < 5 {
                let Some((byte, after)) = rest.split_first() else {
                    return ended;
                };
                if let Some(place) = self.head.get_mut(self.filled) {
                    *place = *byte;
                }
                self.filled += 1;
                rest = after;
            }
            if self.filled == 5 {
                let [a, b, c, _, first] = self.head;
                self.left = u32::from_le_bytes([a, b, c, 0]) as usize - 1;
                self.filled = 0;
                ended = first >= 0xfe;
            }
        }
        ended && self.left == 0
    }
}
