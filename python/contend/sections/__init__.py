"""Sections of a report. One file owns one section: the measurement that it needs (if any),
reading it, its findings, sentences, tables, charts and JSON.

A new section is a file and a line in `registry.py`. The room may import `lab`, `load`, `servers`,
`why` and the rooms below. Start in `registry.py`, and in `model.py`, which has the types; `words`,
`naming`, `panels` and `chart_style` format figures.
"""
