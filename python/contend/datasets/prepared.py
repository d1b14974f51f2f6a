"""Tables that a script's own `prepare` makes: made once a session, and copied for each run that may
write to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from contend.datasets.build import DatasetSource, Made, make, restored
from contend.datasets.cache import Dataset, find
from contend.datasets.contents import counted_tables
from contend.datasets.loading import (
    STOPS_CLEANLY,
    LoadingFailed,
    Tell,
    engine_options,
    require_room,
)
from contend.load import Address
from contend.servers import PrivateServer
from contend.servers.client import LONG_S


def provide_prepared(
    source: DatasetSource,
    prepare: Callable[[Address], None],
    into: Path,
    *,
    work: Path,
    tell: Tell,
) -> Dataset:
    """Make the folder `into` a copy of what `prepare` leaves on a server with the options of the
    source. `work` keeps that as long as it is there.

    Raises:
        LoadingFailed: `prepare` failed, or made a table that ends with its server.
        NoRoomForDataset: there is no room for a copy.
    """
    data = source.data
    dataset = find(work, source.key)
    if dataset is not None:
        return restored(dataset, into, tell)

    def load(server: PrivateServer) -> Made:
        prepare(Address(socket=str(server.socket), user="root", database=data.database))
        with server.connect(read_timeout=LONG_S, write_timeout=LONG_S) as connection:
            tables = tuple(counted_tables(connection, data.database))
        for table in tables:
            if table.engine.upper() == "MEMORY":
                raise LoadingFailed(
                    f"the script's prepare made {table.name}, a table of the engine MEMORY, whose "
                    "rows are lost when the server is started for a run",
                    hint="Make it in the script's init(), which each run calls, or use another "
                    "engine.",
                )
        rows = sum(table.rows for table in tables)
        return Made(source.inputs, rows, data.database, tables)

    tell.notice("the script makes its tables (prepare)")
    options = {**STOPS_CLEANLY, **engine_options(data.engine), **source.options}
    dataset = make(source.binary, source.options, options, load, cache=work, tell=tell)
    require_room(work, dataset.bytes, "the tables that the script made")
    return restored(dataset, into, tell)
