//! Payment (clause 2.5): of a customer, who may be another warehouse's.

use super::book::{Book, CUSTOMERS_BY_NAME, Wording};
use super::customer;
use super::deck::Card;
use super::facts::{DISTRICTS, Facts, Who};
use super::keys::{Ask, Keys};
use crate::random::Stream;
use crate::wire::Value;
use crate::workload::native::{End, Heard, Next, Said};
use crate::workload::statement::{Parameters, put_cents};

const AMOUNT_CENTS_MIN: u64 = 100;
const AMOUNT_CENTS_MAX: u64 = 500_000;
/// `c_data`, and the two names that `h_data` is made of.
const DATA_BYTES: usize = 500;
const NAME_BYTES: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
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
    let say = |step, name, text: &str| Wording::new(step as usize, name, text);
    let frame = |step, name, text: &str| Wording::frame(step as usize, name, text);
    if ask == Ask::Procedure {
        let call = "CALL contend_payment(?, ?, ?, ?, ?, ?, ?)";
        return vec![say(Step::Call, "call", call)];
    }
    let mut wordings = vec![
        frame(Step::Begin, "begin", "BEGIN"),
        say(
            Step::Warehouse,
            "update_warehouse",
            "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
        ),
        say(
            Step::WarehouseName,
            "select_warehouse",
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
             WHERE w_id = ?",
        ),
        say(
            Step::District,
            "update_district",
            "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
        ),
        say(
            Step::DistrictName,
            "select_district",
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
             WHERE d_w_id = ? AND d_id = ?",
        ),
        say(Step::ByName, "select_customers_by_name", CUSTOMERS_BY_NAME),
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
            say(Step::Pay, "update_customer", &pay),
            say(Step::Customer, "select_customer", CUSTOMER),
        ]);
    } else {
        let pay = format!("UPDATE customer SET {SET} {WHERE}");
        let pay_bad = format!("UPDATE customer SET {SET}, c_data = ? {WHERE}");
        // With a lock, as the customer before: without one these are the data of when the
        // transaction began, and what another payment has added since would be lost.
        let data = format!("SELECT c_data FROM customer {WHERE} FOR UPDATE");
        wordings.extend([
            say(
                Step::Customer,
                "select_customer",
                &format!("{CUSTOMER} FOR UPDATE"),
            ),
            say(Step::Data, "select_customer_data", &data),
            say(Step::Pay, "update_customer", &pay),
            say(Step::PayBad, "update_customer_data", &pay_bad),
        ]);
    }
    wordings.extend([
        say(
            Step::History,
            "insert_history",
            "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, \
             h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
        ),
        frame(Step::Commit, "commit", "COMMIT"),
    ]);
    wordings
}

/// See the module's words.
#[derive(Debug)]
pub struct Payment {
    step: Step,
    warehouse: u64,
    district: u64,
    customer_warehouse: u64,
    customer_district: u64,
    who: Who,
    /// Known once the customers of a name are.
    customer: u64,
    cents: i64,
    warehouse_name: Text<NAME_BYTES>,
    district_name: Text<NAME_BYTES>,
    data: Text<DATA_BYTES>,
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
            step: Step::Begin,
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
            warehouse_name: Text::default(),
            district_name: Text::default(),
            data: Text::default(),
        }
    }

    pub fn next(&mut self, heard: Heard<'_>, book: &Book, values: &mut Parameters) -> Next {
        match heard {
            Heard::Said(said) => match self.after(said, book.ask) {
                Ok(step) => self.step = step,
                Err(missing) => return Next::Broken(missing),
            },
            Heard::Begin | Heard::Woken if book.ask == Ask::Procedure => self.step = Step::Call,
            Heard::Begin | Heard::Woken => {}
        }
        self.put(values, book.ask);
        let place = book.place(Card::Payment, self.step as usize, 0);
        match self.step {
            Step::Commit | Step::Call => Next::last(place, End::Done),
            Step::WarehouseName
            | Step::DistrictName
            | Step::ByName
            | Step::Customer
            | Step::Data => Next::read(place),
            _ => Next::in_turn(place, false),
        }
    }

    /// Takes what was said and finds the next step; an error names the row that is missing.
    fn after(&mut self, said: Said<'_>, ask: Ask) -> Result<Step, &'static str> {
        Ok(match self.step {
            Step::Begin => Step::Warehouse,
            Step::Warehouse => Step::WarehouseName,
            Step::WarehouseName => {
                let name = &mut self.warehouse_name;
                let taken = said.value_at(0, |value| name.take(value));
                taken.ok_or("warehouse")?;
                Step::District
            }
            Step::District => Step::DistrictName,
            Step::DistrictName => {
                let name = &mut self.district_name;
                let taken = said.value_at(0, |value| name.take(value));
                taken.ok_or("district")?;
                match (self.who, ask) {
                    (Who::Name(_), _) => Step::ByName,
                    (Who::Id(_), Ask::NoRead) => Step::Pay,
                    (Who::Id(_), _) => Step::Customer,
                }
            }
            Step::ByName => {
                self.customer = customer::middle(said).ok_or(customer::NONE_OF_NAME)?;
                match ask {
                    Ask::NoRead => Step::Pay,
                    _ => Step::Customer,
                }
            }
            Step::Customer if ask == Ask::NoRead && said.summary().rows > 0 => Step::History,
            Step::Customer => {
                let is_bad = said.value_at(CREDIT, |value| matches!(value, Value::Bytes(b"BC")));
                match is_bad.ok_or("customer")? {
                    true => Step::Data,
                    false => Step::Pay,
                }
            }
            Step::Data => {
                let data = &mut self.data;
                let taken = said.value_at(0, |value| data.take(value));
                taken.ok_or("customer")?;
                Step::PayBad
            }
            Step::Pay if ask == Ask::NoRead => Step::Customer,
            Step::Pay | Step::PayBad => Step::History,
            Step::History | Step::Commit | Step::Call => Step::Commit,
        })
    }

    fn put(&self, values: &mut Parameters, ask: Ask) {
        match self.step {
            Step::Warehouse => {
                values.cents(self.cents);
                values.int(self.warehouse);
            }
            Step::WarehouseName => values.int(self.warehouse),
            Step::District => {
                values.cents(self.cents);
                values.int(self.warehouse);
                values.int(self.district);
            }
            Step::DistrictName => {
                values.int(self.warehouse);
                values.int(self.district);
            }
            Step::ByName => {
                values.int(self.customer_warehouse);
                values.int(self.customer_district);
                values.written(|out| self.who.put_name(out));
            }
            Step::Customer | Step::Data => self.put_customer(values),
            Step::Pay | Step::PayBad => {
                values.cents(self.cents);
                values.cents(self.cents);
                if self.step == Step::PayBad {
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
            Step::History => {
                values.int(self.customer_district);
                values.int(self.customer_warehouse);
                values.int(self.customer);
                values.int(self.district);
                values.int(self.warehouse);
                values.cents(self.cents);
                values.written(|out| {
                    out.extend_from_slice(self.warehouse_name.bytes());
                    out.extend_from_slice(b"    ");
                    out.extend_from_slice(self.district_name.bytes());
                });
            }
            Step::Call => {
                values.int(self.warehouse);
                values.int(self.district);
                self.put_customer(values);
                values.written(|out| self.who.put_name(out));
                values.cents(self.cents);
            }
            Step::Begin | Step::Commit => {}
        }
    }

    fn put_customer(&self, values: &mut Parameters) {
        values.int(self.customer_warehouse);
        values.int(self.customer_district);
        values.int(self.customer);
    }

    /// What is put in front of the data of a customer with bad credit.
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

/// A text of at most so many bytes, kept without an allocation.
#[derive(Clone, Debug)]
struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self {
            bytes: [0; N],
            length: 0,
        }
    }
}

impl<const N: usize> Text<N> {
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
