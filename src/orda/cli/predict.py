"""``orda predict``: what a trained model says of images."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run of orda train.", show_default=False)],
    images: Annotated[
        list[Path], typer.Argument(metavar="IMAGES...", help="Images, or folders of them.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="JSON: name, label, class_name, probability.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="The same as CSV.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto: cuda if there is one.")] = "auto",
) -> None:
    """The likeliest class of each image, and its probability, by the model that a run has selected."""
    from orda.errors import SettingError
    from orda.training import load

    if as_json and as_csv:
        raise SettingError("one format at a time", "--json and --csv", "Leave one of them out")
    found = load(run, device=device).predict(images)
    rows = [asdict(prediction) for prediction in found]
    if not found:
        typer.echo(f"no images in {', '.join(map(str, images))}", err=True)
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if as_csv:
        writer = csv.DictWriter(sys.stdout, ["name", "label", "class_name", "probability"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return
    table = Table("image", "class")
    table.add_column("probability", justify="right")
    for prediction in found:
        table.add_row(prediction.name, prediction.class_name, f"{prediction.probability:.1%}")
    Console().print(table, markup=False)
