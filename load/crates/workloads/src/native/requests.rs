//! The requests of a native session, in the protocol of the plan.

use super::by_key::{KeyQuery, index_text};
use super::{Carries, OpenEvent, QueryText, Way};
use crate::statement::{Parameters, Statement, only_touches_rows};
use contend_client::request::{Class, LinkNumber, Reply, Request};
use contend_plan::Protocol;
use contend_wire::handler_socket::{IndexName, put_open};
use contend_wire::mysql::command;
use contend_wire::{Capabilities, Prepared, WireError};
use std::sync::Arc;

/// A query as a session asks it.
#[derive(Clone)]
pub(super) struct AskedRequest {
    class: Class,
    pub is_text: bool,
    form: RequestForm,
    statement: Statement,
}

#[derive(Clone)]
enum RequestForm {
    Sql(Carries),
    /// By HandlerSocket, which has no statements.
    Key(Arc<KeyQuery>),
}

impl AskedRequest {
    pub fn new(query: QueryText, key: Option<KeyQuery>) -> Self {
        Self {
            class: Class::Of(query.class),
            is_text: query.is_text,
            form: match key {
                Some(key) => RequestForm::Key(Arc::new(key)),
                None => RequestForm::Sql(query.carries),
            },
            statement: Statement::new(query.pieces),
        }
    }

    /// As text, which has a form for all values.
    #[cfg(test)]
    pub fn as_text(&self) -> Self {
        Self {
            form: RequestForm::Sql(Carries::One),
            ..self.clone()
        }
    }

    fn key(&self) -> Option<&KeyQuery> {
        match &self.form {
            RequestForm::Key(key) => Some(key),
            RequestForm::Sql(_) => None,
        }
    }

    pub fn is_by_key(&self) -> bool {
        self.key().is_some()
    }

    pub fn is_one_request(&self) -> bool {
        use Carries::{File, Pipeline};
        !matches!(self.form, RequestForm::Sql(Pipeline | File { .. }))
    }

    /// It leaves no trace in the state of its connection: no open transaction, no variable.
    pub fn only_touches_rows(&self) -> bool {
        only_touches_rows(self.statement.sql())
    }

    pub fn offers_file(&self) -> bool {
        matches!(self.form, RequestForm::Sql(Carries::File { .. }))
    }
}

/// The queries and links of a session.
pub(super) struct Requests {
    /// The kind's queries, once for each link.
    queries: Box<[AskedRequest]>,
    queries_of_link: usize,
    /// One link to each node; or, by key, to each port that the queries need.
    links: Box<[RequestLink]>,
    way: Arc<Way>,
}

#[derive(Clone, Copy)]
struct RequestLink {
    server: u16,
    is_set_up: bool,
    capabilities: Capabilities,
}

impl Requests {
    pub fn new(queries: &[AskedRequest], way: Arc<Way>) -> Self {
        let mut servers: Vec<u16> = queries
            .iter()
            .filter_map(|query| Some(query.key()?.port()))
            .collect();
        servers.sort_unstable();
        servers.dedup();
        if servers.is_empty() {
            servers.extend(0..way.route.nodes());
        }
        let link = |server| RequestLink {
            server,
            is_set_up: false,
            capabilities: Capabilities::NONE,
        };
        Self {
            queries: vec![queries; servers.len()].concat().into(),
            queries_of_link: queries.len(),
            links: servers.into_iter().map(link).collect(),
            way,
        }
    }

    /// The first server to which there is no link.
    pub fn first_closed(&self) -> Option<u16> {
        let mut links = self.links.iter();
        links.find(|link| !link.is_set_up).map(|link| link.server)
    }

    /// A link is open. False: its server has no bulk execute, and a query needs one.
    pub fn open(&mut self, link: LinkNumber, capabilities: Capabilities) -> bool {
        if let Some(link) = self.links.get_mut(usize::from(link)) {
            link.capabilities = capabilities;
        }
        let is_bulk = |query: &AskedRequest| matches!(query.form, RequestForm::Sql(Carries::Bulk));
        capabilities.has(Capabilities::MARIADB_STMT_BULK) || !self.queries.iter().any(is_bulk)
    }

    /// Puts the first request from number `from` on for the setup of a link: the statements that a
    /// connection begins with, and a preparation for each query; or all indexes at once. Returns
    /// its number and reply; none if there are no more.
    pub fn put_set_up(
        &self,
        link: LinkNumber,
        from: usize,
        out: &mut Vec<u8>,
    ) -> Option<(usize, Reply)> {
        if self.of_link(link).any(AskedRequest::is_by_key) {
            return (from == 0).then(|| (0, Reply::Several(self.put_indexes(link, out))));
        }
        if let Some(sql) = self.way.init.get(from) {
            command::query(out, sql.as_bytes());
            return Some((from, Reply::Counts));
        }
        if self.way.protocol != Protocol::Prepared {
            return None;
        }
        let first = self.way.init.len();
        let mut left = self.of_link(link).enumerate().skip(from - first);
        let (place, query) = left.find(|(_, query)| !query.is_text)?;
        query.statement.put_prepare(out);
        Some((first + place, Reply::Prepared))
    }

    /// Opens the indexes of the queries that go by this link's port. Returns their number.
    fn put_indexes(&self, link: LinkNumber, out: &mut Vec<u8>) -> u32 {
        let mut count = 0;
        for index in self.indexes(link) {
            put_open(out, &index);
            count += 1;
        }
        count
    }

    fn indexes(&self, link: LinkNumber) -> impl Iterator<Item = IndexName<'_>> {
        let server = self.links.get(usize::from(link)).map(|link| link.server);
        let queries = (0..).zip(self.of_link(link));
        let keys = queries.filter_map(|(number, query)| Some((number, query.key()?)));
        let of_port = keys.filter(move |(_, key)| Some(key.port()) == server);
        of_port.map(|(number, key)| key.index(number, &self.way.database))
    }

    /// Request `number` of a link's setup is answered.
    pub fn set_prepared(&mut self, link: LinkNumber, number: usize, prepared: Option<Prepared>) {
        let query = number.checked_sub(self.way.init.len());
        let place = query.map(|query| self.place(link, query));
        let query = place.and_then(|place| self.queries.get_mut(place));
        if let (Some(query), Some(prepared)) = (query, prepared) {
            query.statement.set_prepared(prepared);
        }
    }

    pub fn set_up(&mut self, link: LinkNumber) {
        if let Some(link) = self.links.get_mut(usize::from(link)) {
            link.is_set_up = true;
        }
    }

    /// The link is gone, and so are its prepared statements.
    pub fn forget(&mut self, link: LinkNumber) {
        let (first, end) = (self.place(link, 0), self.place(link, self.queries_of_link));
        let queries = self.queries.get_mut(first..end).into_iter().flatten();
        queries.for_each(|query| query.statement.forget());
        if let Some(link) = self.links.get_mut(usize::from(link)) {
            link.is_set_up = false;
        }
    }

    fn place(&self, link: LinkNumber, query: usize) -> usize {
        usize::from(link) * self.queries_of_link + query
    }

    fn of_link(&self, link: LinkNumber) -> impl Iterator<Item = &AskedRequest> {
        let all = self.queries.iter().skip(self.place(link, 0));
        all.take(self.queries_of_link)
    }

    /// The link for a query of an event, if there are several.
    #[cold]
    fn link_of(&self, query: usize, event: &OpenEvent) -> LinkNumber {
        let key = self.queries.get(query).and_then(|query| query.key());
        let Some(key) = key else {
            return self.way.route.node_of(event);
        };
        let mut links = self.links.iter();
        let link = links.position(|link| link.server == key.port());
        link.unwrap_or_default() as LinkNumber
    }

    /// Puts a query of an event.
    #[inline(always)]
    pub fn put(
        &mut self,
        number: usize,
        event: &OpenEvent,
        values: &Parameters,
        out: &mut Vec<u8>,
    ) -> Result<Request, WireError> {
        let (mut link, mut place) = (0, number);
        if self.links.len() > 1 {
            link = self.link_of(number, event);
            place = self.place(link, number);
        }
        let Some(query) = self.queries.get_mut(place) else {
            return Err(WireError::ours("a query that the workload does not have"));
        };
        let (mut reply, class) = (Reply::Counts, query.class);
        match &query.form {
            RequestForm::Key(key) => reply = key.put(out, number as u32, values),
            RequestForm::Sql(Carries::One) => query.statement.put(out, values)?,
            RequestForm::Sql(Carries::Bulk) => query.statement.put_in_bulk(out, values)?,
            RequestForm::Sql(Carries::Pipeline) => {
                if let several @ 2.. = query.statement.sets(values) {
                    reply = Reply::Several(several);
                }
                query.statement.put_each(out, values)?;
            }
            // Its values follow when the server asks for them.
            RequestForm::Sql(Carries::File { .. }) => {
                query.statement.put(out, &Parameters::default())?
            }
        }
        Ok(Request {
            link,
            class,
            reply,
            ends: None,
        })
    }

    /// How an answer's rows are written: the capabilities of its link, and whether the query was
    /// prepared.
    #[inline(always)]
    pub fn form(&self, link: LinkNumber, query: usize) -> (Capabilities, bool) {
        let query = self.queries.get(self.place(link, query));
        let link = self.links.get(usize::from(link));
        (
            link.map_or(Capabilities::NONE, |link| link.capabilities),
            query.is_some_and(|query| query.statement.is_prepared()),
        )
    }

    /// A query as text, with its values or, if they are gone, as the workload has it.
    pub fn text(&self, number: usize, values: Option<&Parameters>) -> String {
        let Some(query) = self.queries.get(number) else {
            return String::new();
        };
        match (query.key(), values) {
            (Some(key), Some(values)) => key.text(number as u32, values, &self.way.database),
            (None, Some(values)) => query.statement.text(values),
            (_, None) => query.statement.sql().to_owned(),
        }
    }

    /// A request of the setup as text; of several indexes the last.
    pub fn set_up_text(&self, link: LinkNumber, number: usize) -> String {
        if let Some(index) = self.indexes(link).last() {
            return index_text(&index);
        }
        match self.way.init.get(number) {
            Some(sql) => sql.clone(),
            None => format!("PREPARE {}", self.text(number - self.way.init.len(), None)),
        }
    }

    /// The columns of the file that a query loads.
    pub fn file_columns(&self, query: usize) -> Option<u16> {
        match self.queries.get(query)?.form {
            RequestForm::Sql(Carries::File { columns }) => Some(columns),
            _ => None,
        }
    }
}
