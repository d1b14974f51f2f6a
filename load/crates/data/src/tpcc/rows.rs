//! The rows of the nine tables, as clause 4.3.3.1 of the specification populates them.

use super::text::{data, digits, letters};
use crate::content::{Appended, Content, Lines};
use crate::table::seed_of_table;
use crate::tpcc::text;
use contend_random::nurand::{A_C_LAST, LAST_NAMES, last_name};
use contend_random::{Permutation, Stream};
use std::ops::Range;

pub const DISTRICTS: u64 = 10;
pub const CUSTOMERS: u64 = 3_000;
pub const ITEMS: u64 = 100_000;
/// Customers below have each last name once; the others have drawn ones.
const NAMED_IN_TURN: u64 = 1_000;
/// When all that is there was entered and delivered: a fixed time, for the content to be the
/// seed's alone.
const LOADED_AT: &str = "2026-01-01 00:00:00";
/// Payment of each customer so far, in hundredths.
const PAID: i64 = 1_000;

/// The size of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The first and the last warehouse whose rows are made.
    pub first: u64,
    pub last: u64,
    /// Customers per district; as many orders.
    pub customers: u64,
    pub items: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpccPart {
    Warehouse,
    District,
    Customer,
    History,
    Orders,
    NewOrder,
    OrderLine,
    Item,
    Stock,
}

/// The rows of one table. A number is that of a row from 0, in the order of the primary key; of
/// order lines it is that of the order.
#[derive(Debug)]
pub struct TpccRows {
    part: TpccPart,
    size: Size,
    seed: u64,
    c_load: u64,
    count: u64,
}

impl Size {
    /// The numbers of things, with `each` things per warehouse.
    fn numbers(self, each: u64) -> Range<u64> {
        (self.first - 1) * each..self.last * each
    }

    /// Orders of a district that are not delivered, its last: 900 of 3,000.
    fn new_orders(self) -> u64 {
        self.customers * 3 / 10
    }

    /// The place of thing `number`, with `each` things per district: warehouse, district and its
    /// number there, all from 1.
    fn place(each: u64, number: u64) -> (u64, u64, u64) {
        let district = number / each;
        (
            district / DISTRICTS + 1,
            district % DISTRICTS + 1,
            number % each + 1,
        )
    }
}

impl TpccRows {
    pub fn new(part: TpccPart, size: Size, seed: u64) -> Self {
        let mut rows = Self {
            part,
            size,
            seed,
            c_load: text::c_load(seed),
            count: 0,
        };
        let numbers = rows.numbers();
        rows.count = match part {
            TpccPart::OrderLine => numbers.map(|order| rows.lines_of(order).1).sum(),
            _ => numbers.end - numbers.start,
        };
        rows
    }

    /// Draws for a row of a table.
    fn stream(&self, part: TpccPart, number: u64) -> Stream {
        Stream::for_cycle(seed_of_table(self.seed, part as u32 + 1), number)
    }

    /// One of the orders of numbers that each district has for itself.
    fn order_of_district(&self, part: TpccPart, w: u64, d: u64) -> Permutation {
        let district = (w - 1) * DISTRICTS + d - 1;
        let seed = seed_of_table(self.seed, part as u32 + 1);
        Permutation::new(seed, district, self.size.customers)
    }

    /// The draws of an order, and how many lines it has.
    fn lines_of(&self, order: u64) -> (Stream, u64) {
        let mut stream = self.stream(TpccPart::Orders, order);
        let count = stream.uniform(5, 15);
        (stream, count)
    }

    fn is_new(&self, order: u64) -> bool {
        order > self.size.customers - self.size.new_orders()
    }
}

impl Content for TpccRows {
    fn numbers(&self) -> Range<u64> {
        let size = self.size;
        match self.part {
            TpccPart::Warehouse => size.numbers(1),
            TpccPart::District => size.numbers(DISTRICTS),
            TpccPart::Customer | TpccPart::History | TpccPart::Orders | TpccPart::OrderLine => {
                size.numbers(DISTRICTS * size.customers)
            }
            TpccPart::NewOrder => size.numbers(DISTRICTS * size.new_orders()),
            TpccPart::Item => 0..size.items,
            TpccPart::Stock => size.numbers(size.items),
        }
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn bytes_max(&self) -> usize {
        match self.part {
            TpccPart::Warehouse | TpccPart::District => 200,
            TpccPart::Customer => 800,
            TpccPart::History | TpccPart::Orders => 120,
            TpccPart::NewOrder => 40,
            TpccPart::OrderLine => 15 * 120,
            TpccPart::Item => 120,
            TpccPart::Stock => 400,
        }
    }

    fn append(&self, out: &mut Vec<u8>, numbers: Range<u64>) -> Appended {
        let mut lines = Lines::new(out);
        // Orders of a district follow one another, and the permutation is theirs.
        let mut customers = None;
        for number in numbers {
            match self.part {
                TpccPart::Warehouse => self.warehouse(&mut lines, number),
                TpccPart::District => self.district(&mut lines, number),
                TpccPart::Customer => self.customer(&mut lines, number, &mut customers),
                TpccPart::History => self.history(&mut lines, number),
                TpccPart::Orders => self.order(&mut lines, number, &mut customers),
                TpccPart::NewOrder => {
                    let (w, d, turn) = Size::place(self.size.new_orders(), number);
                    let order = self.size.customers - self.size.new_orders() + turn;
                    lines.number(order).number(d).number(w).end();
                }
                TpccPart::OrderLine => self.order_lines(&mut lines, number),
                TpccPart::Item => self.item(&mut lines, number),
                TpccPart::Stock => self.stock(&mut lines, number),
            }
        }
        lines.appended()
    }
}

/// A permutation of a district's customers, kept while their rows are made.
type OfDistrict = Option<((u64, u64), Permutation)>;

impl TpccRows {
    fn permutation(&self, kept: &mut OfDistrict, w: u64, d: u64) -> Permutation {
        match kept {
            Some((whose, permutation)) if *whose == (w, d) => *permutation,
            _ => {
                kept.insert(((w, d), self.order_of_district(self.part, w, d)))
                    .1
            }
        }
    }

    fn warehouse(&self, lines: &mut Lines<'_>, number: u64) {
        let mut stream = self.stream(self.part, number);
        let paid = PAID * (DISTRICTS * self.size.customers) as i64;
        lines.number(number + 1);
        letters(lines, &mut stream, 6, 10);
        address(lines, &mut stream);
        let tax = stream.uniform(0, 2_000) as i64;
        lines.ten_thousandths(tax).hundredths(paid).end();
    }

    fn district(&self, lines: &mut Lines<'_>, number: u64) {
        let mut stream = self.stream(self.part, number);
        let (w, d, _) = Size::place(1, number);
        let paid = PAID * self.size.customers as i64;
        lines.number(d).number(w);
        letters(lines, &mut stream, 6, 10);
        address(lines, &mut stream);
        let tax = stream.uniform(0, 2_000) as i64;
        lines.ten_thousandths(tax).hundredths(paid);
        lines.number(self.size.customers + 1).end();
    }

    fn customer(&self, lines: &mut Lines<'_>, number: u64, kept: &mut OfDistrict) {
        let mut stream = self.stream(self.part, number);
        let (w, d, c) = Size::place(self.size.customers, number);
        let name = if c <= NAMED_IN_TURN {
            c - 1
        } else {
            stream.nurand(A_C_LAST, self.c_load, 0, LAST_NAMES - 1)
        };
        // A tenth of them, chosen by the permutation.
        let place = self.permutation(kept, w, d).place_of(c - 1);
        let credit = if place < self.size.customers / 10 {
            "BC"
        } else {
            "GC"
        };
        lines.number(c).number(d).number(w);
        letters(lines, &mut stream, 8, 16);
        lines.text("OE");
        lines.joined(last_name(name));
        address(lines, &mut stream);
        digits(lines, &mut stream, 16, "");
        let discount = stream.uniform(0, 5_000) as i64;
        lines.text(LOADED_AT).text(credit).text("50000.00");
        lines
            .ten_thousandths(discount)
            .hundredths(-PAID)
            .hundredths(PAID);
        lines.text("1").text("0");
        letters(lines, &mut stream, 300, 500);
        lines.end();
    }

    fn history(&self, lines: &mut Lines<'_>, number: u64) {
        let mut stream = self.stream(self.part, number);
        let (w, d, c) = Size::place(self.size.customers, number);
        lines.number(c).number(d).number(w).number(d).number(w);
        lines.text(LOADED_AT).hundredths(PAID);
        letters(lines, &mut stream, 12, 24);
        lines.end();
    }

    fn order(&self, lines: &mut Lines<'_>, number: u64, kept: &mut OfDistrict) {
        let (mut stream, count) = self.lines_of(number);
        let (w, d, o) = Size::place(self.size.customers, number);
        let customer = self.permutation(kept, w, d).place_of(o - 1) + 1;
        lines
            .number(o)
            .number(d)
            .number(w)
            .number(customer)
            .text(LOADED_AT);
        if self.is_new(o) {
            lines.null();
        } else {
            lines.number(stream.uniform(1, 10));
        }
        lines.number(count).text("1").end();
    }

    fn order_lines(&self, lines: &mut Lines<'_>, number: u64) {
        let (stream, count) = self.lines_of(number);
        let mut stream = stream.part(1);
        let (w, d, o) = Size::place(self.size.customers, number);
        for line in 1..=count {
            lines.number(o).number(d).number(w).number(line);
            lines.number(stream.uniform(1, self.size.items)).number(w);
            let amount = if self.is_new(o) {
                lines.null();
                stream.uniform(1, 999_999) as i64
            } else {
                lines.text(LOADED_AT);
                0
            };
            lines.text("5").hundredths(amount);
            letters(lines, &mut stream, 24, 24);
            lines.end();
        }
    }

    fn item(&self, lines: &mut Lines<'_>, number: u64) {
        let mut stream = self.stream(self.part, number);
        lines.number(number + 1).number(stream.uniform(1, 10_000));
        letters(lines, &mut stream, 14, 24);
        lines.hundredths(stream.uniform(100, 10_000) as i64);
        let original = stream.below(10) == 0;
        data(lines, &mut stream, original);
        lines.end();
    }

    fn stock(&self, lines: &mut Lines<'_>, number: u64) {
        let mut stream = self.stream(self.part, number);
        let (w, item) = (number / self.size.items + 1, number % self.size.items + 1);
        lines.number(item).number(w).number(stream.uniform(10, 100));
        for _ in 0..DISTRICTS {
            letters(lines, &mut stream, 24, 24);
        }
        lines.text("0").text("0").text("0");
        let original = stream.below(10) == 0;
        data(lines, &mut stream, original);
        lines.end();
    }
}

/// Two streets, a city, a state and a ZIP code (clause 4.3.2.7).
fn address(lines: &mut Lines<'_>, stream: &mut Stream) {
    for _ in 0..3 {
        letters(lines, stream, 10, 20);
    }
    letters(lines, stream, 2, 2);
    digits(lines, stream, 4, "11111");
}
