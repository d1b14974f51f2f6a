"""Prepared statements over the binary protocol, which PyMySQL itself does not have."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from pymysql.connections import Connection

COM_PREPARE, COM_EXECUTE, COM_CLOSE = 0x16, 0x17, 0x19


def run_prepared(connection: Connection[Any], text: str, values: Sequence[int | str]) -> None:
    """Prepare, execute with values, and close."""
    connection._execute_command(COM_PREPARE, text)
    head = connection._read_packet().get_all_data()
    number, columns, params = struct.unpack_from("<IHH", head, 1)
    for count in (params, columns):
        for _ in range(count + 1 if count else 0):
            connection._read_packet()
    connection._execute_command(COM_EXECUTE, _execution(number, values))
    _read_binary(connection)
    # The server does not answer this one.
    connection._execute_command(COM_CLOSE, struct.pack("<I", number))
    connection._next_seq_id = 0


def _read_binary(connection: Connection[Any]) -> None:
    first = connection._read_packet()
    if first.is_ok_packet():
        return
    columns = first.get_all_data()[0]
    for _ in range(columns + 1):
        connection._read_packet()
    while not connection._read_packet().is_eof_packet():
        pass


def _execution(number: int, values: Sequence[int | str]) -> bytes:
    types, data = b"", b""
    for value in values:
        if isinstance(value, int):
            types += struct.pack("<BB", 8, 0)
            data += struct.pack("<q", value)
        else:
            raw = value.encode()
            types += struct.pack("<BB", 0xFD, 0)
            data += bytes([len(raw)]) + raw
    head = struct.pack("<IBI", number, 0, 1)
    return head + bytes((len(values) + 7) // 8) + b"\x01" + types + data
