//! How a state of a script waits that has no events: by blocking its thread.

use super::Servers;
use crate::lua::figures::ThreadFigures;
use crate::lua::run::Run;
use crate::lua::thread_io::{Answered, Connected, TableRows, ThreadIo, Turn};
use contend_client::blocking::{BlockingLink, Broken, endless};
use contend_client::dialect::Dialect as _;
use contend_client::failure::{CANNOT_CONNECT, GONE, client_error, too_many_links};
use contend_client::request::Reply;
use contend_engine::workload;
use contend_engine::workload::EventTimes;
use contend_wire::ServerError;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Waits by blocking.
pub struct BlockingIo {
    run: Arc<Run>,
    servers: Arc<Servers>,
    connections: Vec<Option<BlockingLink>>,
}

impl BlockingIo {
    pub fn new(run: Arc<Run>, servers: Arc<Servers>) -> Self {
        Self {
            run,
            servers,
            connections: Vec::new(),
        }
    }
}

/// Sends a request, and waits for the answer if there will be one. A name that the server sends
/// opens no file of ours: it gets an empty file.
fn ask(
    link: &mut BlockingLink,
    reply: Reply,
    write: &mut dyn FnMut(&mut Vec<u8>),
) -> Result<(), Broken> {
    link.ask(reply, write, &mut endless)?;
    while reply != Reply::Nothing && link.listen(&mut endless)? {
        link.send_file_part(&[], &mut endless)?;
    }
    Ok(())
}

/// A place that is free, and its number.
fn free_place<T>(
    places: &mut Vec<Option<T>>,
) -> Result<(usize, workload::LinkNumber), ServerError> {
    let free = places.iter().position(Option::is_none);
    let place = free.unwrap_or(places.len());
    let number = workload::LinkNumber::try_from(place).map_err(|_| too_many_links())?;
    if free.is_none() {
        places.push(None);
    }
    Ok((place, number))
}

impl ThreadIo for BlockingIo {
    fn connect(&mut self, endpoint: usize) -> Result<Connected, ServerError> {
        let (place, number) = free_place(&mut self.connections)?;
        let target = self.servers.at(endpoint);
        let target = target.ok_or_else(|| client_error(CANNOT_CONNECT, "no server is named"))?;
        let link = BlockingLink::open(&target);
        let link = link.map_err(|broken| broken.server_error(&target.address))?;
        let capabilities = link.link().capabilities().unwrap_or_default();
        if let Some(place) = self.connections.get_mut(place) {
            *place = Some(link);
        }
        Ok(Connected {
            link: number,
            capabilities,
        })
    }

    fn disconnect(&mut self, link: workload::LinkNumber) {
        if let Some(place) = self.connections.get_mut(usize::from(link)) {
            *place = None;
        }
    }

    fn exchange(
        &mut self,
        link: workload::LinkNumber,
        reply: Reply,
        _about: &[u8],
        write: &mut dyn FnMut(&mut Vec<u8>),
        bytes: &mut Vec<u8>,
    ) -> Result<Answered, ServerError> {
        let closed = || client_error(GONE, "the connection is closed");
        let place = self.connections.get_mut(usize::from(link));
        let place = place.ok_or_else(closed)?;
        let connection = place.as_mut().ok_or_else(closed)?;
        if let Err(broken) = ask(connection, reply, write) {
            let error = broken.server_error(connection.address());
            *place = None;
            return Err(error);
        }
        let link = connection.link();
        match reply {
            Reply::Nothing => return Ok(Answered::default()),
            Reply::Whole => bytes.extend_from_slice(link.whole()),
            Reply::Counts | Reply::Changed | Reply::Several(_) | Reply::Prepared => {}
        }
        Ok(Answered {
            error: link.error().cloned().map(Box::new),
            summary: *link.summary(),
            prepared: link.prepared(),
        })
    }

    fn sleep(&mut self, span: Duration) {
        std::thread::sleep(span);
    }

    fn event_ended(&mut self, due: Instant, times: EventTimes, figures: &ThreadFigures) {
        figures.finish(due, times.response_ns);
    }

    fn next_event(&mut self) -> Turn {
        match self.is_over() {
            true => Turn::Over,
            false => Turn::Done,
        }
    }

    fn is_over(&self) -> bool {
        self.run.stop.is_over()
    }

    fn ready(&mut self) {}

    fn fill(&mut self, endpoint: usize, order: &TableRows) -> Option<Result<(), String>> {
        Some(super::fill::fill(&self.servers, endpoint, order))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_thread_has_as_many_connections_as_links_have_numbers() {
        let mut places = vec![Some(()); workload::LINKS_MAX - 1];
        assert_eq!(free_place(&mut places).unwrap(), (65_535, 65_535));
        places[65_535] = Some(());
        let error = free_place(&mut places).unwrap_err();
        assert_eq!(error.message, "a thread has at most 65536 connections");
        places[7] = None;
        assert_eq!(free_place(&mut places).unwrap(), (7, 7));
    }
}
