//! Prepared statements of a connection.

use super::connection::{CallFailed, Connection, OfThread};
use super::emulate::Template;
use super::faces::{Gravity, StatementFace};
use super::statement::{Bound, How, ScriptStatement};
use crate::lua::fixed::Fixed;
use crate::lua::sql::connection;
use crate::lua::thread_io::{Answered, client_error};
use contend_client::request::Reply;
use contend_figures::Counter;
use contend_figures::outcome::one_line;
use contend_wire::mysql;
use contend_wire::mysql::command;

/// The server cannot prepare this kind of statement.
const UNSUPPORTED: u16 = 1295;
/// The client libraries' number for a parameter without a value.
const NO_DATA_FOR_PARAMETERS: u16 = 2031;

impl Connection {
    /// Prepares a statement; an error is reported.
    pub fn prepare(
        &mut self,
        session: &mut OfThread<'_>,
        sql: &[u8],
    ) -> Result<*mut ScriptStatement, CallFailed> {
        self.face.error = Gravity::None;
        let database = &session.run.database;
        let how = if database.dry_run || database.emulate_statements {
            How::Emulated(Template::new(sql))
        } else {
            self.prepare_on_server(session, sql)?
        };
        let face = StatementFace::new(&raw mut self.face);
        let statement = ScriptStatement {
            face,
            anchor: 0,
            sql: sql.to_vec(),
            how,
            bound: Bound::Params(Vec::new()),
            is_closed: false,
        };
        // The place of a closed statement is used again: scripts may prepare without end.
        let free = self
            .statements
            .iter_mut()
            .find(|known| known.is_closed && known.anchor == 0);
        if let Some(place) = free {
            **place = statement;
            return Ok(place.address());
        }
        let place = Fixed::new(statement);
        let handle = place.address();
        self.statements.push(place);
        Ok(handle)
    }

    fn prepare_on_server(
        &mut self,
        session: &mut OfThread<'_>,
        sql: &[u8],
    ) -> Result<How, CallFailed> {
        let link = self.link_or_refuse(session)?;
        let answered = session.io.exchange(
            link.link,
            Reply::Prepared,
            sql,
            &mut |out| command::prepare(out, sql),
            &mut Vec::new(),
        );
        let error = match answered {
            Ok(answered) => match (answered.error, answered.prepared) {
                (None, Some(prepared)) => {
                    return Ok(How::Server {
                        statement: mysql::PreparedStatement::new(prepared),
                        generation: self.generation,
                    });
                }
                (Some(error), _) if error.code == UNSUPPORTED => {
                    return Ok(How::Emulated(Template::new(sql)));
                }
                (Some(error), _) => *error,
                (None, None) => connection::lost(2013),
            },
            Err(error) => error,
        };
        self.keep_error(&error);
        connection::record(session.run, &error, sql);
        session.run.log.fatal("mysql_stmt_prepare() failed");
        session.run.log.fatal(&format!(
            "MySQL error: {} \"{}\"",
            error.code,
            one_line(&error.message)
        ));
        self.face.error = Gravity::Fatal;
        Err(CallFailed)
    }

    /// Executes a statement of this connection; true if it has a result set.
    ///
    /// # Safety
    /// The parameters that are bound to the statement are alive.
    pub unsafe fn execute(
        &mut self,
        session: &mut OfThread<'_>,
        statement: &mut ScriptStatement,
    ) -> Result<bool, CallFailed> {
        self.begin();
        if session.run.database.dry_run {
            session.figures.count(Counter::Other);
            return Ok(false);
        }
        if let How::Emulated(template) = &statement.how {
            let mut sql = Vec::with_capacity(statement.sql.len() + 64);
            // SAFETY: as the caller promises.
            let values =
                (0..statement.bound.len()).map(|place| unsafe { statement.bound.value(place) });
            template.write(&mut sql, values);
            return self.query(session, &sql);
        }
        let link = self.link_or_refuse(session)?;
        self.prepare_again(session, statement)?;
        let How::Server {
            statement: prepared,
            ..
        } = &mut statement.how
        else {
            return self.take_counts(session, &statement.sql, Ok(Answered::default()));
        };
        let bound = &statement.bound;
        if bound.len() != prepared.parameters() {
            let error = client_error(
                NO_DATA_FOR_PARAMETERS,
                "No data supplied for parameters in prepared statement",
            );
            let answered = Answered {
                error: Some(Box::new(error)),
                ..Answered::default()
            };
            return self.take_counts(session, &statement.sql, Ok(answered));
        }
        let answered = session.io.exchange(
            link.link,
            Reply::Counts,
            &statement.sql,
            &mut |out| {
                // SAFETY: as the caller promises. The count was checked, so nothing can fail.
                let values = (0..bound.len()).map(|place| unsafe { bound.value(place) });
                let written = prepared.execute_each(out, values);
                debug_assert!(written.is_ok());
            },
            &mut Vec::new(),
        );
        self.result.statement = &raw mut statement.face;
        self.take_counts(session, &statement.sql, answered)
    }

    /// A statement that was prepared before the connection was lost is prepared again.
    fn prepare_again(
        &mut self,
        session: &mut OfThread<'_>,
        statement: &mut ScriptStatement,
    ) -> Result<(), CallFailed> {
        match &statement.how {
            How::Server { generation, .. } if *generation != self.generation => {
                statement.how = self.prepare_on_server(session, &statement.sql)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Frees a statement on the server. Its handle must not be used any more.
    pub fn close_statement(&mut self, session: &mut OfThread<'_>, statement: &mut ScriptStatement) {
        if statement.is_closed {
            return;
        }
        statement.is_closed = true;
        statement.bound = Bound::Params(Vec::new());
        if let How::Server {
            statement,
            generation,
        } = &statement.how
            && *generation == self.generation
            && let Ok(link) = self.link_or_refuse(session)
        {
            let id = statement.id;
            // Nothing is answered, so nothing can fail but the connection: the next call sees it.
            let _ = session.io.exchange(
                link.link,
                Reply::Nothing,
                &[],
                &mut |out| command::close_statement(out, id),
                &mut Vec::new(),
            );
        }
    }
}
