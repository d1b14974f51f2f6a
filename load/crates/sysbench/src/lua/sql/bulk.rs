//! Many rows in one INSERT: rows are gathered and sent when the statement is long enough.

/// A statement is sent before it grows past this.
const STATEMENT_BYTES_MAX: usize = 512 * 1024;

/// One INSERT in the making.
#[derive(Debug, Default)]
pub struct Bulk {
    /// The statement up to its rows.
    head: Vec<u8>,
    text: Vec<u8>,
    open: bool,
    rows: u64,
}

impl Bulk {
    pub fn begin(&mut self, head: &[u8]) {
        self.head.clear();
        self.head.extend_from_slice(head);
        self.text.clear();
        self.rows = 0;
        self.open = true;
    }

    pub fn is_open(&self) -> bool {
        self.open
    }

    /// True where `row` should go into the next statement.
    pub fn is_full_for(&self, row: &[u8]) -> bool {
        self.rows > 0 && self.text.len() + row.len() + 1 >= STATEMENT_BYTES_MAX
    }

    pub fn add(&mut self, row: &[u8]) {
        if self.rows == 0 {
            self.text.extend_from_slice(&self.head);
        } else {
            self.text.push(b',');
        }
        self.text.extend_from_slice(row);
        self.rows += 1;
    }

    /// Takes the statement, if it has rows; the next row begins a new one.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        if self.rows == 0 {
            return None;
        }
        self.rows = 0;
        Some(std::mem::take(&mut self.text))
    }

    /// Gives the memory of a sent statement back.
    pub fn recycle(&mut self, mut text: Vec<u8>) {
        text.clear();
        self.text = text;
    }

    pub fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_gathered_up_to_the_limit() {
        let mut bulk = Bulk::default();
        assert!(!bulk.is_open());
        bulk.begin(b"INSERT INTO t VALUES");
        assert_eq!(bulk.take(), None);
        bulk.add(b"(1)");
        bulk.add(b"(2)");
        assert_eq!(
            bulk.take().as_deref(),
            Some(&b"INSERT INTO t VALUES(1),(2)"[..])
        );
        let row = vec![b'x'; STATEMENT_BYTES_MAX / 2];
        bulk.add(&row);
        assert!(bulk.is_full_for(&row) && !bulk.is_full_for(b"(3)"));
        bulk.end();
        assert!(!bulk.is_open());
    }

    #[test]
    fn a_row_longer_than_the_limit_goes_alone() {
        let mut bulk = Bulk::default();
        bulk.begin(b"INSERT INTO t VALUES");
        assert!(!bulk.is_full_for(&vec![b'x'; 2 * STATEMENT_BYTES_MAX]));
    }
}
