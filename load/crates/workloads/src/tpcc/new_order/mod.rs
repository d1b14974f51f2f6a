//! New-Order (clause 2.4): an order of 5 to 15 lines, each with its stock.
//!
//! Lines are worked off in the order of their stock rows, so two orders never wait for each other
//! over stock. The item that is not there is that of the last line, and all lines before it are
//! done before the order is taken back.

mod line;
mod wordings;

use super::book::Book;
use super::deck::Card;
use super::facts::{DISTRICTS, Facts, Who};
use super::keys::{Ask, Keys};
use crate::native::{EventEnd, NextStep, Said, WhyAsked};
use crate::statement::{Parameters, cents_of};
use contend_random::Stream;
use contend_random::nurand::A_OL_I_ID;
use line::{Line, Stock};
use wordings::NewOrderStep;
pub use wordings::wordings;

pub const LINES_MIN: usize = 5;
pub const LINES_MAX: usize = 15;
const QUANTITY_MAX: u64 = 10;

#[derive(Debug)]
pub struct NewOrder {
    step: NewOrderStep,
    warehouse: u64,
    district: u64,
    customer: u64,
    lines: [Line; LINES_MAX],
    count: usize,
    /// The item of the last line is not there.
    rolls_back: bool,
    order: u64,
    /// The line in progress.
    line: usize,
}

impl NewOrder {
    pub fn draw(keys: &Keys, facts: &Facts, warehouse: u64, stream: &mut Stream) -> Self {
        let district = stream.uniform(1, DISTRICTS);
        let customer = Who::draw_id(facts, stream);
        let count = stream.uniform(LINES_MIN as u64, LINES_MAX as u64) as usize;
        let rolls_back = stream.below(100) < u64::from(keys.rollbacks_percent);
        let mut lines = [Line::default(); LINES_MAX];
        for line in lines.iter_mut().take(count) {
            line.item = stream.nurand(A_OL_I_ID, facts.constants.ol_i_id, 1, facts.items);
            let is_remote = stream.below(100) < u64::from(keys.remote_lines_percent);
            line.supplier = match is_remote {
                true => facts.other_warehouse(warehouse, stream),
                false => warehouse,
            };
            line.quantity = stream.uniform(1, QUANTITY_MAX);
        }
        let there = count - usize::from(rolls_back);
        if let Some(lines) = lines.get_mut(..there) {
            lines.sort_unstable_by_key(|line| (line.supplier, line.item));
        }
        if let (true, Some(last)) = (rolls_back, lines.get_mut(there)) {
            last.item = facts.items + 1;
        }
        Self {
            step: NewOrderStep::Begin,
            warehouse,
            district,
            customer,
            lines,
            count,
            rolls_back,
            order: 0,
            line: 0,
        }
    }

    pub fn next(&mut self, heard: WhyAsked<'_>, book: &Book, values: &mut Parameters) -> NextStep {
        match heard {
            WhyAsked::Said(said) => {
                if let Err(missing) = self.hear(said, book.ask) {
                    return NextStep::Broken(missing);
                }
                if self.step == NewOrderStep::Call {
                    return NextStep::End(self.end());
                }
                self.step = self.after(book.ask);
            }
            WhyAsked::Begin | WhyAsked::Unheard if book.ask == Ask::Procedure => {
                self.step = NewOrderStep::Call
            }
            WhyAsked::Begin | WhyAsked::Unheard => {}
        }
        self.put(values, book.ask);
        let place = book.place(Card::NewOrder, self.step as usize, self.variant());
        match self.step {
            NewOrderStep::Commit | NewOrderStep::Rollback => NextStep::last(place, self.end()),
            NewOrderStep::Customer
            | NewOrderStep::District
            | NewOrderStep::Item
            | NewOrderStep::Items
            | NewOrderStep::Stock
            | NewOrderStep::Stocks
            | NewOrderStep::Call => NextStep::read(place),
            _ => NextStep::in_turn(place, false),
        }
    }

    fn end(&self) -> EventEnd {
        match self.rolls_back {
            true => EventEnd::RolledBack,
            false => EventEnd::Done,
        }
    }

    /// Lines whose item is there.
    fn there(&self) -> usize {
        self.count - usize::from(self.rolls_back)
    }

    /// The warehouses that supply its lines.
    pub fn suppliers(&self) -> impl Iterator<Item = u64> {
        self.lines().iter().map(|line| line.supplier)
    }

    fn lines(&self) -> &[Line] {
        self.lines.get(..self.there()).unwrap_or_default()
    }

    fn line(&self) -> Line {
        self.lines.get(self.line).copied().unwrap_or_default()
    }

    /// Which text of the step: those of lists are by the number of lines.
    fn variant(&self) -> usize {
        match self.step {
            NewOrderStep::Items => self.count - LINES_MIN,
            NewOrderStep::Stocks => self.there().max(LINES_MIN) - LINES_MIN,
            // One line less if the item of the last one is not there.
            NewOrderStep::Lines => self.there() - (LINES_MIN - 1),
            _ => 0,
        }
    }

    fn after(&mut self, ask: Ask) -> NewOrderStep {
        match self.step {
            NewOrderStep::Begin => NewOrderStep::Customer,
            NewOrderStep::Customer if ask == Ask::NoRead => NewOrderStep::NextOrder,
            NewOrderStep::Customer => NewOrderStep::District,
            NewOrderStep::District if ask == Ask::NoRead => NewOrderStep::Order,
            NewOrderStep::District => NewOrderStep::NextOrder,
            // Orders count from 1: the answer had none.
            NewOrderStep::NextOrder if ask == Ask::NoRead && self.order == 0 => {
                NewOrderStep::District
            }
            NewOrderStep::NextOrder => NewOrderStep::Order,
            NewOrderStep::Order => NewOrderStep::NewOrder,
            NewOrderStep::NewOrder if ask == Ask::Each => NewOrderStep::Item,
            NewOrderStep::NewOrder => NewOrderStep::Items,
            NewOrderStep::Item if self.line >= self.there() => NewOrderStep::Rollback,
            NewOrderStep::Item => NewOrderStep::Stock,
            NewOrderStep::Items if ask == Ask::NoRead => NewOrderStep::UpdateStock,
            NewOrderStep::Items => NewOrderStep::Stocks,
            NewOrderStep::Stocks if ask == Ask::NoRead => NewOrderStep::Lines,
            NewOrderStep::Stock | NewOrderStep::Stocks => NewOrderStep::UpdateStock,
            NewOrderStep::UpdateStock if matches!(ask, Ask::Each | Ask::In) => NewOrderStep::Line,
            NewOrderStep::UpdateStock => {
                self.line += 1;
                match (self.line < self.there(), ask) {
                    (true, _) => NewOrderStep::UpdateStock,
                    (false, Ask::NoRead) => NewOrderStep::Stocks,
                    (false, _) => NewOrderStep::Lines,
                }
            }
            NewOrderStep::Line => {
                self.line += 1;
                match ask {
                    Ask::Each if self.line < self.count => NewOrderStep::Item,
                    Ask::In if self.line < self.there() => NewOrderStep::UpdateStock,
                    _ => self.close(),
                }
            }
            NewOrderStep::Lines
            | NewOrderStep::Commit
            | NewOrderStep::Rollback
            | NewOrderStep::Call => self.close(),
        }
    }

    fn close(&self) -> NewOrderStep {
        match self.rolls_back {
            true => NewOrderStep::Rollback,
            false => NewOrderStep::Commit,
        }
    }

    /// Takes the values of an answer; an error names the row that is missing.
    fn hear(&mut self, said: Said<'_>, ask: Ask) -> Result<(), &'static str> {
        match self.step {
            NewOrderStep::Customer => has_row(said, "a customer, or its warehouse or district"),
            NewOrderStep::District => {
                let order = said.value_at(0, |value| value.as_int());
                self.order = order.flatten().ok_or("district")? as u64;
                Ok(())
            }
            NewOrderStep::NextOrder if ask == Ask::NoRead => {
                self.order = said.summary().last_insert_id;
                Ok(())
            }
            NewOrderStep::Item if self.line < self.there() => {
                let price = said.value_at(0, cents_of).ok_or("item")?;
                self.set_prices(self.line().item, price);
                Ok(())
            }
            NewOrderStep::Items => self.hear_items(said),
            NewOrderStep::Stock => {
                let line = self.line();
                let (mut stock, mut place) = (Stock::default(), 0);
                let is_there = said.first_row(|value| {
                    stock.take(place, value);
                    place += 1;
                });
                if !is_there {
                    return Err("row of stock");
                }
                self.set_stock(line.supplier, line.item, &stock, ask);
                Ok(())
            }
            NewOrderStep::Stocks => self.hear_stocks(said, ask),
            NewOrderStep::UpdateStock if ask != Ask::NoRead => {
                self.carry_stock_on();
                Ok(())
            }
            NewOrderStep::Call => {
                let is_found = said.value_at(0, |value| value.as_int()).flatten();
                match (is_found, self.rolls_back) {
                    (Some(0), false) => Err("item, row of stock, customer or district"),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn hear_items(&mut self, said: Said<'_>) -> Result<(), &'static str> {
        let mut rows = said.rows();
        loop {
            let (mut place, mut item, mut price) = (0, 0, 0);
            let row = rows.next_row(|value| {
                match place {
                    0 => item = value.as_int().unwrap_or(0) as u64,
                    1 => price = cents_of(value),
                    _ => {}
                }
                place += 1;
            });
            if !row.unwrap_or(false) {
                break;
            }
            self.set_prices(item, price);
        }
        match self.lines().iter().all(|line| line.price_cents.is_some()) {
            true => Ok(()),
            false => Err("item"),
        }
    }

    fn hear_stocks(&mut self, said: Said<'_>, ask: Ask) -> Result<(), &'static str> {
        let mut rows = said.rows();
        loop {
            let (mut place, mut warehouse, mut item) = (0, 0, 0);
            let mut stock = Stock::default();
            let row = rows.next_row(|value| {
                match place {
                    0 => warehouse = value.as_int().unwrap_or(0) as u64,
                    1 => item = value.as_int().unwrap_or(0) as u64,
                    _ => stock.take(place - 2, value),
                }
                place += 1;
            });
            if !row.unwrap_or(false) {
                break;
            }
            self.set_stock(warehouse, item, &stock, ask);
        }
        match self.lines().iter().all(|line| line.stock.is_some()) {
            true => Ok(()),
            false => Err("row of stock"),
        }
    }

    fn set_prices(&mut self, item: u64, cents: i64) {
        let lines = self.lines.iter_mut().filter(|line| line.item == item);
        lines.for_each(|line| line.price_cents = Some(cents));
    }

    fn set_stock(&mut self, supplier: u64, item: u64, stock: &Stock, ask: Ask) {
        // One row at a time is for the line in progress; all at once, for each line of the item.
        let from = if ask == Ask::Each { self.line } else { 0 };
        let lines = self.lines.iter_mut().skip(from);
        for line in lines.filter(|line| (line.supplier, line.item) == (supplier, item)) {
            line.set_stock(stock);
        }
    }

    /// The same item may be in two lines: the second finds the stock that the first has left.
    fn carry_stock_on(&mut self) {
        let line = self.line();
        let left = line.stock_after();
        let key = (line.supplier, line.item);
        let later = self.lines.iter_mut().skip(self.line + 1);
        for later in later.filter(|later| (later.supplier, later.item) == key) {
            if later.stock.is_some() {
                later.stock = Some(left);
            }
        }
    }

    fn put(&self, values: &mut Parameters, ask: Ask) {
        let line = self.line();
        match self.step {
            NewOrderStep::Customer => values.ints([self.warehouse, self.district, self.customer]),
            NewOrderStep::District | NewOrderStep::NextOrder => {
                values.ints([self.warehouse, self.district])
            }
            NewOrderStep::Order => {
                values.ints([self.order, self.district, self.warehouse]);
                values.ints([self.customer, self.count as u64, self.all_local()]);
            }
            NewOrderStep::NewOrder => values.ints([self.order, self.district, self.warehouse]),
            NewOrderStep::Item => values.int(line.item),
            NewOrderStep::Items => {
                let lines = self.lines.iter().take(self.count);
                lines.for_each(|line| values.int(line.item));
            }
            NewOrderStep::Stock => values.ints([self.district, line.supplier, line.item]),
            NewOrderStep::Stocks => {
                values.int(self.district);
                // A row may be named twice, which spares a statement for four rows.
                let lines = self.lines();
                let again = lines.iter().rev().cycle();
                let few = LINES_MIN.saturating_sub(lines.len());
                for line in lines.iter().chain(again.take(few)) {
                    values.ints([line.supplier, line.item]);
                }
            }
            NewOrderStep::UpdateStock => {
                match ask {
                    Ask::NoRead => (0..3).for_each(|_| values.int(line.quantity)),
                    _ => values.int(line.stock_after() as u64),
                }
                let is_remote = u64::from(line.supplier != self.warehouse);
                values.ints([line.quantity, is_remote, line.supplier, line.item]);
            }
            NewOrderStep::Line => self.put_line(self.line, &line, values),
            NewOrderStep::Lines => {
                let lines = self.lines().iter().enumerate();
                lines.for_each(|(place, line)| self.put_line(place, line, values));
            }
            NewOrderStep::Call => self.put_call(values),
            NewOrderStep::Begin | NewOrderStep::Commit | NewOrderStep::Rollback => {}
        }
    }

    fn put_line(&self, place: usize, line: &Line, values: &mut Parameters) {
        values.ints([self.order, self.district, self.warehouse, place as u64 + 1]);
        values.ints([line.item, line.supplier, line.quantity]);
        values.cents(line.price_cents.unwrap_or(0) * line.quantity as i64);
        values.bytes(line.info());
    }

    fn put_call(&self, values: &mut Parameters) {
        values.ints([self.warehouse, self.district, self.customer]);
        values.ints([self.count as u64, self.all_local()]);
        values.written(|out| {
            for line in self.lines.iter().take(self.count) {
                put_digits(out, line.item, 6);
                put_digits(out, line.supplier, 7);
                put_digits(out, line.quantity, 2);
            }
        });
    }

    fn all_local(&self) -> u64 {
        let mut lines = self.lines.iter().take(self.count);
        u64::from(lines.all(|line| line.supplier == self.warehouse))
    }
}

fn has_row(said: Said<'_>, what: &'static str) -> Result<(), &'static str> {
    match said.summary().rows {
        0 => Err(what),
        _ => Ok(()),
    }
}

/// Appends a number with `digits` digits.
fn put_digits(out: &mut Vec<u8>, number: u64, digits: u32) {
    for place in (0..digits).rev() {
        out.push(b'0' + (number / 10_u64.pow(place) % 10) as u8);
    }
}
