//! The five transactions as stored procedures, each one CALL. They ask like the terminal that has a
//! statement for each row, and return the answers that it would get.

use contend_engine::workload::LookedAtServer;
use contend_figures::outcome::Failure;
use sha2::{Digest, Sha256};

/// Another load generator has made it meanwhile.
const IS_THERE: u16 = 1304;

/// Written into the comment of a procedure, so that one with a different text is replaced, even one
/// of the same version of this program.
fn mark(text: &str) -> String {
    let digest = Sha256::digest(text);
    let digits: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("{OURS}{digits}")
}

/// The beginning of the comment of our procedures.
const OURS: &str = "contend-load ";

/// Creates the procedures that are missing or differ from these, in the database of the run.
///
/// # Errors
/// The user may not create them, no database was named, or a procedure of such a name is not ours.
/// Nothing was touched then.
pub fn create(server: &mut dyn LookedAtServer) -> Result<(), Failure> {
    let there = server.rows(
        "SELECT routine_name, routine_comment FROM information_schema.routines \
         WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE'",
    )?;
    let comment_of = |name: &str| {
        let mut named = there
            .iter()
            .filter(|row| row.first().is_some_and(|it| it.as_deref() == Some(name)));
        named
            .next()
            .map(|row| row.get(1).cloned().flatten().unwrap_or_default())
    };
    let theirs = |name: &&str| comment_of(name).is_some_and(|it| !it.starts_with(OURS));
    if let Some(name) = PROCEDURES.iter().map(|(name, ..)| *name).find(theirs) {
        return Err(Failure::with_hint(
            format!("the database has a procedure {name} that contend-load did not make"),
            "nothing was changed; rename that one, or use a different database",
        ));
    }
    for (name, parameters, body) in PROCEDURES {
        let text = |mark: &str| {
            format!(
                "CREATE PROCEDURE {name}({parameters})\nMODIFIES SQL DATA COMMENT '{mark}'\n{body}"
            )
        };
        let mark = mark(&text(""));
        if let Some(comment) = comment_of(name) {
            if comment == mark {
                continue;
            }
            server.rows(&format!("DROP PROCEDURE IF EXISTS {name}"))?;
        }
        match server.rows(&text(&mark)) {
            Err(failure) if failure.code != Some(IS_THERE) => return Err(failure),
            _ => {}
        }
    }
    Ok(())
}

const PROCEDURES: [(&str, &str, &str); 5] = [
    ("contend_new_order", NEW_ORDER_IN, NEW_ORDER),
    ("contend_payment", PAYMENT_IN, PAYMENT),
    ("contend_order_status", ORDER_STATUS_IN, ORDER_STATUS),
    ("contend_delivery", "in_w INT, in_carrier INT", DELIVERY),
    (
        "contend_stock_level",
        "in_w INT, in_d INT, in_threshold INT",
        STOCK_LEVEL,
    ),
];

/// `in_lines` has 15 digits for each line: item 6, warehouse 7, quantity 2.
const NEW_ORDER_IN: &str = "in_w INT, in_d INT, in_c INT, in_count INT, in_all_local INT, \
     in_lines VARCHAR(255)";

const NEW_ORDER: &str = "BEGIN
    DECLARE is_found, n INT DEFAULT 1;
    DECLARE the_order, the_item, supplier, ordered, the_stock INT;
    DECLARE discount, tax, district_tax DECIMAL(4,4);
    DECLARE price DECIMAL(5,2);
    DECLARE amount, total DECIMAL(12,2) DEFAULT 0;
    DECLARE last_name VARCHAR(16);
    DECLARE credit CHAR(2);
    DECLARE name VARCHAR(24);
    DECLARE item_data, stock_data VARCHAR(50);
    DECLARE info CHAR(24);
    DECLARE told TEXT DEFAULT '';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_found = 0;
    START TRANSACTION;
    SELECT c_discount, c_last, c_credit, w_tax INTO discount, last_name, credit, tax
        FROM customer JOIN warehouse ON w_id = c_w_id
        WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
    SELECT d_next_o_id, d_tax INTO the_order, district_tax FROM district
        WHERE d_w_id = in_w AND d_id = in_d FOR UPDATE;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (the_order, in_d, in_w, in_c, NOW(), in_count, in_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (the_order, in_d, in_w);
    WHILE n <= in_count AND is_found DO
        SET the_item = SUBSTRING(in_lines, 15 * n - 14, 6);
        SET supplier = SUBSTRING(in_lines, 15 * n - 8, 7);
        SET ordered = SUBSTRING(in_lines, 15 * n - 1, 2);
        SELECT i_price, i_name, i_data INTO price, name, item_data FROM item
            WHERE i_id = the_item;
        IF is_found THEN
            SELECT s_quantity, s_data, ELT(in_d, s_dist_01, s_dist_02, s_dist_03, s_dist_04,
                    s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)
                INTO the_stock, stock_data, info FROM stock
                WHERE s_w_id = supplier AND s_i_id = the_item FOR UPDATE;
            SET the_stock = the_stock - ordered + IF(the_stock >= ordered + 10, 0, 91);
            UPDATE stock SET s_quantity = the_stock, s_ytd = s_ytd + ordered,
                s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supplier <> in_w)
                WHERE s_w_id = supplier AND s_i_id = the_item;
            SET amount = price * ordered;
            SET total = total + amount;
            INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id,
                    ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
                VALUES (the_order, in_d, in_w, n, the_item, supplier, ordered, amount, info);
            SET told = CONCAT(told, name, '|', price, '|', the_stock, '|', amount, '|',
                IF(item_data LIKE '%ORIGINAL%' AND stock_data LIKE '%ORIGINAL%', 'B', 'G'), ';');
        END IF;
        SET n = n + 1;
    END WHILE;
    IF is_found THEN
        COMMIT;
    ELSE
        ROLLBACK;
    END IF;
    SELECT is_found, the_order, last_name, credit, discount, tax, district_tax, total, told;
END";

/// `in_c` 0: the customer in the middle of those of that last name.
const PAYMENT_IN: &str = "in_w INT, in_d INT, in_c_w INT, in_c_d INT, in_c INT, \
     in_last VARCHAR(16), in_amount DECIMAL(6,2)";

const PAYMENT: &str = "BEGIN
    DECLARE skipped INT DEFAULT 0;
    DECLARE credit CHAR(2);
    DECLARE old_data VARCHAR(500);
    DECLARE warehouse_name, district_name VARCHAR(10);
    DECLARE EXIT HANDLER FOR NOT FOUND BEGIN
        ROLLBACK;
        SIGNAL SQLSTATE '45000'
            SET MESSAGE_TEXT = 'there is no such warehouse, district or customer';
    END;
    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w;
    SELECT w_name INTO warehouse_name FROM warehouse WHERE w_id = in_w;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d;
    SELECT d_name INTO district_name FROM district WHERE d_w_id = in_w AND d_id = in_d;
    IF in_c = 0 THEN
        SELECT (COUNT(*) + 1) DIV 2 - 1 INTO skipped FROM customer
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last;
        SELECT c_id INTO in_c FROM customer
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last
            ORDER BY c_first LIMIT skipped, 1;
    END IF;
    SELECT c_credit INTO credit FROM customer
        WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = in_c FOR UPDATE;
    IF credit = 'BC' THEN
        SELECT c_data INTO old_data FROM customer
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = in_c FOR UPDATE;
        UPDATE customer SET c_balance = c_balance - in_amount,
            c_ytd_payment = c_ytd_payment + in_amount, c_payment_cnt = c_payment_cnt + 1,
            c_data = LEFT(CONCAT(in_c, ' ', in_c_d, ' ', in_c_w, ' ', in_d, ' ', in_w, ' ',
                in_amount, '|', old_data), 500)
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = in_c;
    ELSE
        UPDATE customer SET c_balance = c_balance - in_amount,
            c_ytd_payment = c_ytd_payment + in_amount, c_payment_cnt = c_payment_cnt + 1
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = in_c;
    END IF;
    INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (in_c_d, in_c_w, in_c, in_d, in_w, NOW(), in_amount,
            CONCAT(warehouse_name, '    ', district_name));
    COMMIT;
    SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_name, d_street_1, d_street_2,
            d_city, d_state, d_zip, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city,
            c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance,
            IF(c_credit = 'BC', LEFT(c_data, 200), '') AS c_data
        FROM warehouse
        JOIN district ON d_w_id = w_id AND d_id = in_d
        JOIN customer ON c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = in_c
        WHERE w_id = in_w;
END";

const ORDER_STATUS_IN: &str = "in_w INT, in_d INT, in_c INT, in_last VARCHAR(16)";

const ORDER_STATUS: &str = "BEGIN
    DECLARE skipped, the_order INT DEFAULT 0;
    START TRANSACTION;
    IF in_c = 0 THEN
        SELECT (COUNT(*) + 1) DIV 2 - 1 INTO skipped FROM customer
            WHERE c_w_id = in_w AND c_d_id = in_d AND c_last = in_last;
        SELECT c_id INTO in_c FROM customer
            WHERE c_w_id = in_w AND c_d_id = in_d AND c_last = in_last
            ORDER BY c_first LIMIT skipped, 1;
    END IF;
    SELECT c_balance, c_first, c_middle, c_last FROM customer
        WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
    SELECT o_id INTO the_order FROM orders
        WHERE o_w_id = in_w AND o_d_id = in_d AND o_c_id = in_c ORDER BY o_id DESC LIMIT 1;
    SELECT o_id, o_carrier_id, o_entry_d FROM orders
        WHERE o_w_id = in_w AND o_d_id = in_d AND o_id = the_order;
    SELECT ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id = the_order;
    COMMIT;
END";

const DELIVERY: &str = "BEGIN
    DECLARE district INT DEFAULT 1;
    DECLARE is_found INT;
    DECLARE the_order, the_customer INT;
    DECLARE amount DECIMAL(12,2);
    DECLARE told VARCHAR(255) DEFAULT '';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_found = 0;
    START TRANSACTION;
    WHILE district <= 10 DO
        SET is_found = 1;
        SELECT no_o_id INTO the_order FROM new_order
            WHERE no_w_id = in_w AND no_d_id = district ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF is_found THEN
            DELETE FROM new_order
                WHERE no_w_id = in_w AND no_d_id = district AND no_o_id = the_order;
            SELECT o_c_id INTO the_customer FROM orders
                WHERE o_w_id = in_w AND o_d_id = district AND o_id = the_order FOR UPDATE;
            UPDATE orders SET o_carrier_id = in_carrier
                WHERE o_w_id = in_w AND o_d_id = district AND o_id = the_order;
            UPDATE order_line SET ol_delivery_d = NOW()
                WHERE ol_w_id = in_w AND ol_d_id = district AND ol_o_id = the_order;
            SELECT SUM(ol_amount) INTO amount FROM order_line
                WHERE ol_w_id = in_w AND ol_d_id = district AND ol_o_id = the_order;
            UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = in_w AND c_d_id = district AND c_id = the_customer;
            SET told = CONCAT(told, district, ':', the_order, ' ');
        END IF;
        SET district = district + 1;
    END WHILE;
    COMMIT;
    SELECT told;
END";

const STOCK_LEVEL: &str = "BEGIN
    DECLARE next_order INT;
    START TRANSACTION;
    SELECT d_next_o_id INTO next_order FROM district WHERE d_w_id = in_w AND d_id = in_d;
    SELECT COUNT(DISTINCT s_i_id) FROM order_line
        JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
        WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id < next_order
            AND ol_o_id >= next_order - 20 AND s_quantity < in_threshold;
    COMMIT;
END";
