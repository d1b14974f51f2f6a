//! Payment (clause 2.5) of a customer, who may belong to a different warehouse.

use super::book::{CUSTOMERS_BY_NAME, TpccStep, Wording};
use super::facts::{DISTRICTS, Facts, Who};
use super::keys::{Ask, Keys};
use super::steps::{Steps, has_row};
use crate::native::{EventResult, Interrupted, Said};
use crate::statement::{Parameters, put_cents};
use contend_random::Stream;
use contend_wire::Value;

const AMOUNT_CENTS_MIN: u64 = 100;
const AMOUNT_CENTS_MAX: u64 = 500_000;
/// `c_data`, and the two names that `h_data` is made of.
const DATA_BYTES: usize = 500;
const NAME_BYTES: usize = 10;

/// The place of `c_credit` among the columns of a customer.
const CREDIT: usize = 10;

const CUSTOMER: &str = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
     c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance \
     FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = Wording::new;
    if ask == Ask::Procedure {
        let call = "CALL contend_payment(?, ?, ?, ?, ?, ?, ?)";
        return vec![say(TpccStep::Call, "call").text(call)];
    }
    let mut wordings = vec![
        say(TpccStep::Begin, "begin").frame(),
        say(TpccStep::Warehouse, "update_warehouse")
            .text("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"),
        say(TpccStep::WarehouseName, "select_warehouse").text(
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
             WHERE w_id = ?",
        ),
        say(TpccStep::District, "update_district")
            .text("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"),
        say(TpccStep::DistrictName, "select_district").text(
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
             WHERE d_w_id = ? AND d_id = ?",
        ),
        say(TpccStep::ByName, "select_customers_by_name").text(CUSTOMERS_BY_NAME),
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
            say(TpccStep::Pay, "update_customer").text(&pay),
            say(TpccStep::Customer, "select_customer").text(CUSTOMER),
        ]);
    } else {
        let pay = format!("UPDATE customer SET {SET} {WHERE}");
        let pay_bad = format!("UPDATE customer SET {SET}, c_data = ? {WHERE}");
        // With a lock, as the customer before: without one these would be the data from when the
        // transaction began. Additions by other payments since would be lost.
        let data = format!("SELECT c_data FROM customer {WHERE} FOR UPDATE");
        wordings.extend([
            say(TpccStep::Customer, "select_customer").text(&format!("{CUSTOMER} FOR UPDATE")),
            say(TpccStep::Data, "select_customer_data").text(&data),
            say(TpccStep::Pay, "update_customer").text(&pay),
            say(TpccStep::PayBad, "update_customer_data").text(&pay_bad),
        ]);
    }
    wordings.extend([
        say(TpccStep::History, "insert_history").text(
            "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, \
             h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
        ),
        say(TpccStep::Commit, "commit").frame(),
    ]);
    wordings
}

#[derive(Debug)]
pub struct Payment {
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
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            who,
            customer: who.id(),
            cents: stream.uniform(AMOUNT_CENTS_MIN, AMOUNT_CENTS_MAX) as i64,
            warehouse_name: PaymentText::default(),
            district_name: PaymentText::default(),
        }
    }

    pub fn customer_warehouse(&self) -> u64 {
        self.customer_warehouse
    }

    pub async fn run(&mut self, steps: &mut Steps<'_>) -> EventResult {
        if steps.way() == Ask::Procedure {
            return steps.call(|values| self.put_call(values));
        }
        let (warehouse, district, cents) = (self.warehouse, self.district, self.cents);
        steps.begin().await?;
        let put = |values: &mut Parameters| {
            values.cents(cents);
            values.int(warehouse);
        };
        steps.ask(TpccStep::Warehouse, put).done().await?;
        let name = &mut self.warehouse_name;
        let take = |said: Said<'_>| said.value_at(0, |v| name.take(v)).ok_or("warehouse");
        let put = |values: &mut Parameters| values.int(warehouse);
        steps.ask(TpccStep::WarehouseName, put).rows(take).await?;
        let put = |values: &mut Parameters| {
            values.cents(cents);
            values.ints([warehouse, district]);
        };
        steps.ask(TpccStep::District, put).done().await?;
        let name = &mut self.district_name;
        let take = |said: Said<'_>| said.value_at(0, |v| name.take(v)).ok_or("district");
        let put = |values: &mut Parameters| values.ints([warehouse, district]);
        steps.ask(TpccStep::DistrictName, put).rows(take).await?;
        if let Who::Name(_) = self.who {
            let (home, who) = ([self.customer_warehouse, self.customer_district], self.who);
            self.customer = who.look_up(home, steps).await?;
        }
        match steps.way() {
            Ask::NoRead => self.pay_unread(steps).await?,
            _ => self.pay(steps).await?,
        }
        steps
            .ask(TpccStep::History, |values| self.put_history(values))
            .done()
            .await?;
        steps.commit()
    }

    /// Changes the customer's row after it is read.
    async fn pay(&self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        let is_bad = |value: Value<'_>| matches!(value, Value::Bytes(b"BC"));
        let is_bad = |said: Said<'_>| said.value_at(CREDIT, is_bad).ok_or("customer");
        let put = |values: &mut Parameters| self.put_customer(values);
        let is_bad = steps.ask(TpccStep::Customer, put).rows(is_bad).await?;
        if !is_bad {
            let put = |values: &mut Parameters| {
                values.cents(self.cents);
                values.cents(self.cents);
                self.put_customer(values);
            };
            return steps.ask(TpccStep::Pay, put).done().await;
        }
        let mut data = PaymentText::<DATA_BYTES>::default();
        let take = |said: Said<'_>| said.value_at(0, |v| data.take(v)).ok_or("customer");
        steps.ask(TpccStep::Data, put).rows(take).await?;
        let put = |values: &mut Parameters| {
            values.cents(self.cents);
            values.cents(self.cents);
            values.written(|out| {
                let start = out.len();
                self.put_data(out);
                out.extend_from_slice(data.bytes());
                out.truncate(start + DATA_BYTES);
            });
            self.put_customer(values);
        };
        steps.ask(TpccStep::PayBad, put).done().await
    }

    /// Changes the customer's row before it is read.
    async fn pay_unread(&self, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
        let put = |values: &mut Parameters| {
            values.cents(self.cents);
            values.cents(self.cents);
            values.written(|out| self.put_data(out));
            self.put_customer(values);
        };
        steps.ask(TpccStep::Pay, put).done().await?;
        let put = |values: &mut Parameters| self.put_customer(values);
        steps
            .ask(TpccStep::Customer, put)
            .rows(has_row("customer"))
            .await
    }

    fn put_history(&self, values: &mut Parameters) {
        values.ints([self.customer_district, self.customer_warehouse]);
        values.ints([self.customer, self.district, self.warehouse]);
        values.cents(self.cents);
        values.written(|out| {
            out.extend_from_slice(self.warehouse_name.bytes());
            out.extend_from_slice(b"    ");
            out.extend_from_slice(self.district_name.bytes());
        });
    }

    fn put_call(&self, values: &mut Parameters) {
        values.ints([self.warehouse, self.district]);
        self.put_customer(values);
        values.written(|out| self.who.put_name(out));
        values.cents(self.cents);
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
