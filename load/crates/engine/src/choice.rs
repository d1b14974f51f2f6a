//! Which engine a run gets.

use super::{Engine as _, Epoll, Uring};
use contend_figures::outcome::Failure;
use contend_plan;
use contend_reactor::wait::Waker;
use std::io;

/// The engine of a run.
#[derive(Debug)]
pub struct Choice {
    pub name: &'static str,
    /// Why it is not io_uring, if the kernel refused that.
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

/// The engine to use: the one the plan names; else io_uring if the kernel lets a worker have a ring
/// for its `sockets`, else epoll. It is the same for few connections and for many, so that they can
/// be compared.
///
/// # Errors
/// The plan names an engine that the kernel refuses.
pub fn choose(wanted: contend_plan::Engine, sockets: usize) -> Result<Choice, Failure> {
    let ring = || Uring::new(sockets, Waker::new()?.descriptor()?);
    match wanted {
        contend_plan::Engine::Epoll => Ok(Choice::of(Epoll::NAME)),
        contend_plan::Engine::Auto => Ok(match ring() {
            Ok(_) => Choice::of(Uring::NAME),
            Err(error) => Choice {
                name: Epoll::NAME,
                refused: Some(error),
            },
        }),
        contend_plan::Engine::IoUring => match ring() {
            Ok(_) => Ok(Choice::of(Uring::NAME)),
            Err(error) => Err(Failure {
                hint: Some("set engine = \"auto\"".to_owned()),
                ..Failure::plain(format!("the kernel refuses io_uring: {error}"))
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_choice_is_the_same_for_any_number_of_sockets() {
        let chosen = |sockets| choose(contend_plan::Engine::Auto, sockets).unwrap().name;
        assert_eq!(chosen(1), chosen(64));
        assert_eq!(chosen(512), chosen(64));
        assert_eq!(
            choose(contend_plan::Engine::Epoll, 64).unwrap().name,
            "epoll"
        );
    }
}
