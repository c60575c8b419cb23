"""``orda bench``: how fast orda is on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from orda.errors import SettingError

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

PAGE = """Measure plans and training steps on this machine: every part, every sampler, and the ratios.

Seconds of a plan by its parts (stratify, prepare, order) for several k, features given; training steps a second with
every sampler, and each one's seconds over those of uniform sampling; the same plan by literal NumPy code, and by other
libraries where they are installed. Features, images and weights are random.

On a GPU the network is ResNet-18 at 224 pixels, set up as [cyan]orda train[/cyan] does it, and ordered samplers are
measured once more with plans made while training goes on; on a CPU it is a small network on small images, whose steps
cost so little that plans weigh far more than they would in earnest.

[dim]A look in half a minute; everything, with the numbers in a file:[/dim]

  orda bench --quick

  orda bench --device cuda --json bench.json
"""


@app.command(help=PAGE)
def bench(
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: cuda where there is one.")] = "auto",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: half a minute on a CPU.")] = False,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Compile the network that is trained (torch.compile).")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all numbers there.", show_default=False)
    ] = None,
) -> None:
    from orda.bench import Bench, as_text
    from orda.bench import bench as measure
    from orda.training.paths import faults_named, write_whole

    if json_file is not None:
        if json_file.is_dir():
            raise SettingError("the numbers go to a file", f"{json_file}, which is a folder", "Choose another (--json)")
        with faults_named(f"cannot write {json_file}", "Choose another file (--json)"):
            json_file.parent.mkdir(parents=True, exist_ok=True)
    found = measure(Bench(device=device, quick=quick, compile=compiled), say=lambda text: typer.echo(text, err=True))
    typer.echo(as_text(found))
    if json_file is not None:
        write_whole(json_file, json.dumps(found, indent=1).encode())
