"""What the application of the shop asks: some 50 templates with their shares, and the values that
are drawn for them.

`needs` of a template names the indexes that it cannot do without. If one of them is dropped, the
templates that name it read many times as many rows, and all others about as many as before:
tests/server/test_shop.py holds the templates to that.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

PRODUCTS = 2_000
CATEGORIES = ("books", "garden", "kitchen", "lamps", "music", "paint", "shoes", "tools")
CITIES = ("Berlin", "Genoa", "Lyon", "Malmö", "Porto", "Turku", "Vienna", "York")
FIRST_NAMES = ("Ada", "Bo", "Chloé", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jürgen")
LAST_NAMES = ("Adams", "Brandt", "Costa", "Duval", "Eriksson", "Ferri", "Gall", "O'Hara", "Vogel")
WORDS = ("blue", "large", "light", "old", "red", "round", "small", "soft", "tall", "wide")
STATUSES = ("new", "paid", "sent", "back")
DAYS = 90
"""The orders of the shop are spread over so many days, the last of which is still going on."""


@dataclass(frozen=True)
class Size:
    """How much is in the shop, and the moment at which its data ends."""

    orders: int
    moment: datetime

    @property
    def customers(self) -> int:
        return self.orders // 5

    @property
    def sessions(self) -> int:
        return self.orders // 5

    @property
    def reviews(self) -> int:
        return self.orders // 3


def skewed(drawn: random.Random, count: int) -> int:
    """A number from 1 to `count`; with 20,000, the first has 3.7 % of all."""
    return int(count * drawn.random() ** 3) + 1


def token_of(session: int) -> str:
    return f"{session * 2654435761 % 2**32:08x}-{session}"


def email_of(customer: int) -> str:
    return f"customer{customer}@example.com"


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _days_ago(drawn: random.Random, size: Size, most: int) -> str:
    return f"{size.moment - timedelta(days=drawn.randint(1, most)):%Y-%m-%d}"


def _numbers(drawn: random.Random, most: int) -> str:
    numbers = (skewed(drawn, most) for _ in range(drawn.choice((2, 5, 5, 20))))
    return ", ".join(map(str, numbers))


def _lines(drawn: random.Random) -> str:
    return ", ".join(
        f"(LAST_INSERT_ID(), {skewed(drawn, PRODUCTS)}, {drawn.randint(1, 3)}, 990)"
        for _ in range(drawn.randint(1, 4))
    )


DRAWS: dict[str, Callable[[random.Random, Size], Any]] = {
    "customer": lambda drawn, size: skewed(drawn, size.customers),
    "any_customer": lambda drawn, size: drawn.randint(1, size.customers),
    "customers": lambda drawn, size: _numbers(drawn, size.customers),
    "email": lambda drawn, size: email_of(skewed(drawn, size.customers)),
    "product": lambda drawn, _size: skewed(drawn, PRODUCTS),
    "any_product": lambda drawn, _size: drawn.randint(1, PRODUCTS),
    "products": lambda drawn, _size: _numbers(drawn, PRODUCTS),
    "order": lambda drawn, size: size.orders + 1 - skewed(drawn, size.orders),
    "session": lambda drawn, size: skewed(drawn, size.sessions),
    "token": lambda drawn, size: token_of(skewed(drawn, size.sessions)),
    "category": lambda drawn, _size: CATEGORIES[skewed(drawn, len(CATEGORIES)) - 1],
    "city": lambda drawn, _size: drawn.choice(CITIES),
    "name": lambda drawn, _size: drawn.choice(FIRST_NAMES),
    "word": lambda drawn, _size: drawn.choice(WORDS),
    "cents": lambda drawn, _size: drawn.randrange(500, 9000, 100),
    "stars": lambda drawn, _size: drawn.randint(1, 5),
    "page": lambda drawn, _size: skewed(drawn, 5) * 20 - 20,
    "lines": lambda drawn, _size: _lines(drawn),
    "yesterday": lambda _drawn, size: f"{size.moment - timedelta(days=1):%Y-%m-%d}",
    "day": lambda drawn, size: _days_ago(drawn, size, 30),
    "hours": lambda drawn, _size: drawn.randint(1, 6),
}


class _Values(dict[str, Any]):
    """The values of one call, each drawn when its template first asks for it."""

    def __init__(self, drawn: random.Random, size: Size) -> None:
        super().__init__()
        self._drawn, self._size = drawn, size

    def __missing__(self, name: str) -> Any:
        value = self[name] = DRAWS[name](self._drawn, self._size)
        return value


@dataclass(frozen=True)
class Call:
    """One statement to send.

    Args:
        text: with its values.
        prepared: with `?` in place of the values, which the binary protocol carries; else None.
    """

    text: str
    prepared: str | None = None
    values: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Template:
    """Statements that are sent together, on one connection.

    Args:
        weight: its share of all calls, over the sum of the weights.
        texts: with `{name}` of a value in `DRAWS`; several are a transaction.
        needs: indexes; without any of them it reads many times as many rows.
        prepared: its values travel in the binary protocol.
        fails: the server refuses it.
    """

    name: str
    weight: int
    texts: tuple[str, ...]
    needs: tuple[str, ...] = ()
    prepared: bool = False
    fails: bool = False

    def calls(self, drawn: random.Random, size: Size) -> list[Call]:
        values = _Values(drawn, size)
        return [self._call(text, values) for text in self.texts]

    def _call(self, text: str, values: _Values) -> Call:
        said = text.format_map(values)
        if not self.prepared:
            return Call(said)
        names = re.findall(r"'?\{(\w+)\}'?", text)
        return Call(said, re.sub(r"'?\{\w+\}'?", "?", text), tuple(values[name] for name in names))


def _one(name: str, weight: int, text: str, *needs: str, **more: bool) -> Template:
    return Template(name, weight, (text,), needs, **more)


TEMPLATES = (
    _one("customer", 2000, "SELECT id, name, email, city FROM customers WHERE id = {customer}"),
    _one(
        "product",
        2600,
        "SELECT id, name, category, price_cents, stock FROM products WHERE id = {product}",
    ),
    _one(
        "session",
        1500,
        "SELECT id, customer_id, seen_at FROM sessions WHERE token = '{token}'",
        "sessions_by_token",
    ),
    _one(
        "login",
        150,
        "SELECT id, name FROM customers WHERE email = '{email}'",
        "customers_by_email",
    ),
    _one(
        "orders_of_customer",
        400,
        "SELECT id, placed_at, status, total_cents FROM orders WHERE customer_id = {customer}"
        " ORDER BY placed_at DESC, id DESC LIMIT 10",
        "orders_by_customer",
    ),
    _one(
        "newest_of_customer",
        60,
        "SELECT id, status FROM orders WHERE customer_id = {customer}"
        " ORDER BY placed_at DESC LIMIT 3",
        "orders_by_customer",
    ),
    _one(
        "count_of_customer",
        120,
        "SELECT COUNT(*) FROM orders WHERE customer_id = {customer}",
        "orders_by_customer",
    ),
    _one(
        "spent_by_customer",
        40,
        "SELECT COUNT(*), SUM(total_cents) FROM orders WHERE customer_id = {any_customer}"
        " AND status <> 'back'",
        "orders_by_customer",
    ),
    _one(
        "since",
        30,
        "SELECT id, total_cents FROM orders WHERE customer_id = {any_customer}"
        " AND placed_at >= '{day}'",
        "orders_by_customer",
        prepared=True,
    ),
    _one(
        "activity",
        20,
        "SELECT 'order' AS kind, placed_at AS at FROM orders WHERE customer_id = {any_customer}"
        " UNION ALL SELECT 'review', written_at FROM reviews WHERE product_id = {product}"
        " ORDER BY at DESC LIMIT 20",
        "orders_by_customer",
        "reviews_by_product",
    ),
    _one(
        "items_of_order",
        700,
        "SELECT p.id, p.name, i.quantity, i.cents FROM order_items i"
        " JOIN products p ON p.id = i.product_id WHERE i.order_id = {order}",
        "items_by_order",
    ),
    _one(
        "order",
        300,
        "SELECT o.id, o.placed_at, o.status, c.name FROM orders o"
        " JOIN customers c ON c.id = o.customer_id WHERE o.id = {order}",
    ),
    _one(
        "bought_too",
        4,
        "SELECT product_id, COUNT(*) AS times FROM order_items WHERE order_id IN"
        " (SELECT order_id FROM order_items WHERE product_id = {any_product})"
        " GROUP BY product_id ORDER BY times DESC, product_id LIMIT 5",
        "items_by_order",
        "items_by_product",
    ),
    _one(
        "sold",
        25,
        "SELECT SUM(quantity) FROM order_items WHERE product_id = {product}",
        "items_by_product",
    ),
    _one(
        "reviews",
        500,
        "SELECT stars, body, written_at FROM reviews WHERE product_id = {product}"
        " ORDER BY written_at DESC LIMIT 20",
        "reviews_by_product",
    ),
    _one(
        "rating",
        250,
        "SELECT COUNT(*), AVG(stars) FROM reviews WHERE product_id = {product}",
        "reviews_by_product",
    ),
    _one(
        "list",
        350,
        "SELECT id, name, price_cents FROM products WHERE category = '{category}'"
        " ORDER BY price_cents LIMIT 24",
        "products_by_category",
    ),
    _one(
        "list_by_price",
        120,
        "SELECT id, name, price_cents FROM products WHERE category = '{category}'"
        " AND price_cents BETWEEN {cents} AND {cents} + 800 ORDER BY price_cents, id LIMIT 24",
        "products_by_category",
    ),
    _one(
        "some_of_category",
        30,
        "SELECT id, name FROM products WHERE category = '{category}' LIMIT 12",
        "products_by_category",
    ),
    _one("cart", 300, "SELECT id, name, price_cents, stock FROM products WHERE id IN ({products})"),
    _one("names_of", 40, "SELECT id, name FROM customers WHERE id IN ({customers})"),
    _one(
        "search",
        60,
        "SELECT id, name FROM products WHERE name LIKE '%{word}%' ORDER BY id LIMIT 20"
        " OFFSET {page}",
    ),
    _one("customers_like", 6, "SELECT id, name FROM customers WHERE name LIKE '{name}%' LIMIT 50"),
    _one(
        "in_stock",
        200,
        "SELECT stock FROM products WHERE id = {product} AND category <> '{category}'",
        prepared=True,
    ),
    _one(
        "offers",
        10,
        "SELECT id, name FROM products WHERE stock > 20 ORDER BY RAND() LIMIT 3",
    ),
    _one(
        "dearer",
        6,
        "SELECT COUNT(*) FROM products p WHERE p.price_cents >"
        " (SELECT AVG(q.price_cents) FROM products q) AND p.stock < {cents}",
    ),
    _one(
        "day",
        20,
        "SELECT COUNT(*), SUM(total_cents) FROM orders WHERE placed_at >= '{day}'"
        " AND placed_at < '{day}' + INTERVAL 1 DAY",
        "orders_by_day",
    ),
    _one(
        "to_pack",
        15,
        "SELECT id, customer_id FROM orders WHERE placed_at >= '{yesterday}'"
        " AND status = 'new' ORDER BY placed_at, id LIMIT 50",
        "orders_by_day",
    ),
    _one(
        "last_hours",
        30,
        "SELECT COUNT(*) FROM orders WHERE placed_at > NOW() - INTERVAL {hours} HOUR",
        "orders_by_day",
    ),
    _one(
        "newest",
        10,
        "SELECT id, total_cents, placed_at FROM orders"
        " WHERE placed_at > CURDATE() - INTERVAL 2 DAY ORDER BY placed_at DESC LIMIT 5",
        "orders_by_day",
    ),
    _one(
        "revenue_by_day",
        2,
        "SELECT DATE(placed_at) AS day, COUNT(*), SUM(total_cents) FROM orders"
        " GROUP BY DATE(placed_at) ORDER BY day",
    ),
    _one("by_status", 3, "SELECT status, COUNT(*) FROM orders GROUP BY status"),
    _one(
        "best_sellers",
        3,
        "SELECT i.product_id, SUM(i.quantity) AS sold FROM orders o"
        " JOIN order_items i ON i.order_id = o.id WHERE o.placed_at >= '{yesterday}'"
        " GROUP BY i.product_id ORDER BY sold DESC LIMIT 10",
        "items_by_order",
        "orders_by_day",
    ),
    _one(
        "revenue_by_category",
        2,
        "SELECT p.category, SUM(i.quantity * i.cents) FROM orders o"
        " JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id"
        " WHERE o.placed_at >= '{yesterday}' GROUP BY p.category ORDER BY 2 DESC",
        "items_by_order",
        "orders_by_day",
    ),
    _one("cities", 4, "SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY 2 DESC, city"),
    _one(
        "without_reviews",
        3,
        "SELECT p.id FROM products p WHERE p.category = '{category}' AND NOT EXISTS"
        " (SELECT 1 FROM reviews r WHERE r.product_id = p.id AND r.stars >= {stars})",
        "products_by_category",
        "reviews_by_product",
    ),
    _one(
        "categories",
        5,
        "SELECT DISTINCT category FROM products ORDER BY category",
        "products_by_category",
    ),
    _one("names", 10, "SET NAMES utf8mb4"),
    _one(
        "seen",
        600,
        "UPDATE sessions SET seen_at = NOW() WHERE id = {session}",
    ),
    _one("leave", 5, "DELETE FROM sessions WHERE id = {session}"),
    _one(
        "review",
        8,
        "INSERT INTO reviews (product_id, stars, body, written_at)"
        " VALUES ({product}, {stars}, 'It''s {word}; \"schön\"', NOW())",
    ),
    Template(
        "checkout",
        40,
        (
            "BEGIN",
            "INSERT INTO orders (customer_id, placed_at, status, total_cents)"
            " VALUES ({customer}, NOW(), 'new', {cents})",
            "INSERT INTO order_items (order_id, product_id, quantity, cents) VALUES {lines}",
            "UPDATE products SET stock = stock - 1 WHERE id = {product}",
            "COMMIT",
        ),
    ),
    Template(
        "pay",
        30,
        (
            "BEGIN",
            "SELECT status, total_cents FROM orders WHERE id = {order} FOR UPDATE",
            "UPDATE orders SET status = 'paid' WHERE id = {order}",
            "COMMIT",
        ),
    ),
    _one(
        "wishlist", 2, "SELECT product_id FROM wishlist WHERE customer_id = {customer}", fails=True
    ),
    _one("colour", 2, "SELECT id, colour FROM products WHERE id = {product}", fails=True),
    _one(
        "twice",
        2,
        "INSERT INTO customers (id, name, email, city, since)"
        " VALUES ({customer}, '{name}', '{email}', '{city}', CURDATE())",
        fails=True,
    ),
)


def plan(statements: int, seed: int, size: Size) -> list[list[Call]]:
    """About so many statements in a random order, as groups that stay together: each template by
    its weight, and at least once."""
    drawn = random.Random(seed)
    whole = sum(template.weight * len(template.texts) for template in TEMPLATES)
    groups = []
    for template in TEMPLATES:
        for _ in range(max(1, round(statements * template.weight / whole))):
            groups.append(template.calls(drawn, size))
    drawn.shuffle(groups)
    return groups


def templates_of(text: str) -> set[str]:
    """The names of the templates that such a statement is of; several for BEGIN and COMMIT.

    Args:
        text: with values, or with `?` in place of them.
    """
    return {
        template.name
        for template in TEMPLATES
        if any(_pattern(part).fullmatch(text) for part in template.texts)
    }


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".+?".join(map(re.escape, re.split(r"\{\w+\}", text))), re.DOTALL)
