//! What the model server answers: one instance a thread.

use super::counts::{Counting, ThreadCounts, Timing};
use super::key_cache::KeyCache;
use super::lists;
use super::model::{ConnectedClient, Model, PreparedMark};
use super::turnstile::Pass;
use super::walk::Walker;
use crate::sql::{
    COLUMNS_MAX, Item, ItemValue, PointKey, SbtestColumn, Selected, TableName, Understood, key,
    understand,
};
use crate::{DATABASE, ModelRow, TABLE, VERSION, refusals};
use contend_reactor::clock::thread_cpu_ns;
use contend_servers::serve::{Answering, Cell, ColumnOut, Refusal, ReplyWriter};
use contend_wire::Value;
use contend_wire::mysql::BoundValues;
use contend_wire::mysql::value::kind;
use std::sync::Arc;
use std::time::Duration;

/// The speed at which nothing is spun.
const FULL_SPEED: f64 = 1.1;

pub struct ModelAnswers {
    model: Arc<Model>,
    counts: Arc<ThreadCounts>,
    pass: Pass<KeyCache>,
    walker: Walker,
    keys: Vec<u32>,
    /// The columns of the last point select that came as text.
    columns: Option<(Selected, Vec<ColumnOut>)>,
    /// CPU time of this thread when its last query was over.
    cpu_ns: u64,
}

pub struct ModelClient {
    number: u32,
    database: Option<Vec<u8>>,
    _connected: ConnectedClient,
}

pub struct ModelPrepared {
    selected: Selected,
    columns: Vec<ColumnOut>,
    by_id: bool,
    wishes: Box<[PointKey]>,
    parameters: u16,
    _mark: PreparedMark,
}

impl ModelAnswers {
    pub fn new(model: &Arc<Model>) -> Self {
        Self {
            model: Arc::clone(model),
            counts: model.counts.begin(),
            pass: model.cache.pass(),
            walker: Walker::new(&model.index),
            keys: Vec::new(),
            columns: None,
            cpu_ns: 0,
        }
    }

    /// Answers the point select whose keys are in `self.keys`.
    fn points(
        &mut self,
        by_id: bool,
        selected: Selected,
        columns: &[ColumnOut],
        reply: &mut ReplyWriter<'_>,
    ) {
        let (model, counts) = (&*self.model, &*self.counts);
        loop {
            if let Some(cache) = self.pass.enter() {
                reply.columns(columns);
                let take = |row: &ModelRow| put_row(row, selected, columns, reply);
                let done = self
                    .walker
                    .look_up(&self.keys, by_id, model, &cache, counts, take);
                match done {
                    Ok(_) => reply.end_of_rows(),
                    Err(error) => reply.error(&unreadable(&error)),
                }
                break;
            }
            let ((), ticks) = model.spinner.timed(|| model.cache.wait_until_open());
            counts.time(Timing::Outside, ticks);
        }
        counts.count(Counting::Queries, 1);
        self.keep_speed();
        self.delay();
    }

    /// Spins until the query has cost as much CPU time as the speed asks for: 1.1 / speed of its
    /// natural cost since the end of the last one.
    #[inline]
    fn keep_speed(&mut self) {
        let Some(speed) = self.model.knobs.speed else {
            return;
        };
        let natural_ns = thread_cpu_ns().saturating_sub(self.cpu_ns);
        self.counts.count(Counting::NaturalCpu, natural_ns);
        let more_ns = natural_ns as f64 * (FULL_SPEED / speed - 1.0);
        let spinner = self.model.spinner;
        self.counts
            .time(Timing::Speed, spinner.spin(spinner.ticks(more_ns)));
        self.cpu_ns = thread_cpu_ns();
    }

    #[inline]
    fn delay(&self) {
        let delay_us = self.model.knobs.delay_us;
        if delay_us > 0 {
            let sleep = || std::thread::sleep(Duration::from_micros(delay_us));
            self.counts
                .time(Timing::Delays, self.model.spinner.timed(sleep).1);
        }
    }

    /// Answers any other statement.
    fn answer(
        &mut self,
        client: &mut ModelClient,
        understood: Understood<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(), Refusal> {
        match understood {
            // Only as text, which is handled before.
            Understood::Points(_) | Understood::Transaction => reply.ok(0),
            Understood::Items(items) => self.items(client, &items, reply)?,
            Understood::Listed(listed) => {
                lists::of(&self.model, listed.list).answer(&listed, reply)?;
            }
            Understood::SetGlobal(assignments) => {
                self.model.set_global(&assignments)?;
                reply.ok(0);
            }
            Understood::SetSession(names) => {
                for name in names {
                    self.model.variables().get(name)?;
                }
                reply.ok(0);
            }
            Understood::Use(database) => {
                choose(client, database)?;
                reply.ok(0);
            }
            Understood::LoadIndex(table) => {
                find_table(client, table)?;
                self.load_index(reply)?;
            }
        }
        Ok(())
    }

    fn load_index(&mut self, reply: &mut ReplyWriter<'_>) -> Result<(), Refusal> {
        let model = &*self.model;
        model
            .load_index(&self.pass.enter_when_open(), &self.counts)
            .map_err(|error| unreadable(&error))?;
        let columns = ["Table", "Op", "Msg_type", "Msg_text"].map(ColumnOut::text);
        let table = format!("{DATABASE}.{TABLE}");
        reply.columns(&columns);
        let texts = [table.as_str(), "preload_keys", "status", "OK"];
        reply.row(&columns, &texts.map(|text| Cell::Text(text.as_bytes())));
        reply.end_of_rows();
        Ok(())
    }

    /// A SELECT without a table.
    fn items(
        &self,
        client: &ModelClient,
        items: &[Item<'_>],
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(), Refusal> {
        let variables = self.model.variables().clone();
        let mut columns = Vec::new();
        let mut cells = Vec::new();
        for item in items {
            let cell = match item.given {
                ItemValue::Number(value) => Cell::Int(value),
                ItemValue::Text(value) => Cell::Text(value),
                ItemValue::Null => Cell::Null,
                ItemValue::Version => Cell::Text(VERSION.as_bytes()),
                ItemValue::ConnectionId => Cell::Int(client.number.into()),
                ItemValue::User => Cell::Text(b"root@localhost"),
                ItemValue::Database => match &client.database {
                    Some(name) => Cell::Text(name),
                    None => Cell::Null,
                },
                ItemValue::Variable(name) => match variables.get(name)? {
                    // A client that selects a switch gets a number.
                    told if told.value == "ON" => Cell::Int(1),
                    told if told.value == "OFF" => Cell::Int(0),
                    told => match told.value.parse() {
                        Ok(number) if told.is_number => Cell::Int(number),
                        _ => Cell::Text(told.value.as_bytes()),
                    },
                },
            };
            let mut column = ColumnOut::text(&String::from_utf8_lossy(item.name));
            if let Cell::Int(_) = cell {
                (column.kind, column.length) = (kind::LONGLONG, 20);
            }
            columns.push(column);
            cells.push(cell);
        }
        reply.columns(&columns);
        reply.row(&columns, &cells);
        reply.end_of_rows();
        Ok(())
    }

    /// Takes the keys of a point select that came as text.
    fn take_keys(&mut self, wishes: impl Iterator<Item = PointKey>) -> Result<(), Refusal> {
        self.keys.clear();
        for wish in wishes {
            match wish {
                PointKey::Key(key) => self.keys.extend(key),
                PointKey::Bound => return Err(refusals::loose_mark()),
            }
        }
        Ok(())
    }

    fn take_bound(
        &mut self,
        wishes: &[PointKey],
        mut values: BoundValues<'_>,
    ) -> Result<(), Refusal> {
        self.keys.clear();
        for wish in wishes {
            let key = match wish {
                PointKey::Key(key) => *key,
                PointKey::Bound => match values.next() {
                    Some(Ok(Value::Int(number))) => u32::try_from(number).ok(),
                    Some(Ok(Value::UInt(number))) => u32::try_from(number).ok(),
                    Some(Ok(Value::Null)) => None,
                    Some(Ok(Value::Bytes(digits))) => {
                        key(digits).ok_or_else(refusals::wrong_argument)?
                    }
                    _ => return Err(refusals::wrong_argument()),
                },
            };
            self.keys.extend(key);
        }
        Ok(())
    }
}

impl Drop for ModelAnswers {
    fn drop(&mut self) {
        self.model.counts.end(&self.counts);
    }
}

impl Answering for ModelAnswers {
    type Client = ModelClient;
    type Statement = ModelPrepared;

    const VERSION: &str = VERSION;

    fn welcome(&mut self, number: u32) -> ModelClient {
        if self.model.knobs.speed.is_some() && self.cpu_ns == 0 {
            self.cpu_ns = thread_cpu_ns();
        }
        ModelClient {
            number,
            database: None,
            _connected: ConnectedClient(Arc::clone(&self.model)),
        }
    }

    fn choose(&mut self, client: &mut ModelClient, database: &[u8]) -> Result<(), Refusal> {
        choose(client, database)
    }

    fn query(&mut self, client: &mut ModelClient, sql: &[u8], reply: &mut ReplyWriter<'_>) {
        self.counts.count(Counting::Questions, 1);
        let answered = match understand(sql) {
            Ok(Understood::Points(select)) => {
                let found = find_table(client, select.table);
                match found.and_then(|()| self.take_keys(select.keys)) {
                    Ok(()) => {
                        let columns = match self.columns.take() {
                            Some((selected, columns)) if selected == select.selected => columns,
                            _ => columns_of(&select.selected),
                        };
                        self.points(select.by_id, select.selected, &columns, reply);
                        self.columns = Some((select.selected, columns));
                        Ok(())
                    }
                    Err(refusal) => Err(refusal),
                }
            }
            Ok(understood) => self.answer(client, understood, reply),
            Err(strange) => Err(refusals::strange(&strange, sql)),
        };
        if let Err(refusal) = answered {
            reply.error(&refusal);
        }
    }

    fn prepare(&mut self, client: &mut ModelClient, sql: &[u8]) -> Result<ModelPrepared, Refusal> {
        let select = match understand(sql) {
            Ok(Understood::Points(select)) => select,
            Ok(_) => return Err(refusals::not_prepared()),
            Err(strange) => return Err(refusals::strange(&strange, sql)),
        };
        find_table(client, select.table)?;
        let wishes: Box<[PointKey]> = select.keys.collect();
        let bound = wishes
            .iter()
            .filter(|wish| **wish == PointKey::Bound)
            .count();
        let parameters = u16::try_from(bound).map_err(|_| {
            let words = "Prepared statement contains too many placeholders";
            Refusal::new(1390, b"HY000", words)
        })?;
        Ok(ModelPrepared {
            selected: select.selected,
            columns: columns_of(&select.selected),
            by_id: select.by_id,
            wishes,
            parameters,
            _mark: PreparedMark::new(&self.model)?,
        })
    }

    fn shape<'s>(&'s self, statement: &'s ModelPrepared) -> (u16, &'s [ColumnOut]) {
        (statement.parameters, &statement.columns)
    }

    fn execute(
        &mut self,
        _client: &mut ModelClient,
        statement: &ModelPrepared,
        values: BoundValues<'_>,
        reply: &mut ReplyWriter<'_>,
    ) {
        self.counts.count(Counting::Questions, 1);
        match self.take_bound(&statement.wishes, values) {
            Ok(()) => {
                let (by_id, selected) = (statement.by_id, statement.selected);
                self.points(by_id, selected, &statement.columns, reply);
            }
            Err(refusal) => reply.error(&refusal),
        }
    }
}

fn choose(client: &mut ModelClient, database: &[u8]) -> Result<(), Refusal> {
    if !database.eq_ignore_ascii_case(DATABASE.as_bytes()) {
        return Err(refusals::unknown_database(database));
    }
    client.database = Some(DATABASE.as_bytes().to_vec());
    Ok(())
}

fn find_table(client: &ModelClient, name: TableName<'_>) -> Result<(), Refusal> {
    let Some(database) = name.database.or(client.database.as_deref()) else {
        return Err(refusals::no_database());
    };
    let is = |name: &[u8], known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    if is(database, DATABASE) && is(name.table, TABLE) {
        return Ok(());
    }
    Err(refusals::unknown_table(database, name.table))
}

fn columns_of(selected: &Selected) -> Vec<ColumnOut> {
    let column = |column: &SbtestColumn| ColumnOut {
        name: column.name().to_owned(),
        kind: match column {
            SbtestColumn::Id | SbtestColumn::K => kind::LONG,
            SbtestColumn::C | SbtestColumn::Pad => kind::STRING,
        },
        length: match column {
            SbtestColumn::Id | SbtestColumn::K => 10,
            SbtestColumn::C => 120,
            SbtestColumn::Pad => 60,
        },
    };
    selected.columns().iter().map(column).collect()
}

#[inline]
fn put_row(row: &ModelRow, selected: Selected, columns: &[ColumnOut], reply: &mut ReplyWriter<'_>) {
    let mut cells = [Cell::Null; COLUMNS_MAX];
    for (cell, column) in cells.iter_mut().zip(selected.columns()) {
        *cell = match column {
            SbtestColumn::Id => Cell::Int(row.id.into()),
            SbtestColumn::K => Cell::Int(row.k.into()),
            SbtestColumn::C => Cell::Text(&row.c),
            SbtestColumn::Pad => Cell::Text(&row.pad),
        };
    }
    reply.row(columns, cells.get(..columns.len()).unwrap_or_default());
}

fn unreadable(error: &std::io::Error) -> Refusal {
    let code = error.raw_os_error().unwrap_or(0);
    let words = format!("Got error {code} '{error}' from storage engine of contend's model server");
    Refusal::new(1030, b"HY000", words)
}
