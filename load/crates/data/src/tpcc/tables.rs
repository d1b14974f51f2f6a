//! The nine tables of TPC-C, with the specification's types, and one for the facts of the load.
//!
//! Names are the specification's in lower case; `orders` is in the plural, since ORDER is a word of
//! SQL. The additional table `contend_tpcc` has names and values, which describe the loaded data to
//! a run:
//!
//! | name | value |
//! |---|---|
//! | `state` | `loading`, or `complete` |
//! | `seed` | of the content |
//! | `warehouses` | how many |
//! | `customers_per_district`, `items` | 3000 and 100000, unless the load was shrunk |
//! | `c_load` | the constant C of NURand(255, 0, 999) that made `c_last` (clause 2.1.6.1) |
//! | `engine`, `table_options` | how all tables are stored |
//! | `loaded.TABLE` | rows and checksum of each table that is complete |

use crate::table::Definition;

/// A table and its column of warehouses, for partitions; `item` is of no warehouse.
pub struct OfWarehouse {
    pub definition: Definition,
    pub warehouse: Option<&'static str>,
    /// Text after `FOREIGN KEY` in each.
    pub foreign: &'static [&'static str],
    /// Keys that only the foreign keys need.
    pub foreign_keys_keys: &'static [&'static str],
}

pub const WAREHOUSE: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "warehouse",
        body: &[
            "w_id INT NOT NULL",
            "w_name VARCHAR(10) NOT NULL",
            "w_street_1 VARCHAR(20) NOT NULL",
            "w_street_2 VARCHAR(20) NOT NULL",
            "w_city VARCHAR(20) NOT NULL",
            "w_state CHAR(2) NOT NULL",
            "w_zip CHAR(9) NOT NULL",
            "w_tax DECIMAL(4,4) NOT NULL",
            "w_ytd DECIMAL(12,2) NOT NULL",
            "PRIMARY KEY (w_id)",
        ],
        has_nulls: false,
        row_bytes: 120,
    },
    warehouse: Some("w_id"),
    foreign: &[],
    foreign_keys_keys: &[],
};

pub const DISTRICT: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "district",
        body: &[
            "d_id TINYINT NOT NULL",
            "d_w_id INT NOT NULL",
            "d_name VARCHAR(10) NOT NULL",
            "d_street_1 VARCHAR(20) NOT NULL",
            "d_street_2 VARCHAR(20) NOT NULL",
            "d_city VARCHAR(20) NOT NULL",
            "d_state CHAR(2) NOT NULL",
            "d_zip CHAR(9) NOT NULL",
            "d_tax DECIMAL(4,4) NOT NULL",
            "d_ytd DECIMAL(12,2) NOT NULL",
            "d_next_o_id INT NOT NULL",
            "PRIMARY KEY (d_w_id, d_id)",
        ],
        has_nulls: false,
        row_bytes: 130,
    },
    warehouse: Some("d_w_id"),
    foreign: &["(d_w_id) REFERENCES `warehouse` (w_id)"],
    foreign_keys_keys: &[],
};

pub const CUSTOMER: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "customer",
        body: &[
            "c_id INT NOT NULL",
            "c_d_id TINYINT NOT NULL",
            "c_w_id INT NOT NULL",
            "c_first VARCHAR(16) NOT NULL",
            "c_middle CHAR(2) NOT NULL",
            "c_last VARCHAR(16) NOT NULL",
            "c_street_1 VARCHAR(20) NOT NULL",
            "c_street_2 VARCHAR(20) NOT NULL",
            "c_city VARCHAR(20) NOT NULL",
            "c_state CHAR(2) NOT NULL",
            "c_zip CHAR(9) NOT NULL",
            "c_phone CHAR(16) NOT NULL",
            "c_since DATETIME NOT NULL",
            "c_credit CHAR(2) NOT NULL",
            "c_credit_lim DECIMAL(12,2) NOT NULL",
            "c_discount DECIMAL(4,4) NOT NULL",
            "c_balance DECIMAL(12,2) NOT NULL",
            "c_ytd_payment DECIMAL(12,2) NOT NULL",
            "c_payment_cnt INT NOT NULL",
            "c_delivery_cnt INT NOT NULL",
            "c_data VARCHAR(500) NOT NULL",
            "PRIMARY KEY (c_w_id, c_d_id, c_id)",
            "KEY customer_name (c_w_id, c_d_id, c_last, c_first)",
        ],
        has_nulls: false,
        row_bytes: 680,
    },
    warehouse: Some("c_w_id"),
    foreign: &["(c_w_id, c_d_id) REFERENCES `district` (d_w_id, d_id)"],
    foreign_keys_keys: &[],
};

pub const HISTORY: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "history",
        body: &[
            "h_c_id INT NOT NULL",
            "h_c_d_id TINYINT NOT NULL",
            "h_c_w_id INT NOT NULL",
            "h_d_id TINYINT NOT NULL",
            "h_w_id INT NOT NULL",
            "h_date DATETIME NOT NULL",
            "h_amount DECIMAL(6,2) NOT NULL",
            "h_data VARCHAR(24) NOT NULL",
        ],
        has_nulls: false,
        row_bytes: 75,
    },
    warehouse: Some("h_w_id"),
    foreign: &[
        "(h_c_w_id, h_c_d_id, h_c_id) REFERENCES `customer` (c_w_id, c_d_id, c_id)",
        "(h_w_id, h_d_id) REFERENCES `district` (d_w_id, d_id)",
    ],
    foreign_keys_keys: &[
        "KEY history_customer (h_c_w_id, h_c_d_id, h_c_id)",
        "KEY history_district (h_w_id, h_d_id)",
    ],
};

pub const ORDERS: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "orders",
        body: &[
            "o_id INT NOT NULL",
            "o_d_id TINYINT NOT NULL",
            "o_w_id INT NOT NULL",
            "o_c_id INT NOT NULL",
            "o_entry_d DATETIME NOT NULL",
            "o_carrier_id TINYINT NULL",
            "o_ol_cnt TINYINT NOT NULL",
            "o_all_local TINYINT NOT NULL",
            "PRIMARY KEY (o_w_id, o_d_id, o_id)",
            "KEY orders_customer (o_w_id, o_d_id, o_c_id, o_id)",
        ],
        has_nulls: true,
        row_bytes: 75,
    },
    warehouse: Some("o_w_id"),
    foreign: &["(o_w_id, o_d_id, o_c_id) REFERENCES `customer` (c_w_id, c_d_id, c_id)"],
    foreign_keys_keys: &[],
};

pub const NEW_ORDER: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "new_order",
        body: &[
            "no_o_id INT NOT NULL",
            "no_d_id TINYINT NOT NULL",
            "no_w_id INT NOT NULL",
            "PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
        ],
        has_nulls: false,
        row_bytes: 30,
    },
    warehouse: Some("no_w_id"),
    foreign: &["(no_w_id, no_d_id, no_o_id) REFERENCES `orders` (o_w_id, o_d_id, o_id)"],
    foreign_keys_keys: &[],
};

pub const ORDER_LINE: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "order_line",
        body: &[
            "ol_o_id INT NOT NULL",
            "ol_d_id TINYINT NOT NULL",
            "ol_w_id INT NOT NULL",
            "ol_number TINYINT NOT NULL",
            "ol_i_id INT NOT NULL",
            "ol_supply_w_id INT NOT NULL",
            "ol_delivery_d DATETIME NULL",
            "ol_quantity TINYINT NOT NULL",
            "ol_amount DECIMAL(6,2) NOT NULL",
            "ol_dist_info CHAR(24) NOT NULL",
            "PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
        ],
        has_nulls: true,
        row_bytes: 85,
    },
    warehouse: Some("ol_w_id"),
    foreign: &[
        "(ol_w_id, ol_d_id, ol_o_id) REFERENCES `orders` (o_w_id, o_d_id, o_id)",
        "(ol_supply_w_id, ol_i_id) REFERENCES `stock` (s_w_id, s_i_id)",
    ],
    foreign_keys_keys: &["KEY order_line_stock (ol_supply_w_id, ol_i_id)"],
};

pub const ITEM: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "item",
        body: &[
            "i_id INT NOT NULL",
            "i_im_id INT NOT NULL",
            "i_name VARCHAR(24) NOT NULL",
            "i_price DECIMAL(5,2) NOT NULL",
            "i_data VARCHAR(50) NOT NULL",
            "PRIMARY KEY (i_id)",
        ],
        has_nulls: false,
        row_bytes: 110,
    },
    warehouse: None,
    foreign: &[],
    foreign_keys_keys: &[],
};

pub const STOCK: OfWarehouse = OfWarehouse {
    definition: Definition {
        name: "stock",
        body: &[
            "s_i_id INT NOT NULL",
            "s_w_id INT NOT NULL",
            "s_quantity SMALLINT NOT NULL",
            "s_dist_01 CHAR(24) NOT NULL",
            "s_dist_02 CHAR(24) NOT NULL",
            "s_dist_03 CHAR(24) NOT NULL",
            "s_dist_04 CHAR(24) NOT NULL",
            "s_dist_05 CHAR(24) NOT NULL",
            "s_dist_06 CHAR(24) NOT NULL",
            "s_dist_07 CHAR(24) NOT NULL",
            "s_dist_08 CHAR(24) NOT NULL",
            "s_dist_09 CHAR(24) NOT NULL",
            "s_dist_10 CHAR(24) NOT NULL",
            "s_ytd INT NOT NULL",
            "s_order_cnt INT NOT NULL",
            "s_remote_cnt INT NOT NULL",
            "s_data VARCHAR(50) NOT NULL",
            "PRIMARY KEY (s_w_id, s_i_id)",
        ],
        has_nulls: false,
        row_bytes: 350,
    },
    warehouse: Some("s_w_id"),
    foreign: &[
        "(s_w_id) REFERENCES `warehouse` (w_id)",
        "(s_i_id) REFERENCES `item` (i_id)",
    ],
    foreign_keys_keys: &["KEY stock_item (s_i_id)"],
};
