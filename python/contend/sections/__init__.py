"""Sections of a report: one file owns one from end to end. It names the diagnostic pass that the
section needs, if any, reads its findings, and makes its sentences, tables, charts and JSON. A new
section is a file and a line in `registry`. Begin there, and with `model`, which has the types of
sections. `words`, `naming`, `panels` and `chart_style` format figures.
"""
