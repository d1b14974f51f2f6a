//! The statements of a new order at each step, for each way of asking.

use super::{LINES_MAX, LINES_MIN};
use crate::tpcc::book::{TpccStep, Wording, lists};
use crate::tpcc::keys::Ask;

const STOCK_COLUMNS: &str = "s_quantity, s_data, ELT(?, s_dist_01, s_dist_02, s_dist_03, \
     s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)";

const INSERT_LINES: &str = "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, \
     ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES {}";

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = Wording::new;
    if ask == Ask::Procedure {
        let call = "CALL contend_new_order(?, ?, ?, ?, ?, ?)";
        return vec![say(TpccStep::Call, "call").text(call)];
    }
    let mut wordings = vec![say(TpccStep::Begin, "begin").frame()];
    if ask == Ask::NoRead {
        wordings.extend([
            say(TpccStep::Customer, "select_customer").text(
                "SELECT c_discount, c_last, c_credit, w_tax, d_tax FROM customer \
                 JOIN warehouse ON w_id = c_w_id \
                 JOIN district ON d_w_id = c_w_id AND d_id = c_d_id \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            ),
            say(TpccStep::NextOrder, "update_district").text(
                "UPDATE district SET d_next_o_id = LAST_INSERT_ID(d_next_o_id) + 1 \
                 WHERE d_w_id = ? AND d_id = ?",
            ),
            // Asked if the answer has no number: a front of MariaDB's Spider hands the UPDATE over
            // to a different server, and the answer of that server stays there.
            say(TpccStep::District, "select_district").text(
                "SELECT d_next_o_id - 1 FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
            ),
        ]);
    } else {
        wordings.extend([
            say(TpccStep::Customer, "select_customer").text(
                "SELECT c_discount, c_last, c_credit, w_tax FROM customer \
                 JOIN warehouse ON w_id = c_w_id WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            ),
            say(TpccStep::District, "select_district").text(
                "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
            ),
            say(TpccStep::NextOrder, "update_district").text(
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
            ),
        ]);
    }
    wordings.extend([
        say(TpccStep::Order, "insert_order").text(
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             VALUES (?, ?, ?, ?, NOW(), ?, ?)",
        ),
        say(TpccStep::NewOrder, "insert_new_order")
            .text("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)"),
    ]);
    let locks = if ask == Ask::NoRead {
        ""
    } else {
        " FOR UPDATE"
    };
    if ask == Ask::Each {
        let stock =
            format!("SELECT {STOCK_COLUMNS} FROM stock WHERE s_w_id = ? AND s_i_id = ?{locks}");
        wordings.extend([
            say(TpccStep::Item, "select_item")
                .text("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?"),
            say(TpccStep::Stock, "select_stock").text(&stock),
        ]);
    } else {
        let items = "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})";
        let stocks = format!(
            "SELECT s_w_id, s_i_id, {STOCK_COLUMNS} FROM stock \
             WHERE (s_w_id, s_i_id) IN ({{}}){locks}"
        );
        let (least, most) = (LINES_MIN, LINES_MAX);
        let items = lists(items, "?", least, most);
        let stocks = lists(&stocks, "(?, ?)", least, most);
        wordings.extend([
            say(TpccStep::Items, "select_items").texts(items),
            say(TpccStep::Stocks, "select_stocks").texts(stocks),
        ]);
    }
    let quantity = match ask {
        Ask::NoRead => "IF(s_quantity >= ? + 10, s_quantity - ?, s_quantity - ? + 91)",
        _ => "?",
    };
    let update = format!(
        "UPDATE stock SET s_quantity = {quantity}, s_ytd = s_ytd + ?, \
         s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
         WHERE s_w_id = ? AND s_i_id = ?"
    );
    wordings.push(say(TpccStep::UpdateStock, "update_stock").text(&update));
    const VALUES: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?)";
    wordings.push(match ask {
        Ask::Each | Ask::In => {
            say(TpccStep::Line, "insert_order_line").text(&INSERT_LINES.replace("{}", VALUES))
        }
        _ => {
            let lines = lists(INSERT_LINES, VALUES, LINES_MIN - 1, LINES_MAX);
            say(TpccStep::Lines, "insert_order_lines").texts(lines)
        }
    });
    wordings.extend([
        say(TpccStep::Commit, "commit").frame(),
        say(TpccStep::Rollback, "rollback").frame(),
    ]);
    wordings
}
