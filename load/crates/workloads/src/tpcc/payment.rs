//! Payment (clause 2.5) of a customer, who may belong to a different warehouse.

use super::book::{Book, CUSTOMERS_BY_NAME, Wording};
use super::deck::Card;
use super::facts::{DISTRICTS, Facts, NONE_OF_NAME, Who, middle};
use super::keys::{Ask, Keys};
use crate::native::{EventEnd, NextStep, Said, WhyAsked};
use crate::statement::{Parameters, put_cents};
use contend_random::Stream;
use contend_wire::Value;

const AMOUNT_CENTS_MIN: u64 = 100;
const AMOUNT_CENTS_MAX: u64 = 500_000;
/// `c_data`, and the two names that `h_data` is made of.
const DATA_BYTES: usize = 500;
const NAME_BYTES: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PaymentStep {
    Begin,
    Warehouse,
    WarehouseName,
    District,
    DistrictName,
    ByName,
    Customer,
    Data,
    Pay,
    PayBad,
    History,
    Commit,
    Call,
}

/// The place of `c_credit` among the columns of a customer.
const CREDIT: usize = 10;

const CUSTOMER: &str = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
     c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance \
     FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = |step, name| Wording::new(step as usize, name);
    if ask == Ask::Procedure {
        let call = "CALL contend_payment(?, ?, ?, ?, ?, ?, ?)";
        return vec![say(PaymentStep::Call, "call").text(call)];
    }
    let mut wordings = vec![
        say(PaymentStep::Begin, "begin").frame(),
        say(PaymentStep::Warehouse, "update_warehouse")
            .text("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"),
        say(PaymentStep::WarehouseName, "select_warehouse").text(
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
             WHERE w_id = ?",
        ),
        say(PaymentStep::District, "update_district")
            .text("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"),
        say(PaymentStep::DistrictName, "select_district").text(
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
             WHERE d_w_id = ? AND d_id = ?",
        ),
        say(PaymentStep::ByName, "select_customers_by_name").text(CUSTOMERS_BY_NAME),
    ];
    const SET: &str = "c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + 1";
    const WHERE: &str = "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    if ask == Ask::NoRead {
        let pay = format!(
            "UPDATE customer SET {SET}, \
             c_data = IF(c_credit = 'BC', LEFT(CONCAT(?, c_data), 500), c_data) {WHERE}"
        );
        wordings.extend([
            say(PaymentStep::Pay, "update_customer").text(&pay),
            say(PaymentStep::Customer, "select_customer").text(CUSTOMER),
        ]);
    } else {
        let pay = format!("UPDATE customer SET {SET} {WHERE}");
        let pay_bad = format!("UPDATE customer SET {SET}, c_data = ? {WHERE}");
        // With a lock, as the customer before: without one these would be the data from when the
        // transaction began. Additions by other payments since would be lost.
        let data = format!("SELECT c_data FROM customer {WHERE} FOR UPDATE");
        wordings.extend([
            say(PaymentStep::Customer, "select_customer").text(&format!("{CUSTOMER} FOR UPDATE")),
            say(PaymentStep::Data, "select_customer_data").text(&data),
            say(PaymentStep::Pay, "update_customer").text(&pay),
            say(PaymentStep::PayBad, "update_customer_data").text(&pay_bad),
        ]);
    }
    wordings.extend([
        say(PaymentStep::History, "insert_history").text(
            "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, \
             h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
        ),
        say(PaymentStep::Commit, "commit").frame(),
    ]);
    wordings
}

#[derive(Debug)]
pub struct Payment {
    step: PaymentStep,
    warehouse: u64,
    district: u64,
    customer_warehouse: u64,
    customer_district: u64,
    who: Who,
    /// Known once the customers of a name are.
    customer: u64,
    cents: i64,
    warehouse_name: PaymentText<NAME_BYTES>,
    district_name: PaymentText<NAME_BYTES>,
    data: PaymentText<DATA_BYTES>,
}

impl Payment {
    pub fn draw(keys: &Keys, facts: &Facts, warehouse: u64, stream: &mut Stream) -> Self {
        let district = stream.uniform(1, DISTRICTS);
        let is_remote = stream.below(100) < u64::from(keys.remote_payments_percent);
        let (customer_warehouse, customer_district) = match is_remote {
            true => (
                facts.other_warehouse(warehouse, stream),
                stream.uniform(1, DISTRICTS),
            ),
            false => (warehouse, district),
        };
        let who = Who::draw(facts, stream);
        Self {
            step: PaymentStep::Begin,
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            who,
            customer: match who {
                Who::Id(id) => id,
                Who::Name(_) => 0,
            },
            cents: stream.uniform(AMOUNT_CENTS_MIN, AMOUNT_CENTS_MAX) as i64,
            warehouse_name: PaymentText::default(),
            district_name: PaymentText::default(),
            data: PaymentText::default(),
        }
    }

    pub fn customer_warehouse(&self) -> u64 {
        self.customer_warehouse
    }

    pub fn next(&mut self, heard: WhyAsked<'_>, book: &Book, values: &mut Parameters) -> NextStep {
        match heard {
            WhyAsked::Said(said) => match self.after(said, book.ask) {
                Ok(step) => self.step = step,
                Err(missing) => return NextStep::Broken(missing),
            },
            WhyAsked::Begin | WhyAsked::Unheard if book.ask == Ask::Procedure => {
                self.step = PaymentStep::Call
            }
            WhyAsked::Begin | WhyAsked::Unheard => {}
        }
        self.put(values, book.ask);
        let place = book.place(Card::Payment, self.step as usize, 0);
        match self.step {
            PaymentStep::Commit | PaymentStep::Call => NextStep::last(place, EventEnd::Done),
            PaymentStep::WarehouseName
            | PaymentStep::DistrictName
            | PaymentStep::ByName
            | PaymentStep::Customer
            | PaymentStep::Data => NextStep::read(place),
            _ => NextStep::in_turn(place, false),
        }
    }

    /// Takes the answer and finds the next step; an error names the row that is missing.
    fn after(&mut self, said: Said<'_>, ask: Ask) -> Result<PaymentStep, &'static str> {
        Ok(match self.step {
            PaymentStep::Begin => PaymentStep::Warehouse,
            PaymentStep::Warehouse => PaymentStep::WarehouseName,
            PaymentStep::WarehouseName => {
                let name = &mut self.warehouse_name;
                let taken = said.value_at(0, |value| name.take(value));
                taken.ok_or("warehouse")?;
                PaymentStep::District
            }
            PaymentStep::District => PaymentStep::DistrictName,
            PaymentStep::DistrictName => {
                let name = &mut self.district_name;
                let taken = said.value_at(0, |value| name.take(value));
                taken.ok_or("district")?;
                match (self.who, ask) {
                    (Who::Name(_), _) => PaymentStep::ByName,
                    (Who::Id(_), Ask::NoRead) => PaymentStep::Pay,
                    (Who::Id(_), _) => PaymentStep::Customer,
                }
            }
            PaymentStep::ByName => {
                self.customer = middle(said).ok_or(NONE_OF_NAME)?;
                match ask {
                    Ask::NoRead => PaymentStep::Pay,
                    _ => PaymentStep::Customer,
                }
            }
            PaymentStep::Customer if ask == Ask::NoRead && said.summary().rows > 0 => {
                PaymentStep::History
            }
            PaymentStep::Customer => {
                let is_bad = said.value_at(CREDIT, |value| matches!(value, Value::Bytes(b"BC")));
                match is_bad.ok_or("customer")? {
                    true => PaymentStep::Data,
                    false => PaymentStep::Pay,
                }
            }
            PaymentStep::Data => {
                let data = &mut self.data;
                let taken = said.value_at(0, |value| data.take(value));
                taken.ok_or("customer")?;
                PaymentStep::PayBad
            }
            PaymentStep::Pay if ask == Ask::NoRead => PaymentStep::Customer,
            PaymentStep::Pay | PaymentStep::PayBad => PaymentStep::History,
            PaymentStep::History | PaymentStep::Commit | PaymentStep::Call => PaymentStep::Commit,
        })
    }

    fn put(&self, values: &mut Parameters, ask: Ask) {
        match self.step {
            PaymentStep::Warehouse => {
                values.cents(self.cents);
                values.int(self.warehouse);
            }
            PaymentStep::WarehouseName => values.int(self.warehouse),
            PaymentStep::District => {
                values.cents(self.cents);
                values.ints([self.warehouse, self.district]);
            }
            PaymentStep::DistrictName => values.ints([self.warehouse, self.district]),
            PaymentStep::ByName => {
                values.ints([self.customer_warehouse, self.customer_district]);
                values.written(|out| self.who.put_name(out));
            }
            PaymentStep::Customer | PaymentStep::Data => self.put_customer(values),
            PaymentStep::Pay | PaymentStep::PayBad => {
                values.cents(self.cents);
                values.cents(self.cents);
                if self.step == PaymentStep::PayBad {
                    values.written(|out| {
                        let start = out.len();
                        self.put_data(out);
                        out.extend_from_slice(self.data.bytes());
                        out.truncate(start + DATA_BYTES);
                    });
                } else if ask == Ask::NoRead {
                    values.written(|out| self.put_data(out));
                }
                self.put_customer(values);
            }
            PaymentStep::History => {
                values.ints([self.customer_district, self.customer_warehouse]);
                values.ints([self.customer, self.district, self.warehouse]);
                values.cents(self.cents);
                values.written(|out| {
                    out.extend_from_slice(self.warehouse_name.bytes());
                    out.extend_from_slice(b"    ");
                    out.extend_from_slice(self.district_name.bytes());
                });
            }
            PaymentStep::Call => {
                values.ints([self.warehouse, self.district]);
                self.put_customer(values);
                values.written(|out| self.who.put_name(out));
                values.cents(self.cents);
            }
            PaymentStep::Begin | PaymentStep::Commit => {}
        }
    }

    fn put_customer(&self, values: &mut Parameters) {
        values.ints([self.customer_warehouse, self.customer_district]);
        values.int(self.customer);
    }

    /// Text to prepend to the data of a customer with bad credit.
    fn put_data(&self, out: &mut Vec<u8>) {
        let numbers = [
            self.customer,
            self.customer_district,
            self.customer_warehouse,
            self.district,
            self.warehouse,
        ];
        for number in numbers {
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            out.push(b' ');
        }
        put_cents(out, self.cents);
        out.push(b'|');
    }
}

/// A text of at most `N` bytes, kept without an allocation.
#[derive(Clone, Debug)]
struct PaymentText<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Default for PaymentText<N> {
    fn default() -> Self {
        Self {
            bytes: [0; N],
            length: 0,
        }
    }
}

impl<const N: usize> PaymentText<N> {
    fn take(&mut self, value: Value<'_>) {
        let Value::Bytes(text) = value else {
            return;
        };
        self.length = text.len().min(N);
        let bytes = self.bytes.iter_mut().zip(text);
        bytes.for_each(|(to, from)| *to = *from);
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
