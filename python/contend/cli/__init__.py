"""The command line, with a file per group of subcommands. Parse, call one function, print, exit."""
