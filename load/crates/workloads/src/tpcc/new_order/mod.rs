//! New-Order (clause 2.4): an order of 5 to 15 lines, each with its stock.
//!
//! Lines are worked off in the order of their stock rows, so two orders never wait for each other
//! over stock. The item that is not there is that of the last line, and all lines before it are
//! done before the order is taken back.

mod line;
mod wordings;

use super::book::TpccStep;
use super::facts::{DISTRICTS, Facts, Who};
use super::keys::{Ask, Keys};
use super::steps::{Steps, has_row, kept_id, number};
use crate::native::{EventEnd, EventResult, Interrupted, LastQuestion, Said};
use crate::statement::{Parameters, cents_of};
use contend_random::Stream;
use contend_random::nurand::A_OL_I_ID;
use line::{Line, Stock};
pub use wordings::wordings;

pub const LINES_MIN: usize = 5;
pub const LINES_MAX: usize = 15;
const QUANTITY_MAX: u64 = 10;

#[derive(Debug)]
pub struct NewOrder {
    warehouse: u64,
    district: u64,
    customer: u64,
    lines: [Line; LINES_MAX],
    count: usize,
    /// The item of the last line is not there.
    rolls_back: bool,
    order: u64,
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
            warehouse,
            district,
            customer,
            lines,
            count,
            rolls_back,
            order: 0,
        }
    }

    pub async fn run(&mut self, steps: &mut Steps<'_>) -> EventResult {
        if steps.way() == Ask::Procedure {
            return self.call(steps).await;
        }
        steps.begin().await?;
        let (home, customer) = ([self.warehouse, self.district], self.customer);
        let put = |values: &mut Parameters| {
            values.ints(home);
            values.int(customer);
        };
        let is_there = has_row("a customer, or its warehouse or district");
        steps.ask(TpccStep::Customer, put).rows(is_there).await?;
        self.order = self.number_order(steps).await?;
        let key = [self.order, self.district, self.warehouse];
        let order = [self.customer, self.count as u64, self.all_local()];
        let put = |values: &mut Parameters| {
            values.ints(key);
            values.ints(order);
        };
        steps.ask(TpccStep::Order, put).done().await?;
        steps
            .ask(TpccStep::NewOrder, |values| values.ints(key))
            .done()
            .await?;
        match steps.way() {
            Ask::In => self.ask_in(steps).await?,
            Ask::MultiRow => self.ask_multi_row(steps).await?,
            Ask::NoRead => self.ask_no_read(steps).await?,
            Ask::Each | Ask::Procedure => self.ask_each(steps).await?,
        }
        match self.rolls_back {
            true => steps.roll_back(),
            false => steps.commit(),
        }
    }

    async fn call(&self, steps: &mut Steps<'_>) -> EventResult {
        let take = |said: Said<'_>| match (number(said), self.rolls_back) {
            (Some(0), false) => Err("item, row of stock, customer or district"),
            _ => Ok(()),
        };
        steps
            .ask(TpccStep::Call, |values| self.put_call(values))
            .rows(take)
            .await?;
        Ok(LastQuestion::End(match self.rolls_back {
            true => EventEnd::RolledBack,
            false => EventEnd::Done,
        }))
    }

    /// Takes the next number of the district.
    async fn number_order(&self, steps: &mut Steps<'_>) -> Result<u64, Interrupted> {
        let put = |values: &mut Parameters| values.ints([self.warehouse, self.district]);
        let read = |said: Said<'_>| number(said).ok_or("district");
        if steps.way() != Ask::NoRead {
            let order = steps.ask(TpccStep::District, put).rows(read).await?;
            steps.ask(TpccStep::NextOrder, put).done().await?;
            return Ok(order);
        }
        match steps.ask(TpccStep::NextOrder, put).summary(kept_id).await? {
            // Orders count from 1: the answer had none.
            0 => steps.ask(TpccStep::District, put).rows(read).await,
            order => Ok(order),
        }
    }

    async fn ask_each(&mut self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        for place in 0..self.there() {
            let line = self.line(place);
            let put = |values: &mut Parameters| values.int(line.item);
            let price = |said: Said<'_>| said.value_at(0, cents_of).ok_or("item");
            let price = steps.ask(TpccStep::Item, put).rows(price).await?;
            self.set_prices(line.item, price);
            let key = [self.district, line.supplier, line.item];
            let put = |values: &mut Parameters| values.ints(key);
            let stock = steps.ask(TpccStep::Stock, put).rows(Stock::read).await?;
            self.set_stock(place, line.supplier, line.item, &stock);
            self.update_stock(place, steps).await?;
            self.insert_line(place, steps).await?;
        }
        if self.rolls_back {
            let item = self.line(self.there()).item;
            let put = |values: &mut Parameters| values.int(item);
            steps.ask(TpccStep::Item, put).rows(|_| Ok(())).await?;
        }
        Ok(())
    }

    async fn ask_in(&mut self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        self.read_items(steps).await?;
        self.read_stocks(steps).await?;
        for place in 0..self.there() {
            self.update_stock(place, steps).await?;
            self.insert_line(place, steps).await?;
        }
        Ok(())
    }

    async fn ask_multi_row(&mut self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        self.read_items(steps).await?;
        self.read_stocks(steps).await?;
        for place in 0..self.there() {
            self.update_stock(place, steps).await?;
        }
        self.insert_lines(steps).await
    }

    async fn ask_no_read(&mut self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        self.read_items(steps).await?;
        for place in 0..self.there() {
            let line = self.line(place);
            let put = |values: &mut Parameters| {
                values.ints([line.quantity; 3]);
                self.put_update(&line, values);
            };
            steps.ask(TpccStep::UpdateStock, put).done().await?;
        }
        self.read_stocks(steps).await?;
        self.insert_lines(steps).await
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

    fn line(&self, place: usize) -> Line {
        self.lines.get(place).copied().unwrap_or_default()
    }

    async fn read_items(&mut self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        let items = self.lines.map(|line| line.item);
        let items = items.into_iter().take(self.count);
        let put = |values: &mut Parameters| items.for_each(|item| values.int(item));
        // The text is by the number of lines.
        let variant = self.count - LINES_MIN;
        let take = |said: Said<'_>| self.take_items(said);
        steps
            .ask_variant(TpccStep::Items, variant, put)
            .rows(take)
            .await
    }

    async fn read_stocks(&mut self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        let (district, there) = (self.district, self.there());
        let keys = self.lines.map(|line| [line.supplier, line.item]);
        let put = |values: &mut Parameters| {
            values.int(district);
            // A row may be named twice, which spares a statement for four rows.
            let keys = keys.iter().take(there);
            let again = keys.clone().rev().cycle();
            let few = LINES_MIN.saturating_sub(there);
            for key in keys.chain(again.take(few)) {
                values.ints(*key);
            }
        };
        let variant = there.max(LINES_MIN) - LINES_MIN;
        let take = |said: Said<'_>| self.take_stocks(said);
        steps
            .ask_variant(TpccStep::Stocks, variant, put)
            .rows(take)
            .await
    }

    #[inline(always)]
    fn update_stock(
        &mut self,
        place: usize,
        steps: &mut Steps<'_>,
    ) -> impl Future<Output = Result<(), Interrupted>> {
        let line = self.line(place);
        self.carry_stock_on(&line, place);
        let put = move |values: &mut Parameters| {
            values.int(line.stock_after() as u64);
            self.put_update(&line, values);
        };
        steps.ask(TpccStep::UpdateStock, put).done()
    }

    #[inline(always)]
    fn insert_line(
        &self,
        place: usize,
        steps: &mut Steps<'_>,
    ) -> impl Future<Output = Result<(), Interrupted>> {
        let line = self.line(place);
        let put = move |values: &mut Parameters| self.put_line(place, &line, values);
        steps.ask(TpccStep::Line, put).done()
    }

    fn insert_lines(&self, steps: &mut Steps<'_>) -> impl Future<Output = Result<(), Interrupted>> {
        let put = |values: &mut Parameters| {
            let lines = self.lines().iter().enumerate();
            lines.for_each(|(place, line)| self.put_line(place, line, values));
        };
        // One line less if the item of the last one is not there.
        let variant = self.there() - (LINES_MIN - 1);
        steps.ask_variant(TpccStep::Lines, variant, put).done()
    }

    fn take_items(&mut self, said: Said<'_>) -> Result<(), &'static str> {
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

    fn take_stocks(&mut self, said: Said<'_>) -> Result<(), &'static str> {
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
            self.set_stock(0, warehouse, item, &stock);
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

    /// Sets the stock of the lines of a row, from a place on.
    fn set_stock(&mut self, from: usize, supplier: u64, item: u64, stock: &Stock) {
        let lines = self.lines.iter_mut().skip(from);
        for line in lines.filter(|line| (line.supplier, line.item) == (supplier, item)) {
            line.set_stock(stock);
        }
    }

    /// The same item may be in two lines: the second finds the stock that the first has left.
    fn carry_stock_on(&mut self, line: &Line, place: usize) {
        let left = line.stock_after();
        let key = (line.supplier, line.item);
        let later = self.lines.iter_mut().skip(place + 1);
        for later in later.filter(|later| (later.supplier, later.item) == key) {
            if later.stock.is_some() {
                later.stock = Some(left);
            }
        }
    }

    fn put_update(&self, line: &Line, values: &mut Parameters) {
        let is_remote = u64::from(line.supplier != self.warehouse);
        values.ints([line.quantity, is_remote, line.supplier, line.item]);
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

/// Appends a number with `digits` digits.
fn put_digits(out: &mut Vec<u8>, number: u64, digits: u32) {
    for place in (0..digits).rev() {
        out.push(b'0' + (number / 10_u64.pow(place) % 10) as u8);
    }
}
