//! Replays the events of a seed, one after the other on one connection, and checks every answer.
//!
//! The requests are those of the load, byte by byte: they come from the same session. The expected
//! answers come from a copy of the tables ([`TableCopy`]). It is read before the first event,
//! answers every question a second time, and must equal the tables at the end. For the user's own
//! statements only the server knows the answer; those that read are sent again as text, and must
//! give the same answer.

use super::job::{At, Setup};
use crate::outcome::{Failure, Validated, WrongAnswer};
use crate::sql::begins_with;
use crate::talk::blocking::{ControlConnection, Whole, endless};
use crate::talk::failure;
use crate::workload::model::{Expected, Row, TableCopy};
use crate::workload::replay::{Meaning, Question, Replay};
use crate::workload::{Answer, Call, Reply, Request, SeatPlace, Session, Step, Tongue, Verdict};

/// Rows of all tables together. Their copy takes about 400 bytes each.
const ROWS_MAX: usize = 4_000_000;
/// Wrong answers that are reported whole.
const EXAMPLES_MAX: usize = 10;
const EXAMPLE_BYTES_MAX: usize = 1000;
/// An id that there is already.
const DUPLICATE: u16 = 1062;

/// Replays the first `events` events of the setup's seed.
///
/// # Errors
/// The answers cannot be read or checked. A wrong answer is not an error: it is counted.
pub fn validate(setup: &Setup, events: u64) -> Result<Validated, Failure> {
    let asked = &setup.arms.first;
    if asked.named_nodes().next().is_some() {
        return Err(Failure::plain(
            "nodes: a replay uses one server; remove them",
        ));
    }
    if asked.workload.tongue() != Tongue::Sql {
        return Err(Failure::plain(
            "load.protocol: a replay needs SQL; remove \"handler_socket\"",
        ));
    }
    let Some(replay) = asked.workload.replay() else {
        return Err(Failure::plain(
            "the events of this workload cannot be repeated",
        ));
    };
    let mut target = setup.target(At::default()).clone();
    // Rows are read by the definitions that come with each answer.
    target.options.cache_metadata = false;
    let mut connection = ControlConnection::open(&target)?;
    let copies = read_tables(&mut connection, replay.tables())?;
    let seat = SeatPlace {
        index: 0,
        count: 1,
        worker: 0,
        seed: setup.seed,
    };
    let session = asked.workload.session(seat)?;
    let mut replayer = Replayer {
        setup,
        connection,
        session,
        copies,
        found: Validated::default(),
    };
    replayer.set_up()?;
    for cycle in 0..events {
        replayer.event(replay, cycle)?;
    }
    replayer.compare_tables(replay.tables())?;
    Ok(replayer.found)
}

struct Replayer<'s> {
    setup: &'s Setup,
    connection: ControlConnection,
    session: Box<dyn Session>,
    copies: Vec<TableCopy>,
    found: Validated,
}

impl Replayer<'_> {
    /// Lets the session prepare its statements.
    fn set_up(&mut self) -> Result<(), Failure> {
        let mut out = Vec::new();
        let mut step = self.session.next(Call::Start, &mut out);
        loop {
            step = match step {
                Step::Connect(_) => {
                    let call = Call::Connected {
                        link: 0,
                        capabilities: self.connection.agreed().capabilities,
                    };
                    self.session.next(call, &mut out)
                }
                Step::Send(request) => {
                    let answer = self.ask(&request, &out)?;
                    if let Some(error) = &answer.error {
                        return Err(failure::of_statement(error, self.session.statement()));
                    }
                    out.clear();
                    self.session.next(Call::Answer(&heard(&answer)), &mut out)
                }
                Step::Ready => return Ok(()),
                other => return Err(unexpected(&other)),
            };
        }
    }

    /// Replays one event and checks its answers.
    fn event(&mut self, replay: &dyn Replay, cycle: u64) -> Result<(), Failure> {
        let mut questions = replay.questions(self.setup.seed, cycle).into_iter();
        self.found.events += 1;
        let mut out = Vec::new();
        let mut step = self.session.next(
            Call::Event {
                cycle,
                late_ns: 0,
                counts: true,
            },
            &mut out,
        );
        loop {
            let request = match step {
                Step::Send(request) => request,
                Step::EventEnd(_) | Step::Ready => return Ok(()),
                other => return Err(unexpected(&other)),
            };
            let answer = self.ask(&request, &out)?;
            let Some(question) = questions.next() else {
                return Err(Failure::plain("an event sent unexpected statements"));
            };
            self.check(cycle, &question, &answer)?;
            if request.ends.is_some() {
                return Ok(());
            }
            out.clear();
            step = self.session.next(Call::Answer(&heard(&answer)), &mut out);
        }
    }

    fn ask(&mut self, request: &Request, packets: &[u8]) -> Result<Whole, Failure> {
        let reply = match request.reply {
            Reply::Prepared => Reply::Prepared,
            Reply::Several(requests) => Reply::Several(requests),
            Reply::Counts | Reply::Changed | Reply::Whole | Reply::Nothing => Reply::Whole,
        };
        self.connection.whole(packets, reply, &mut endless)
    }

    fn check(&mut self, cycle: u64, question: &Question, answer: &Whole) -> Result<(), Failure> {
        self.found.statements += 1;
        self.found.rows += answer.rows.len() as u64;
        let expected = match self.copies.get_mut(question.table) {
            Some(copy) => copy.answer(question, answer.summary.last_insert_id),
            None if question.meaning == Meaning::Frame => Expected::Changed(0),
            None => Expected::Anything,
        };
        let expected = match expected {
            Expected::Anything => match self.ask_again(answer)? {
                Some(again) => again,
                None => {
                    self.found.unchecked += 1;
                    return Ok(());
                }
            },
            known => known,
        };
        if !is_right(&expected, answer) {
            let statement = self.session.statement();
            self.wrong(cycle, statement, told(&expected), told_of(answer));
        }
        Ok(())
    }

    /// The answer to the same statement as text, where it only reads.
    fn ask_again(&mut self, answer: &Whole) -> Result<Option<Expected>, Failure> {
        let sql = self.session.statement();
        if answer.error.is_some() || answer.summary.columns == 0 || !only_reads(&sql) {
            return Ok(None);
        }
        let rows = self.connection.rows(&sql, &mut endless)?;
        Ok(Some(Expected::Rows {
            rows,
            ordered: false,
        }))
    }

    /// The tables must equal the copies after the writes.
    fn compare_tables(&mut self, names: &[String]) -> Result<(), Failure> {
        let now = read_tables(&mut self.connection, names)?;
        let copies = std::mem::take(&mut self.copies);
        for ((name, copy), now) in names.iter().zip(&copies).zip(&now) {
            if copy == now {
                continue;
            }
            let (expected, found) = first_difference(copy, now);
            let statement = format!("the table {name} at the end");
            self.wrong(self.found.events, statement, expected, found);
        }
        Ok(())
    }

    fn wrong(&mut self, cycle: u64, statement: String, expected: String, found: String) {
        self.found.wrong += 1;
        if self.found.examples.len() < EXAMPLES_MAX {
            self.found.examples.push(WrongAnswer {
                cycle,
                statement: shortened(statement),
                expected: shortened(expected),
                found: shortened(found),
            });
        }
    }
}

/// An answer in the form that sessions get it.
fn heard(answer: &Whole) -> Answer<'_> {
    Answer {
        summary: answer.summary,
        error: answer.error.as_ref(),
        verdict: Verdict::Ignore,
        prepared: answer.prepared,
        bytes: None,
    }
}

fn unexpected(step: &Step) -> Failure {
    match step {
        Step::Fail(failure) => (**failure).clone(),
        other => Failure::plain(format!("a replay cannot follow {other:?}")),
    }
}

/// Copies of the tables, in the order of their names.
fn read_tables(
    connection: &mut ControlConnection,
    names: &[String],
) -> Result<Vec<TableCopy>, Failure> {
    let mut room = ROWS_MAX;
    names
        .iter()
        .map(|name| read_table(connection, name, &mut room))
        .collect()
}

fn read_table(
    connection: &mut ControlConnection,
    name: &str,
    room: &mut usize,
) -> Result<TableCopy, Failure> {
    let mut copy = TableCopy::default();
    let mut take = |row: Vec<Option<String>>| {
        *room = room.checked_sub(1).ok_or_else(|| Failure {
            hint: Some("replay the same workload on smaller tables".to_owned()),
            ..Failure::plain(format!(
                "the tables have more than {ROWS_MAX} rows, too many to copy"
            ))
        })?;
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        let mut next = || values.next().unwrap_or_default();
        let (id, k) = (next().parse().ok(), next().parse().ok());
        let row = Row {
            k: k.unwrap_or_default(),
            c: next(),
            pad: next(),
        };
        if id.is_some_and(|id| copy.insert(id, row)) {
            return Ok(());
        }
        Err(Failure::plain(format!(
            "the ids of {name} are not distinct whole numbers, so its rows cannot be identified"
        )))
    };
    let sql = format!("SELECT id, k, c, pad FROM {name}");
    connection.each_row(&sql, &mut take, &mut endless)?;
    Ok(copy)
}

fn is_right(expected: &Expected, answer: &Whole) -> bool {
    match (expected, &answer.error) {
        (Expected::Duplicate, Some(error)) => error.code == DUPLICATE,
        (Expected::Duplicate, None) | (_, Some(_)) => false,
        (Expected::Changed(count), None) => {
            answer.rows.is_empty() && answer.summary.affected_rows == *count
        }
        (Expected::Rows { rows, ordered }, None) => {
            are_alike(rows, &answer.rows) || (!ordered && are_alike_in_any_order(rows, answer))
        }
        (Expected::Anything, None) => true,
    }
}

fn are_alike_in_any_order(rows: &[Vec<Option<String>>], answer: &Whole) -> bool {
    let (mut rows, mut found) = (rows.to_vec(), answer.rows.clone());
    rows.sort();
    found.sort();
    are_alike(&rows, &found)
}

fn are_alike(rows: &[Vec<Option<String>>], found: &[Vec<Option<String>>]) -> bool {
    let value = |(a, b): (&Option<String>, &Option<String>)| match (a, b) {
        (Some(a), Some(b)) => is_same_value(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let row = |(a, b): (&Vec<Option<String>>, &Vec<Option<String>>)| {
        a.len() == b.len() && a.iter().zip(b).all(value)
    };
    rows.len() == found.len() && rows.iter().zip(found).all(row)
}

/// The two protocols spell some numbers and times differently.
fn is_same_value(a: &str, b: &str) -> bool {
    let bare = |text: &str| {
        let is_time = text.contains(':');
        let text = if is_time && text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            text
        };
        text.trim_end_matches(" 00:00:00").to_owned()
    };
    a == b
        || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
        || bare(a) == bare(b)
}

/// True for statements that change nothing, by their first word.
fn only_reads(sql: &str) -> bool {
    begins_with(sql.as_bytes(), &["SELECT", "WITH", "SHOW"])
}

fn told(expected: &Expected) -> String {
    match expected {
        Expected::Rows { rows, .. } => rows_in_words(rows),
        Expected::Changed(count) => format!("{count} rows changed"),
        Expected::Duplicate => format!("error {DUPLICATE}"),
        Expected::Anything => "anything".to_owned(),
    }
}

fn told_of(answer: &Whole) -> String {
    match &answer.error {
        Some(error) => error.to_string(),
        None if answer.summary.columns > 0 => rows_in_words(&answer.rows),
        None => format!("{} rows changed", answer.summary.affected_rows),
    }
}

fn rows_in_words(rows: &[Vec<Option<String>>]) -> String {
    let row = |row: &Vec<Option<String>>| {
        let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
        format!("({})", values.collect::<Vec<_>>().join(", "))
    };
    let shown: Vec<String> = rows.iter().take(20).map(row).collect();
    format!("{} rows: {}", rows.len(), shown.join(", "))
}

/// The first row that one of two tables has otherwise.
fn first_difference(copy: &TableCopy, now: &TableCopy) -> (String, String) {
    let differing = copy
        .ids()
        .chain(now.ids())
        .find(|id| copy.row(*id) != now.row(*id));
    let row = |table: &TableCopy| {
        let row = differing.and_then(|id| table.row(id));
        rows_in_words(&row.into_iter().collect::<Vec<_>>())
    };
    (row(copy), row(now))
}

fn shortened(mut text: String) -> String {
    if text.len() > EXAMPLE_BYTES_MAX {
        let end = (0..EXAMPLE_BYTES_MAX)
            .rev()
            .find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[&str]) -> Vec<Vec<Option<String>>> {
        texts
            .iter()
            .map(|text| vec![Some((*text).to_owned())])
            .collect()
    }

    fn answered(texts: &[&str]) -> Whole {
        Whole {
            rows: rows(texts),
            ..Whole::default()
        }
    }

    #[test]
    fn order_counts_only_where_it_was_asked_for() {
        let expected = |ordered| Expected::Rows {
            rows: rows(&["1", "2"]),
            ordered,
        };
        assert!(is_right(&expected(true), &answered(&["1", "2"])));
        assert!(is_right(&expected(false), &answered(&["2", "1"])));
        assert!(!is_right(&expected(true), &answered(&["2", "1"])));
        assert!(!is_right(&expected(false), &answered(&["1"])));
        assert!(!is_right(&expected(false), &answered(&["1", "3"])));
        assert!(!is_right(&Expected::Changed(1), &answered(&[])));
    }

    #[test]
    fn spellings_of_one_value_are_one_value() {
        for (a, b) in [
            ("5", "5.0"),
            ("2026-01-02", "2026-01-02 00:00:00.000000"),
            ("2026-01-02 03:04:05", "2026-01-02 03:04:05.000000"),
            ("03:04:05.5", "03:04:05.500000"),
        ] {
            assert!(is_same_value(a, b), "{a} {b}");
        }
        assert!(!is_same_value("10", "1"));
        assert!(!is_same_value("a0", "a"));
    }

    #[test]
    fn what_reads_is_known_by_its_first_word() {
        assert!(only_reads(" (select 1)") && only_reads("WITH a AS (SELECT 1) SELECT 2"));
        assert!(!only_reads("SELECTED") && !only_reads("CALL p()") && !only_reads(""));
    }
}
