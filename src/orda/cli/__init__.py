"""The command ``orda``: parses, calls the library, prints. A subcommand's module is imported when it is called."""

from orda.cli.root import app, main

__all__ = ["app", "main"]
