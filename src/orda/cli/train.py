"""``orda train``: flags become a configuration, the configuration a run, and the run a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orda.cli.train_texts import folder_name, show

if TYPE_CHECKING:
    from orda.training import TrainConfig

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

PAGE = """Train a model on labelled source domains, adapted to an unlabelled target domain.

A run is a folder (--out). Killed, or stopped by Ctrl-C, the same command goes on where it was and ends with the same
weights bit for bit; a finished run prints its result again. The model kept is the one with the best accuracy on
held-out [b]source[/b] images. The target's accuracy is measured on images that training never saw, and decides nothing.

[dim]The embedded digits, printed to handwritten, by CORAL with ordered minibatches; and without adaptation:[/dim]

  orda train

  orda train --algorithm erm

[dim]Your own images in root/domain/class/; and the paper's hardest task:[/dim]

  orda train --data folder --root photos --source studio --target street

  orda train --data spawrious --root DIR --source m2m_hard --algorithm mmd --set gammas=median
"""

DATA, METHOD, TRAINING, RUN = "Data", "Method", "Training", "Run"


@app.command(help=PAGE)
def train(
    data: Annotated[
        str | None,
        typer.Option(
            help="digits (embedded), office-home, spawrious, or folder.  [dim]default: digits[/dim]",
            rich_help_panel=DATA,
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Option(help="The folder that holds the data: root/domain/class/images.", rich_help_panel=DATA)
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="A domain to learn from; repeat it for several. Without --target, the name of a task, e.g. o2o_easy."
            "  [dim]default for digits: rendered[/dim]",
            rich_help_panel=DATA,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="The domain to adapt to.  [dim]default for digits: handwritten[/dim]", rich_help_panel=DATA),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Pixels of an image's side.  [dim]default: 224[/dim]", rich_help_panel=DATA)
    ] = None,
    skip_damaged: Annotated[
        bool,
        typer.Option(
            "--skip-damaged", help="Leave images out that cannot be read, and say how many.", rich_help_panel=DATA
        ),
    ] = False,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="erm, coral, mmd, dann, cdan, cdan-sdat, cdan-els, arm or mcc.  [dim]default: coral[/dim]",
            rich_help_panel=METHOD,
        ),
    ] = None,
    penalty: Annotated[
        float | None,
        typer.Option(
            help="λ, the weight of adaptation against the task.  [dim]default: 1; coral on digits: 100[/dim]",
            rich_help_panel=METHOD,
        ),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(
            help="Which examples meet in a minibatch: uniform, kmeans++, dpp, anticlustering, stratified or ordered."
            "  [dim]default: ordered for coral and mmd, else uniform[/dim]",
            rich_help_panel=METHOD,
        ),
    ] = None,
    optimiser: Annotated[
        str | None,
        typer.Option(
            help="Of the ordered sampler: assignment, greedy (the paper's), exchange, annealing or tabu."
            "  [dim]default: assignment[/dim]",
            rich_help_panel=METHOD,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="Of the ordered sampler: scalar (the paper's) or embedding.  [dim]default: scalar[/dim]",
            rich_help_panel=METHOD,
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            "--batch-size",
            "-k",
            help="Examples of each domain in a minibatch.  [dim]default: 32[/dim]",
            rich_help_panel=METHOD,
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            "--horizon",
            "-M",
            help="Minibatches planned at once.  [dim]default: 100; digits: 25[/dim]",
            rich_help_panel=METHOD,
        ),
    ] = None,
    overlap: Annotated[
        bool,
        typer.Option(
            "--overlap",
            help="Plan from features one block old: on a GPU while training goes on, so that no step waits for a plan.",
            rich_help_panel=METHOD,
        ),
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(help="Training steps.  [dim]default: 3000; digits: 600[/dim]", rich_help_panel=TRAINING),
    ] = None,
    lr: Annotated[
        float | None,
        typer.Option(help="Adam's learning rate.  [dim]default: 5e-5; digits: 1e-3[/dim]", rich_help_panel=TRAINING),
    ] = None,
    eval_every: Annotated[
        int | None,
        typer.Option(
            help="Steps between evaluations.  [dim]default: 300; spawrious: 100; digits: 50[/dim]",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="resnet18, resnet50, efficientnet-lite0, small-cnn.  [dim]default: resnet18; digits: small-cnn[/dim]",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="What the model starts from: imagenet, random or a file.  [dim]default: imagenet if there is[/dim]",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="domainbed-2020 (batch normalisation frozen) or domainbed-2024 (learning).  [dim]default: 2020[/dim]",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Everything random follows from it.  [dim]default: 0[/dim]", rich_help_panel=TRAINING),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any key of the configuration, by its last name or in full: --set scale=sum --set data.holdout=0.1.",
            rich_help_panel=RUN,
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A configuration in YAML, under the flags given here.", rich_help_panel=RUN)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run's folder.  [dim]default: runs/ and a name of its own[/dim]", rich_help_panel=RUN),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with the run in this folder.", rich_help_panel=RUN)
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Start afresh in a folder that holds a run.", rich_help_panel=RUN)
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda, cuda:1, …  [dim]default: cuda if there is one[/dim]", rich_help_panel=RUN),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Curves for TensorBoard in the run's folder.", rich_help_panel=RUN)
    ] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the whole configuration and do nothing.", rich_help_panel=RUN)
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=RUN)] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.", rich_help_panel=RUN)] = False,
) -> None:
    from orda.training import Interrupted, RunPaths
    from orda.training import train as run_training

    flags = {
        "data.name": data,
        "data.root": root,
        "data.sources": source or None,
        "data.target": target,
        "data.size": size,
        "data.skip_damaged": skip_damaged or None,
        "algorithm.name": algorithm,
        "algorithm.settings.penalty": penalty,
        "algorithm.settings.lr": lr,
        "sampler.name": sampler or ("ordered" if optimiser or objective else None),
        "sampler.settings.optimiser": optimiser,
        "sampler.settings.objective": objective,
        "batch_size": batch_size,
        "horizon": horizon,
        "overlap": overlap or None,
        "steps": steps,
        "eval_every": eval_every,
        "model.name": model,
        "model.weights": weights,
        "model.preset": preset,
        "seed": seed,
        "machine.device": device,
        "machine.tensorboard": tensorboard or None,
    }
    wanted = configured(config if resume is None else config_of(resume, config, out), flags, settings or [])
    if print_config:
        typer.echo(wanted.resolved().to_yaml(), nl=False)
        return
    folder = resume or out or Path("runs", folder_name(wanted))
    ended = not force and RunPaths(folder).result.exists()
    try:
        result = run_training(wanted, folder, progress=not quiet, force=force)
    except Interrupted as stopped:
        command = shlex.join(["orda", "train", "--resume", str(folder)])
        typer.echo(f"stopped after step {stopped.step}; go on with: {command}", err=True)
        raise typer.Exit(128 + stopped.signum) from None
    except KeyboardInterrupt:
        typer.echo("stopped at once; the run goes on from its last checkpoint", err=True)
        raise typer.Exit(130) from None
    if ended:
        typer.echo("this run has ended before: nothing was done (--force starts afresh)", err=True)
    if json:
        typer.echo(result.to_json(), nl=False)
    else:
        show(result, folder)


def config_of(run: Path, config: Path | None, out: Path | None) -> Path:
    """The configuration of the run to go on with, which no other may replace."""
    from orda.errors import SettingError
    from orda.training import RunPaths

    others = [name for name, value in (("--config", config), ("--out", out)) if value is not None]
    found = RunPaths(run).config
    if others or not found.exists():
        got = " and ".join(others) if others else f"{run}, where there is no run"
        raise SettingError("--resume goes on with a run, in its folder, as it was configured", got, "See orda train -h")
    return found


def configured(file: Path | None, flags: dict[str, Any], settings: list[str]) -> TrainConfig:
    """The file's configuration (or the defaults) under the flags under the settings."""
    from orda.training import TrainConfig
    from orda.training.overrides import parse_settings

    base = TrainConfig() if file is None else TrainConfig.load(file)
    config = base.updated({key: value for key, value in flags.items() if value is not None})
    return config.updated(parse_settings(settings, config))
