"""A small web shop on a real server: its data, its application, and the log and dump of both.

`record` does on a private server what docs/guides/your-own-queries.md has the owner of a server do.
All rows and statements come from a seed. Their dates are relative to the day on which the shop is
filled, because some of its statements ask for NOW().
"""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pymysql
from needs import program
from prepared import run_prepared
from pymysql.connections import Connection
from shop_statements import (
    CATEGORIES,
    CITIES,
    DAYS,
    FIRST_NAMES,
    LAST_NAMES,
    PRODUCTS,
    STATUSES,
    WORDS,
    Call,
    Size,
    email_of,
    plan,
    skewed,
    stamp,
    token_of,
)

from contend.servers import PrivateServer

DATABASE = "shop"
ORDERS = 100_000
SEED = 51
CONNECTIONS = 8
ROWS_AT_ONCE = 5_000

INDEXES = {
    "customers_by_email": "customers (email)",
    "products_by_category": "products (category, price_cents)",
    "orders_by_customer": "orders (customer_id, placed_at)",
    "orders_by_day": "orders (placed_at)",
    "items_by_order": "order_items (order_id)",
    "items_by_product": "order_items (product_id)",
    "reviews_by_product": "reviews (product_id, written_at)",
    "sessions_by_token": "sessions (token)",
}
"""Each can be dropped; `needs` of the templates in `shop_statements` names those that it slows."""

TABLES = {
    "customers": "id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(60) NOT NULL,"
    " email VARCHAR(80) NOT NULL, city VARCHAR(40) NOT NULL, since DATE NOT NULL",
    "products": "id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(80) NOT NULL,"
    " category VARCHAR(20) NOT NULL, price_cents INT NOT NULL, stock INT NOT NULL",
    "orders": "id INT AUTO_INCREMENT PRIMARY KEY, customer_id INT NOT NULL,"
    " placed_at DATETIME NOT NULL, status VARCHAR(10) NOT NULL, total_cents INT NOT NULL",
    "order_items": "id INT AUTO_INCREMENT PRIMARY KEY, order_id INT NOT NULL,"
    " product_id INT NOT NULL, quantity INT NOT NULL, cents INT NOT NULL",
    "reviews": "id INT AUTO_INCREMENT PRIMARY KEY, product_id INT NOT NULL, stars INT NOT NULL,"
    " body VARCHAR(200) NOT NULL, written_at DATETIME NOT NULL",
    "sessions": "id INT AUTO_INCREMENT PRIMARY KEY, token VARCHAR(40) NOT NULL,"
    " customer_id INT NOT NULL, seen_at DATETIME NOT NULL",
}


def drop_index(name: str) -> str:
    """The statement that takes an index from the shop."""
    return f"DROP INDEX {name} ON {INDEXES[name].split()[0]}"


def fill(connection: Connection[Any], *, orders: int = ORDERS, seed: int = SEED) -> Size:
    """Make the database and its rows, those of the last days relative to the server's clock."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        connection.select_db(DATABASE)
        cursor.execute("SELECT NOW()")
        (now,) = cursor.fetchone() or ()
        size = Size(orders, now.replace(second=0, microsecond=0))
        for table, columns in TABLES.items():
            cursor.execute(f"CREATE TABLE {table} ({columns}) ENGINE=InnoDB")
        connection.begin()
        for table, rows in _contents(size, random.Random(seed)).items():
            while part := list(islice(rows, ROWS_AT_ONCE)):
                cursor.execute(f"INSERT INTO {table} VALUES {','.join(part)}")
        connection.commit()
        for name, columns in INDEXES.items():
            cursor.execute(f"CREATE INDEX {name} ON {columns}")
        cursor.execute(f"ANALYZE TABLE {', '.join(TABLES)}")
    return size


def _contents(size: Size, drawn: random.Random) -> dict[str, Iterator[str]]:
    """The rows of each table, as the text of an INSERT."""
    return {
        "customers": _customers(size, drawn),
        "products": _products(drawn),
        "orders": _orders(size, drawn),
        "order_items": _items(size, drawn),
        "reviews": _reviews(size, drawn),
        "sessions": _sessions(size, drawn),
    }


def _customers(size: Size, drawn: random.Random) -> Iterator[str]:
    for number in range(1, size.customers + 1):
        name = f"{drawn.choice(FIRST_NAMES)} {drawn.choice(LAST_NAMES)}".replace("'", "''")
        since = size.moment - timedelta(days=drawn.randint(0, 2000))
        city = drawn.choice(CITIES)
        yield f"({number},'{name}','{email_of(number)}','{city}','{since:%Y-%m-%d}')"


def _products(drawn: random.Random) -> Iterator[str]:
    for number in range(1, PRODUCTS + 1):
        category = drawn.choice(CATEGORIES)
        name = f"{drawn.choice(WORDS)} {drawn.choice(WORDS)} thing {number}"
        # Many have the same price, so that an order by price alone has ties.
        price = drawn.randrange(500, 10_000, 100)
        yield f"({number},'{name}','{category}',{price},{drawn.randint(0, 500) + 1000})"


def _orders(size: Size, drawn: random.Random) -> Iterator[str]:
    step = timedelta(days=DAYS) / size.orders
    for number in range(1, size.orders + 1):
        placed = size.moment - step * (size.orders - number)
        status = drawn.choices(STATUSES, (1, 4, 20, 1))[0]
        customer, cents = skewed(drawn, size.customers), drawn.randint(500, 50_000)
        yield f"({number},{customer},'{stamp(placed)}','{status}',{cents})"


def _items(size: Size, drawn: random.Random) -> Iterator[str]:
    for number in range(1, size.orders + 1):
        for _ in range(drawn.choice((1, 1, 2, 3, 5))):
            product = skewed(drawn, PRODUCTS)
            yield f"(0,{number},{product},{drawn.randint(1, 4)},{drawn.randint(99, 9999)})"


def _reviews(size: Size, drawn: random.Random) -> Iterator[str]:
    for number in range(1, size.reviews + 1):
        written = size.moment - timedelta(minutes=drawn.randint(0, DAYS * 1440))
        body = f"{drawn.choice(WORDS)}, {drawn.choice(WORDS)} and très {drawn.choice(WORDS)}"
        product, stars = skewed(drawn, PRODUCTS), drawn.randint(1, 5)
        yield f"({number},{product},{stars},'{body}','{stamp(written)}')"


def _sessions(size: Size, drawn: random.Random) -> Iterator[str]:
    for number in range(1, size.sessions + 1):
        seen = size.moment - timedelta(seconds=drawn.randint(0, 7 * 86_400))
        customer = skewed(drawn, size.customers)
        yield f"({number},'{token_of(number)}',{customer},'{stamp(seen)}')"


def size_of(server: PrivateServer) -> Size:
    """Of a shop that no application has used yet."""
    with server.connect(DATABASE) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*), MAX(placed_at) FROM orders")
        orders, moment = cursor.fetchone() or (0, datetime.min)
    return Size(orders, moment)


def drive(server: PrivateServer, size: Size, statements: int, seed: int = SEED) -> Counter[str]:
    """Run the application over connections of its own: about so many statements.

    Returns:
        calls by text, with those of the connections themselves.
    """
    groups = plan(statements, seed, size)
    sent: list[Counter[str]] = [Counter() for _ in range(CONNECTIONS)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            _send(server, groups[number::CONNECTIONS], sent[number])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
    return sum(sent, Counter())


def _send(server: PrivateServer, groups: list[list[Call]], sent: Counter[str]) -> None:
    connection = pymysql.connect(
        unix_socket=str(server.socket),
        user="root",
        database=DATABASE,
        charset="utf8mb4",
        autocommit=None,
    )
    with connection:
        # PyMySQL sends this one by itself.
        sent["SET NAMES utf8mb4"] += 1
        for group in groups:
            for call in group:
                sent[call.text] += 1
                _ask(connection, call)


def _ask(connection: Connection[Any], call: Call) -> None:
    if call.prepared is not None:
        run_prepared(connection, call.prepared, call.values)
        return
    try:
        connection.query(call.text)
    except pymysql.MySQLError:
        # Some are refused on purpose, and a deadlock ends a transaction: the application goes on.
        if not connection.open:
            raise


@dataclass(frozen=True)
class Recorded:
    """An hour of the shop, shortened: its data at the beginning, its log, and what was sent."""

    dump: Path
    log: Path
    size: Size
    sent: Counter[str]


def record(
    server: PrivateServer,
    folder: Path,
    *,
    statements: int = 20_000,
    orders: int = ORDERS,
    seed: int = SEED,
) -> Recorded:
    """Fill the shop on an empty server, dump it, and log every statement of its application."""
    dump, log = folder / "shop.sql", folder / "shop-slow.log"
    with server.connect() as connection:
        size = fill(connection, orders=orders, seed=seed)
    write_dump(server, dump)
    extra = {"log_slow_extra": "ON"} if server.binary.kind == "mysql" else {}
    server.set_global(
        {"slow_query_log_file": log.name, "long_query_time": 0, **extra, "slow_query_log": "ON"}
    )
    sent = drive(server, size, statements, seed)
    server.set_global({"slow_query_log": "OFF", "long_query_time": 10})
    shutil.copyfile(server.data_folder / log.name, log)
    return Recorded(dump, log, size, sent)


def write_dump(server: PrivateServer, path: Path) -> None:
    """By MariaDB's program, which dumps MySQL too."""
    command = [program("mariadb-dump"), "--no-defaults", f"--socket={server.socket}", "--user=root"]
    with path.open("wb") as file:
        subprocess.run(
            [*command, "--single-transaction", "--routines", "--triggers", DATABASE],
            stdout=file,
            check=True,
        )
