//! A line of an order, and its row of stock.

use crate::native::Said;
use contend_wire::Value;

/// `ol_dist_info`.
const INFO_BYTES: usize = 24;

#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    pub item: u64,
    pub supplier: u64,
    pub quantity: u64,
    /// Values of the item's and the stock's rows; nothing yet.
    pub price_cents: Option<i64>,
    pub stock: Option<i64>,
    info: [u8; INFO_BYTES],
    info_bytes: usize,
}

impl Line {
    /// Takes the values of the row of stock.
    pub fn set_stock(&mut self, stock: &Stock) {
        self.stock = Some(stock.quantity);
        (self.info, self.info_bytes) = (stock.info, stock.info_bytes);
    }

    /// The stock row's text for the order's district.
    pub fn info(&self) -> &[u8] {
        self.info.get(..self.info_bytes).unwrap_or_default()
    }

    /// Clause 2.4.2.2: the rest of the stock; below 10 it is filled up.
    pub fn stock_after(&self) -> i64 {
        let (stock, ordered) = (self.stock.unwrap_or(0), self.quantity as i64);
        match stock >= ordered + 10 {
            true => stock - ordered,
            false => stock - ordered + 91,
        }
    }
}

/// The values of a row of stock.
#[derive(Default)]
pub struct Stock {
    pub quantity: i64,
    info: [u8; INFO_BYTES],
    info_bytes: usize,
}

impl Stock {
    /// The values of the only row of an answer.
    pub fn read(said: Said<'_>) -> Result<Self, &'static str> {
        let (mut stock, mut place) = (Self::default(), 0);
        let is_there = said.first_row(|value| {
            stock.take(place, value);
            place += 1;
        });
        is_there.then_some(stock).ok_or("row of stock")
    }

    pub fn take(&mut self, place: usize, value: Value<'_>) {
        match (place, value) {
            (0, quantity) => self.quantity = quantity.as_int().unwrap_or(0),
            (2, Value::Bytes(info)) => {
                self.info_bytes = info.len().min(INFO_BYTES);
                let bytes = self.info.iter_mut().zip(info);
                bytes.for_each(|(to, from)| *to = *from);
            }
            _ => {}
        }
    }
}
