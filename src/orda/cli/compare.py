"""``orda compare``: what every sampler does to the estimates, on features of one's own or on made-up ones."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(rich_markup_mode="rich")

PAGE = """Compare the samplers: bias and variance of the minibatch estimates around the full-data value.

Give two .npy files of features (n, d), one a domain; without them, two made-up domains of clustered features serve.
"""


@app.command(help=PAGE)
def compare(
    source: Annotated[Path | None, typer.Option(help="Source features, an .npy file (n_s, d).")] = None,
    target: Annotated[Path | None, typer.Option(help="Target features, an .npy file (n_t, d).")] = None,
    discrepancy: Annotated[
        str, typer.Option(help="mmd (RBF mixture scaled to the data), mmd-linear or coral.")
    ] = "mmd",
    batch_size: Annotated[int, typer.Option("--batch-size", "-k", help="Examples a domain in a minibatch.")] = 32,
    horizon: Annotated[int, typer.Option("--horizon", "-M", help="Minibatches planned at once.")] = 100,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.")] = 0,
) -> None:
    import orda
    from orda.errors import SettingError, UnknownName

    discrepancies: dict[str, orda.Discrepancy] = {
        "mmd": orda.MMD(gammas="median"),
        "mmd-linear": orda.MMD("linear"),
        "coral": orda.CORAL(),
    }
    if discrepancy not in discrepancies:
        raise UnknownName("discrepancy", discrepancy, discrepancies)
    if (source is None) != (target is None):
        raise SettingError("--source and --target go together", "one of them", "Give both files, or neither")
    zs, zt = (read(source), read(target)) if source and target else made_up(seed)
    loss = discrepancies[discrepancy]
    samplers: dict[str, orda.Sampler] = {
        "uniform": orda.Uniform(),
        "k-means++": orda.KMeansPlusPlus(),
        "k-DPP": orda.DPP(),
        "anticlustering": orda.Anticlustering(),
        "stratified (VaRDASS)": orda.Stratified(loss),
        "ordered, greedy (the paper's)": orda.Ordered(loss, optimiser="greedy"),
        "ordered, assignment": orda.Ordered(loss),
    }
    table = Table(title=f"{loss.name} of {zs.shape} and {zt.shape} features, {horizon} minibatches of {batch_size}")
    table.add_column("sampler")
    for column in ("mean error²", "bias", "std. dev.", "seconds"):
        table.add_column(column, justify="right")
    d0, said = None, set[str]()
    console = Console()
    with console.status("planning …") as status:
        for name, sampler in samplers.items():
            status.update(f"planning: {name} …")
            began = time.perf_counter()
            with warnings.catch_warnings(record=True) as caught:
                plan = orda.plan(zs, zt, sampler=sampler, batch_size=batch_size, horizon=horizon, seed=seed)
            seconds = time.perf_counter() - began
            for warning in caught:  # several samplers may have the same to say
                if str(warning.message) not in said:
                    said.add(str(warning.message))
                    warnings.warn(warning.message, stacklevel=1)
            found = orda.assess(plan, zs, zt, loss, d0=d0)
            d0 = found.d0
            row = (found.mean_squared_error, found.bias, found.variance**0.5)
            table.add_row(name, *(f"{value:.3g}" for value in row), f"{seconds:.2f}")
    console.print(table)
    console.print(
        f"Full-data value D0 = {d0:.4g}. Error is D̂ − D0 of a minibatch; seconds include compiling, once a machine."
    )


def read(path: Path) -> Any:
    from orda.errors import DataError

    try:
        with path.open("rb") as file:  # an archive of several would stay open
            found = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError("features must be an .npy file", f"{path}: {error}", "Write it with numpy.save") from error
    if not isinstance(found, np.ndarray):
        raise DataError("features must be an .npy file", f"{path}: several arrays", "Write one with numpy.save")
    return found


def made_up(seed: int, d: int = 16) -> tuple[Any, Any]:
    """Two domains of ten clusters each, the target's moved and of other sizes."""
    from orda.seeds import generator

    rng = generator(seed, "compare")
    centres = 2 * rng.normal(size=(10, d))
    shift = 0.5 * rng.normal(size=d)
    shares = rng.dirichlet(np.full(10, 2.0), size=2)
    zs = centres[rng.choice(10, 3000, p=shares[0])] + rng.normal(size=(3000, d))
    zt = centres[rng.choice(10, 2500, p=shares[1])] + shift + rng.normal(size=(2500, d))
    return zs, zt
