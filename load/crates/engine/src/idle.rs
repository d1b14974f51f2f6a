//! A session that holds a connection and sends nothing: the load of idle users on a server.

use crate::workload::{Call, Session, Step};

pub struct Idle;

impl Session for Idle {
    fn next(&mut self, call: Call<'_>, _out: &mut Vec<u8>) -> Step {
        match call {
            Call::Start | Call::Lost(_) | Call::Broken(_) => Step::Connect(0),
            Call::Finish => Step::Stop,
            Call::Connected { .. } | Call::Event { .. } | Call::Answer(_) | Call::Woken => {
                Step::Ready
            }
        }
    }

    fn statement(&self) -> String {
        String::new()
    }
}
