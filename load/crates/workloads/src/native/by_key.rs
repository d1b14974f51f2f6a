//! The requests of a native workload over HandlerSocket: a session opens an index for each of its
//! queries, and asks by key what they mean.

use crate::statement::Parameters;
use contend_client::request::Reply;
use contend_wire::Value;
use contend_wire::handler_socket::{IndexName, find, put_any_of, put_limit, put_update};

/// Most rows of one answer.
const ROWS_MAX: u64 = u32::MAX as u64;

/// The places of a run's servers: HandlerSocket has a port for reading and one for writing.
const READS: u16 = 0;
const WRITES: u16 = 1;

/// What a query does, if it can be asked by key. Its values come in the order of its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAccess {
    /// The `c` of an id.
    PointSelect,
    /// The whole rows whose `k` is one of the values.
    Points,
    /// Sets the `c` of an id, which comes second.
    NonIndexUpdate,
}

/// The index that a query goes by, and the columns that it reads or writes.
#[derive(Clone, Debug)]
pub struct KeyQuery {
    access: KeyAccess,
    table: String,
    index: String,
    columns: &'static str,
}

impl KeyQuery {
    pub fn new(table: &str, access: KeyAccess) -> Self {
        let (index, columns) = match access {
            KeyAccess::Points => (secondary_key(table), "id,k,c,pad"),
            _ => ("PRIMARY".to_owned(), "c"),
        };
        Self {
            access,
            table: table.to_owned(),
            index,
            columns,
        }
    }

    pub fn index<'a>(&'a self, number: u32, database: &'a str) -> IndexName<'a> {
        IndexName {
            number,
            database,
            table: &self.table,
            index: &self.index,
            columns: self.columns,
        }
    }

    pub fn port(&self) -> u16 {
        match self.access {
            KeyAccess::NonIndexUpdate => WRITES,
            _ => READS,
        }
    }

    pub fn put(&self, out: &mut Vec<u8>, number: u32, values: &Parameters) -> Reply {
        let mut digits = [(); 2].map(|()| itoa::Buffer::new());
        let [first, other] = &mut digits;
        match self.access {
            KeyAccess::NonIndexUpdate => {
                let mut values = values.values();
                let (text, id) = (values.next(), values.next());
                let found = find(out, number, bytes_of(id, first));
                put_update(put_limit(found, 1), &[bytes_of(text, other)]);
                Reply::Changed
            }
            KeyAccess::Points => {
                let mut keys = values.values().map(|value| value.as_int().unwrap_or(0));
                let key = first.format(keys.clone().next().unwrap_or(0)).as_bytes();
                let found = put_limit(find(out, number, key), ROWS_MAX);
                put_any_of(found, 0, &mut keys).end();
                Reply::Counts
            }
            KeyAccess::PointSelect => {
                let id = bytes_of(values.values().next(), first);
                put_limit(find(out, number, id), 1).end();
                Reply::Counts
            }
        }
    }

    /// As in the plugin's own description: the key and its purpose.
    pub fn text(&self, number: u32, values: &Parameters, database: &str) -> String {
        let mut request = Vec::new();
        self.put(&mut request, number, values);
        let request = String::from_utf8_lossy(&request);
        let request = request.trim_end().replace('\t', " ");
        let Self { table, index, .. } = self;
        format!("{request} (index {index} of {database}.{table})")
    }
}

/// The opening of an index as text.
pub fn index_text(opened: &IndexName<'_>) -> String {
    let IndexName {
        database,
        table,
        index,
        columns,
        ..
    } = opened;
    format!("open_index {database}.{table} {index} ({columns})")
}

/// The name that both kinds of tables give their key on k.
fn secondary_key(table: &str) -> String {
    let number = table.trim_start_matches(|c: char| !c.is_ascii_digit());
    match number.is_empty() {
        true => "k".to_owned(),
        false => format!("k_{number}"),
    }
}

fn bytes_of<'v>(value: Option<Value<'v>>, digits: &'v mut itoa::Buffer) -> &'v [u8] {
    match value {
        Some(Value::Int(number)) => digits.format(number).as_bytes(),
        Some(Value::Bytes(bytes)) => bytes,
        _ => b"",
    }
}
