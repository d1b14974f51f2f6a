"""Everything that can be wrong with a file: one sentence each, with the line and what was meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contend.spec import Experiment, SpecError

Load = Callable[..., Experiment]

# (id, text of the file, start of the message, the hint or None)
FAULTS: list[tuple[str, str, str, str | None]] = [
    (
        "words of no path",
        '[words."load.conections"]\nchange = "x"',
        'it.toml:1: "load.conections" names nothing in an experiment',
        'Did you mean "load.connections"?',
    ),
    (
        "unknown key of words",
        '[words."load.connections"]\nlevel = { 1 = "one" }',
        'it.toml:2: unknown key "level" in [words."load.connections"]',
        'Did you mean "levels"?',
    ),
    (
        "a name that is no text",
        '[words."load.connections"]\nlevels = { 1 = 1 }',
        "it.toml:2: words.load.connections.levels.1 must be text in quotes, not 1",
        None,
    ),
    (
        "a plural without a name",
        '[words."load.connections"]\nlevels = { 8 = "eight" }\nplural = ["9"]',
        'it.toml:3: plural has "9", which levels does not name',
        None,
    ),
    (
        "a place that is not filled",
        '[words."load.connections"]\nchange = "from {base} to {level}"',
        "it.toml:2: change may have {level} and {baseline} in it, and no other braces",
        'Write change = "adding {level} instead of {baseline}".',
    ),
    (
        "unknown key",
        '[load]\nmesure = "2s"',
        'it.toml:2: unknown key "mesure" in [load]',
        'Did you mean "measure"?',
    ),
    (
        "key of another table",
        "[load]\nrows = 5",
        'it.toml:2: unknown key "rows" in [load]',
        'Did you mean "data.rows"?',
    ),
    (
        "a metric of events that have no share",
        '[workload]\nkind = "sql"\ntext = "@a\\nSELECT 1;\\n@b\\nSELECT 2;\\n"\n'
        'shares = { a = 100 }\n[compare]\nmetric = ["qps", "event.b.response_us_p99"]',
        'it.toml:6: compare.metric names "event.b.response_us_p99", and no cell has events "b"',
        "Name another event, or give that one a share.",
    ),
    (
        "a metric of events that there are not",
        '[workload]\nkind = "sql"\ntext = "@a\\nSELECT 1;\\n"\n'
        '[compare]\nmetric = "event.c.events_per_s"',
        'it.toml:5: compare.metric names "event.c.events_per_s", and no cell has events "c"',
        "Name another event, or give that one a share.",
    ),
    (
        "how a server is reached",
        '[factors]\n"server.tls" = [true, false]',
        'it.toml:2: factor "server.tls" names nothing in an experiment',
        "How a server is reached is part of its DSN: server.use has a level such as "
        "mysql://USER@HOST/DATABASE?ssl_mode=required, or socket:/PATH.",
    ),
    (
        "levels in place of a value",
        "[load]\nconnections = [1, 8]",
        "it.toml:2: load.connections must be a whole number from 1 to 100000, not [1, 8]",
        'A list of levels goes under [factors]: "load.connections" = […].',
    ),
    (
        "levels in place of the value of an option",
        '[server.options]\nsort_buffer_size = ["256K", "4M"]',
        "it.toml:2: server.options.sort_buffer_size must be text, a number or true/false, not",
        'A list of levels goes under [factors]: "server.options.sort_buffer_size" = […].',
    ),
    (
        "levels in place of a parameter of the workload",
        '[workload]\nkind = "random_points"\npoints = [1, 8]',
        "it.toml:3: workload.points must be a whole number from",
        'A list of levels goes under [factors]: "workload.points" = […].',
    ),
    (
        "unknown table",
        "[sever]",
        'it.toml:1: unknown table or key "sever"',
        'Did you mean "server"?',
    ),
    (
        "key outside its table",
        "rows = 5",
        'it.toml:1: unknown table or key "rows"',
        'Did you mean "data.rows"?',
    ),
    ("table that is a value", "load = 5", "it.toml:1: [load] must be a table, not 5", None),
    (
        "unit",
        '[load]\nmeasure = "5 parsecs"',
        'it.toml:2: load.measure must be a duration such as "2s", "500ms" or "8m": "parsecs" is',
        None,
    ),
    (
        "type",
        "[load]\nmeasure = true",
        'it.toml:2: load.measure must be a duration such as "2s", "500ms" or "8m", not true',
        None,
    ),
    (
        "nothing to measure",
        "[load]\nmeasure = 0",
        "it.toml:2: load.measure must be longer than 0",
        None,
    ),
    (
        "forever",
        '[load]\nwarmup = "31d"',
        'it.toml:2: load.warmup must be at most "30d", not "31d"',
        None,
    ),
    (
        "from one pole to the other",
        '[server]\nround_trip = "2m"',
        'it.toml:2: server.round_trip must be at most "60s", not "2m"',
        None,
    ),
    (
        "mistyped metric",
        '[compare]\nmetric = "respnse_us_p99"',
        'it.toml:2: compare.metric names "respnse_us_p99", which is not a metric',
        'Did you mean "response_us_p99"?',
    ),
    (
        "mistyped figure of a statement",
        '[compare]\nmetric = ["qps", "statement.read.qpss"]',
        'it.toml:2: compare.metric names "statement.read.qpss", which is not a metric',
        'Did you mean "statement.read.qps"?',
    ),
    (
        "metric twice",
        '[compare]\nmetric = ["qps", "qps"]',
        'it.toml:2: compare.metric names "qps" twice',
        None,
    ),
    (
        "no metric",
        "[compare]\nmetric = []",
        "it.toml:2: compare.metric must name at least one metric",
        'Write "qps", "response_us_p99", "server_cpu_us_per_query", …',
    ),
    (
        "metric that is no name",
        "[compare]\nmetric = 5",
        "it.toml:2: compare.metric must be the name of a metric, or a list of names, not 5",
        'Write "qps", "response_us_p99", "server_cpu_us_per_query", …',
    ),
    (
        "text for a number",
        '\n[data]\nrows = "20M"',
        'it.toml:3: data.rows must be a whole number of at least 1, not "20M"',
        "Write 20_000_000.",
    ),
    (
        "fraction for a whole number",
        "[load]\nconnections = 1.5",
        "it.toml:2: load.connections must be a whole number from 1 to 100000, not 1.5",
        None,
    ),
    (
        "true for a number",
        "[load]\nseed = true",
        "it.toml:2: load.seed must be a whole number of at least 0, not true",
        None,
    ),
    (
        "out of range",
        "[load]\nconnections = 0",
        "it.toml:2: load.connections must be a whole number from 1 to 100000, not 0",
        None,
    ),
    (
        "choice",
        '[data]\nengine = "InoDB"',
        'it.toml:2: data.engine must be "InnoDB", "MyISAM", "Aria" or "RocksDB", not "InoDB"',
        'Did you mean "InnoDB"?',
    ),
    (
        "engine",
        '[load]\nconnections = 8\nengine = "epol"',
        'it.toml:3: load.engine must be "auto", "epoll" or "io_uring", not "epol"',
        'Did you mean "epoll"?',
    ),
    (
        "engine that is none as a level",
        '[factors]\n"load.engine" = ["io_uring", "epol"]',
        'it.toml:2: level "epol" of factor "load.engine" must be "epoll" or "io_uring"',
        'Did you mean "epoll"?',
    ),
    (
        "engine left open in a factor",
        '[factors]\n"load.engine" = ["io_uring", "auto"]',
        'it.toml:2: level "auto" of factor "load.engine" must be "epoll" or "io_uring", not "auto"',
        None,
    ),
    (
        "name",
        '[experiment]\nname = "../up"',
        "it.toml:2: experiment.name must be letters, digits",
        None,
    ),
    (
        "number for a text",
        "[experiment]\nquestion = 5",
        "it.toml:2: experiment.question must be text in quotes, not 5",
        None,
    ),
    (
        "option that is a list",
        "[server]\noptions = { key_buffer_size = [1] }",
        "it.toml:2: server.options.key_buffer_size must be text, a number or true/false, not [1]",
        None,
    ),
    (
        "option that is a date",
        "[server.options]\nwhen = 2020-01-01",
        "it.toml:2: server.options.when must be text, a number or true/false, not 2020-01-01",
        None,
    ),
    (
        "option's name",
        '[server.options]\n"--x y" = 1',
        'it.toml:2: "--x y" is not the name of a server option',
        None,
    ),
    (
        "option twice",
        "[server.options]\nkey-buffer = 1\nkey_buffer = 2",
        'it.toml:3: server option "key_buffer" is given twice',
        None,
    ),
    (
        "repeats",
        "[compare]\nrepeats = 1",
        "it.toml:2: compare.repeats must be a whole number from 2 to 10000, not 1",
        None,
    ),
    (
        "margin",
        "[compare]\nmargin = 2",
        "it.toml:2: compare.margin must be a number between 0 and 1, not 2",
        None,
    ),
    (
        "confidence",
        '[compare]\nconfidence = "95%"',
        'it.toml:2: compare.confidence must be a number between 0.5 and 1, not "95%"',
        None,
    ),
    (
        "workload",
        '[workload]\nkind = "random_point"',
        'it.toml:2: workload.kind must be "point_select", "random_points", "random_ranges", ',
        'Did you mean "random_points"?',
    ),
    (
        "parameter of another workload",
        '[workload]\nkind = "point_select"\npoints = 10',
        'it.toml:3: workload.points is not a parameter of workload "point_select"',
        "Known are distribution.",
    ),
    (
        "parameter",
        '[workload]\nkind = "random_points"\npoint = 10',
        'it.toml:3: workload.point is not a parameter of workload "random_points"',
        'Did you mean "points"?',
    ),
    (
        "statements that are not there",
        '[workload]\nkind = "sql"',
        'it.toml:1: workload "sql" needs workload.text: text in quotes',
        None,
    ),
    (
        "switch as text",
        '[workload]\nkind = "read_write"\ntransaction = "on"',
        'it.toml:3: workload.transaction must be true or false, not "on"',
        None,
    ),
    (
        "writes of a workload that only reads",
        '[workload]\nkind = "read_only"\nindex_updates = 1',
        'it.toml:3: workload.index_updates is not a parameter of workload "read_only"',
        None,
    ),
    (
        "tables of its own for what is no script",
        '[data]\nschema = "script"\n[workload]\nkind = "sql"\ntext = "SELECT 1"',
        'it.toml:2: data.schema "script" is for scripts: workload "sql" makes no tables',
        'Write schema = "sbtest".',
    ),
    (
        "distribution as text",
        '[workload]\ndistribution = "special"',
        "it.toml:2: workload.distribution must be a table",
        'Write { kind = "special" }.',
    ),
    (
        "distribution's kind",
        '[workload]\ndistribution = { kind = "zipf" }',
        "it.toml:2: workload.distribution.kind must be",
        'Did you mean "zipfian"?',
    ),
    (
        "distribution's parameter",
        '[workload]\ndistribution = { kind = "uniform", pct = 1 }',
        'it.toml:2: workload.distribution.pct is not a parameter of distribution "uniform"',
        'Distribution "uniform" has no parameters.',
    ),
    (
        "distribution's value",
        '[workload.distribution]\nkind = "special"\npct = 101',
        "it.toml:3: workload.distribution.pct must be a whole number from 1 to 100, not 101",
        None,
    ),
    (
        "empty factor",
        '[factors]\n"load.connections" = []',
        'it.toml:2: factor "load.connections" has no levels',
        "Give at least one level.",
    ),
    (
        "factor that is no list",
        '[factors]\n"load.connections" = 8',
        'it.toml:2: factor "load.connections" must be a list of levels, not 8',
        "Write [8, …], or set load.connections itself.",
    ),
    (
        "factor without a path",
        '[factors]\n"load.conections" = [1]',
        'it.toml:2: factor "load.conections" names nothing in an experiment',
        'Did you mean "load.connections"?',
    ),
    (
        "factor without quotes",
        "[factors]\nload.connections = [1]",
        'it.toml:2: the path of factor "load.connections" must be in quotes',
        'Write "load.connections" = […].',
    ),
    (
        "factor that no cell depends on",
        '[factors]\n"compare.repeats" = [2, 4]',
        'it.toml:2: "compare.repeats" cannot be a factor: no cell depends on it',
        None,
    ),
    (
        "level of the wrong type, on its own line",
        '[factors]\n"load.connections" = [\n  1,\n  "8",\n]',
        'it.toml:4: level "8" of factor "load.connections" must be a whole number',
        None,
    ),
    (
        "level that is a list",
        '[factors]\n"server.options.x" = [[1]]',
        'it.toml:2: level [1] of factor "server.options.x" must be text, a number or true/false',
        None,
    ),
    (
        "level twice",
        '[factors]\n"load.connections" = [1, 8, 1]',
        'it.toml:2: factor "load.connections" has level 1 twice',
        None,
    ),
    (
        "level twice as a switch",
        '[factors]\n"server.options.x" = [true, "off", "on"]',
        'it.toml:2: factor "server.options.x" has level "on" twice',
        None,
    ),
    (
        "level twice in two units",
        '[factors]\n"load.measure" = ["1s", "1000ms"]',
        'it.toml:2: factor "load.measure" has level "1000ms" twice',
        None,
    ),
    (
        "factor twice in two spellings",
        '[factors]\n"server.options.a_b" = [1]\n"server.options.a-b" = [1]',
        'it.toml:3: factor "server.options.a_b" is given twice',
        None,
    ),
    (
        "factor that does nothing",
        '[workload]\nkind = "point_select"\n[factors]\n"workload.points" = [1, 2]',
        'it.toml:4: factor "workload.points" does nothing: workload "point_select" has no points',
        "Known are distribution.",
    ),
    (
        "factor that does nothing at one level of another",
        '[factors]\n"workload.kind" = ["point_select", "random_points"]\n'
        '"workload.points" = [1, 2]',
        'it.toml:3: factor "workload.points" does nothing: workload "point_select" has no points',
        None,
    ),
    (
        "factor that does nothing in the default distribution",
        '[factors]\n"workload.distribution.pct" = [1, 2]',
        'it.toml:2: factor "workload.distribution.pct" does nothing: distribution "uniform" has',
        None,
    ),
    (
        "baseline that is no factor",
        '[factors]\n"load.connections" = [1, 8]\n[compare]\nbaseline = { "data.rows" = 5 }',
        'it.toml:4: compare.baseline names "data.rows", which is not a factor',
        "Give it levels in [factors], or compare load.connections.",
    ),
    (
        "baseline that is no path",
        '[factors]\n"load.connections" = [1, 8]\n[compare]\nbaseline = { "load.connection" = 1 }',
        'it.toml:4: compare.baseline: "load.connection" names nothing in an experiment',
        'Did you mean "load.connections"?',
    ),
    (
        "baseline that is no level",
        '[factors]\n"load.connections" = [1, 8]\n[compare]\nbaseline = { "load.connections" = 2 }',
        'it.toml:4: the baseline 2 is not a level of "load.connections"',
        "Its levels are 1, 8.",
    ),
    (
        "baseline true is not 1",
        '[factors]\n"server.options.x" = [0, 1]\n'
        '[compare]\nbaseline = { "server.options.x" = true }',
        'it.toml:4: the baseline true is not a level of "server.options.x"',
        "Its levels are 0, 1.",
    ),
    (
        "baseline without quotes",
        '[factors]\n"load.connections" = [1, 8]\n[compare]\nbaseline = { load.connections = 1 }',
        "it.toml:4: the path in compare.baseline must be in quotes",
        'Write baseline = { "load.connections" = … }.',
    ),
    (
        "two baselines",
        '[factors]\n"load.connections" = [1, 8]\n"data.rows" = [1, 2]\n[compare]\n'
        'baseline = { "load.connections" = 1, "data.rows" = 1 }',
        "it.toml:5: compare.baseline must name one factor, not 2",
        None,
    ),
    (
        "nothing to compare",
        '[factors]\n"load.connections" = [1]\n[compare]\nbaseline = { "load.connections" = 1 }',
        'it.toml:4: nothing to compare: "load.connections" has no level but the baseline',
        "Give it a second level.",
    ),
    (
        "analysis",
        '[experiment]\nexplain = "magic"',
        'it.toml:2: experiment.explain must be "buffer-pool-warmup", "concurrency", "engines", '
        '"query-cache", "segmented-key-cache" or "steps", not "magic"',
        None,
    ),
    (
        "published key",
        '[published.a]\nmaschine = "x"',
        'it.toml:2: unknown key "maschine" in [published.a]',
        'Did you mean "machine"?',
    ),
    (
        "published without columns",
        '[published.a]\nmachine = "x"',
        "it.toml:1: published.a.columns must name the one path that its columns vary",
        None,
    ),
    (
        "published row of another length",
        '[published.a]\ncolumns = { "load.connections" = [1, 8] }\nrows = [\n'
        '  { cell = { "workload.points" = 1 }, gain_percent = [1] },\n]',
        "it.toml:4: gain_percent must have one number a column: 2, not 1",
        None,
    ),
    (
        "published row of words",
        '[published.a]\ncolumns = { "load.connections" = [1] }\nrows = [\n'
        '  { cell = { "workload.points" = 1 }, gain_percent = ["x"] },\n]',
        'it.toml:4: gain_percent must hold numbers, not "x"',
        None,
    ),
    (
        "published row without a cell",
        '[published.a]\ncolumns = { "load.connections" = [1] }\nrows = [{ gain_percent = [1] }]',
        "it.toml:3: a published row needs the cell that it belongs to",
        None,
    ),
    (
        "published rows that are none",
        '[published.a]\ncolumns = { "load.connections" = [1] }\nrows = 5',
        "it.toml:3: published.a.rows must be a list of tables, not 5",
        None,
    ),
    (
        "variant with an unknown path",
        '[full]\n"load.conections" = 1',
        'it.toml:2: "load.conections" names nothing in an experiment',
        'Did you mean "load.connections"?',
    ),
    (
        "variant with a wrong value",
        '\n[quick]\n"data.rows" = 0',
        "it.toml:3: data.rows must be a whole number of at least 1, not 0",
        None,
    ),
    (
        "endless fraction",
        '[workload]\ndistribution = { kind = "zipfian", exp = 1' + "0" * 400 + " }",
        "it.toml:2: workload.distribution.exp must be a number between 0 and 100, not 1000",
        None,
    ),
    (
        "endless number of seconds",
        "[load]\nmeasure = 1" + "0" * 400,
        'it.toml:2: load.measure must be at most "30d", not 1000',
        None,
    ),
    (
        "endless option",
        "[server.options]\nx = 1" + "0" * 400,
        "it.toml:2: server.options.x must be a number of at most 64 bits, not 1000",
        None,
    ),
    (
        "endless gain",
        '[published.a]\ncolumns = { "load.connections" = [1] }\nrows = [\n'
        '  { cell = { "workload.points" = 1 }, gain_percent = [1' + "0" * 400 + "] },\n]",
        "it.toml:4: gain_percent must hold numbers, not 1000",
        None,
    ),
    (
        "number of thousands of digits",
        "[load]\nseed = 1" + "0" * 5000,
        "it.toml: not valid TOML: exceeds the limit",
        None,
    ),
    ("syntax", "[load]\nmeasure = 2s", "it.toml:2:12: not valid TOML: ", None),
    ("syntax, open string", '[load]\nwarmup = "2s', "it.toml:2: not valid TOML: ", None),
    ("syntax, open list", "[factors]\nx = [1,\n", "it.toml:3: not valid TOML: ", None),
    ("syntax, table twice", "[load]\n[data]\n[load]", "it.toml:3:6: not valid TOML: ", None),
]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [pytest.param(text, message, hint, id=name) for name, text, message, hint in FAULTS],
)
def test_a_fault_is_named_with_its_line(
    load: Load, text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(SpecError) as caught:
        load(text)
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2
    if hint is not None:
        assert caught.value.hint == hint
