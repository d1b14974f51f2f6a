"""The command line: one file per group of commands; each parses, calls one function, prints, exits.

It may import every room; nothing imports it. Start in `main.py`, which lists the commands.
"""
