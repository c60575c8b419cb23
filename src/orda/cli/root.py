"""``orda``: where the subcommands hang."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from orda import __version__
from orda.errors import OrdaError, OrdaWarning, UnknownName

SUBCOMMANDS = {  # name -> module that holds it as `app`
    "demo": "orda.cli.demo",
    "train": "orda.cli.train",
    "predict": "orda.cli.predict",
    "sweep": "orda.cli.sweep",
    "tables": "orda.cli.tables",
    "report": "orda.cli.report",
    "data": "orda.cli.data",
    "compare": "orda.cli.compare",
    "simulate": "orda.cli.simulate",
    "bench": "orda.cli.bench",
}


class LazyGroup(TyperGroup):
    """Imports a subcommand only when it is called or listed, so that ``orda --version`` does not wait for torch."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        if name not in SUBCOMMANDS:
            return None
        command = typer.main.get_command(importlib.import_module(SUBCOMMANDS[name]).app)
        command.name = name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in SUBCOMMANDS:
            ctx.fail(str(UnknownName("command", args[0], SUBCOMMANDS)))
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Unsupervised domain adaptation with ordered minibatches.",
)


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"orda {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def main(args: list[str] | None = None) -> Any:
    """The entry point: orda's own errors become one line and exit code 1, its warnings one line each."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, OrdaWarning):
                typer.echo(f"orda: {message}", err=True)
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        try:
            return app(args=args)
        except OrdaError as error:
            typer.echo(f"orda: {error}", err=True)
            sys.exit(1)
