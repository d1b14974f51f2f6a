"""The command line: a file for each group of subcommands. Parse, call one function, print, exit."""
