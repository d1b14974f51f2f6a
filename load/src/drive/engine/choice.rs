//! Which engine a run gets.

use super::{Alone, Engine as _, Epoll, Uring};
use crate::drive::bell::Bell;
use crate::drive::failure;
use crate::outcome::Failure;
use crate::plan;
use std::io;

/// What the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sockets {
    /// The most that one worker has.
    pub of_a_worker: usize,
    /// The run has no more than this one, and it is a Unix socket.
    pub is_alone: bool,
}

/// The engine of a run.
#[derive(Debug)]
pub struct Choice {
    pub name: &'static str,
    /// Why it is not io_uring, where the kernel refused that.
    pub refused: Option<io::Error>,
}

impl Choice {
    fn of(name: &'static str) -> Self {
        Self {
            name,
            refused: None,
        }
    }
}

/// The engine to use: what the plan names, or the one that costs least here. `auto` depends on the
/// kernel, which must let us have a ring for so many sockets, and on nothing else but whether the
/// run has a single socket; so runs of different numbers of connections can be compared.
///
/// # Errors
/// The plan names an engine that the kernel refuses.
pub fn choose(wanted: plan::Engine, sockets: Sockets) -> Result<Choice, Failure> {
    let ring = || Uring::new(sockets.of_a_worker, Bell::new()?.heard()?);
    match wanted {
        plan::Engine::Read => Ok(Choice::of(Alone::NAME)),
        plan::Engine::Epoll => Ok(Choice::of(Epoll::NAME)),
        plan::Engine::Auto if sockets.is_alone => Ok(Choice::of(Alone::NAME)),
        plan::Engine::Auto => Ok(match ring() {
            Ok(_) => Choice::of(Uring::NAME),
            Err(error) => Choice {
                name: Epoll::NAME,
                refused: Some(error),
            },
        }),
        plan::Engine::IoUring => match ring() {
            Ok(_) => Ok(Choice::of(Uring::NAME)),
            Err(error) => Err(Failure {
                hint: Some("let the engine be chosen: engine = \"auto\"".to_owned()),
                ..failure::plain(format!("the kernel refuses io_uring: {error}"))
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn chosen(wanted: plan::Engine, of_a_worker: usize, is_alone: bool) -> &'static str {
        let sockets = Sockets {
            of_a_worker,
            is_alone,
        };
        choose(wanted, sockets).unwrap().name
    }

    #[test]
    fn the_choice_is_the_same_for_any_number_of_sockets_but_a_single_one() {
        let many = chosen(plan::Engine::Auto, 64, false);
        assert_eq!(chosen(plan::Engine::Auto, 1, false), many);
        assert_eq!(chosen(plan::Engine::Auto, 512, false), many);
        assert_eq!(chosen(plan::Engine::Auto, 1, true), "read");
    }

    #[test]
    fn a_single_socket_gets_the_engine_that_is_named() {
        assert_eq!(chosen(plan::Engine::Epoll, 1, true), "epoll");
        assert_eq!(chosen(plan::Engine::Read, 1, true), "read");
    }
}
