"""Sections of a report: one file owns one from end to end. It names the look at a cause that the
section rests on, if any, reads what was found, says it in sentences, tables and charts, and has its
JSON. A new one is a file and a line in `registry`; begin there, and with `model`, which has what
sections are made from. `words`, `naming`, `panels` and `chart_style` say how figures are shown.
"""
