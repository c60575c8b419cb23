"""Examples of strata: images of the source beside images of the target, from strata that lie close to each other.

Each domain has its own strata. Those of the two are put side by side so that the distances of their mean features are
least in sum: a linear assignment problem.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from html import escape

import numpy as np
import torch
from PIL import Image
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from orda import seeds
from orda.data import ArrayDomain
from orda.data.domain import Pixels
from orda.experiments.report.snapshot import SMALL_IMAGE, Snapshot
from orda.records import IntArray, Strata
from orda.samplers import Stratified

STRATA = 6  # pairs that are shown
IMAGES = 6  # of each side
SIDE = 56  # pixels of a photograph


def strips_figure(shot: Snapshot) -> str:
    """Some pairs of strata of the features after training."""
    k = min(int(shot.run.config.batch_size or 32), len(shot.source), len(shot.target))
    k -= k % 2  # an unbiased estimate draws two of each stratum
    plan = Stratified(shot.discrepancy).plan(shot.after, max(k, 2), 1, seeds.generator(0, "report", "strata"))
    source, target = plan.source.strata, plan.target.strata
    assert source is not None
    assert target is not None
    pairs = matched(means(shot.after.source, source), means(shot.after.target, target))
    shown = varied(pairs, source, shot.source)
    strips = "".join(_strip(number, shot, source, target, pair) for number, pair in enumerate(shown, start=1))
    caption = (
        f"{len(shown)} of {source.k} pairs of strata of {shot.run.name}, from its features after step {shot.step:,}; "
        f"{IMAGES} random training images of each side. Stratification sees no labels: the classes are told to show "
        "what the strata hold."
    )
    return f'<figure>\n<div class="strips">\n{strips}</div>\n<figcaption>{escape(caption)}</figcaption>\n</figure>\n'


def means(z: Tensor, strata: Strata) -> Tensor:
    """(k, d) the mean features of the strata."""
    sums = torch.zeros(strata.k, z.shape[1], dtype=z.dtype).index_add_(0, torch.from_numpy(strata.labels), z)
    return sums / torch.from_numpy(strata.sizes)[:, None]


def matched(source: Tensor, target: Tensor) -> list[tuple[int, int]]:
    """Every source stratum with one of the target, the sum of the distances of their means least."""
    rows, columns = linear_sum_assignment(torch.cdist(source, target).numpy())
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def varied(pairs: list[tuple[int, int]], strata: Strata, domain: ArrayDomain) -> list[tuple[int, int]]:
    """The largest strata of as many classes as there are, then the next largest."""
    order = sorted(pairs, key=lambda pair: (-int(strata.sizes[pair[0]]), pair))
    seen: set[int] = set()
    first: list[tuple[int, int]] = []
    rest: list[tuple[int, int]] = []
    for pair in order:
        label = Counter(domain.labels[strata.labels == pair[0]].tolist()).most_common(1)[0][0]
        (rest if label in seen else first).append(pair)
        seen.add(label)
    return (first + rest)[:STRATA]


def _strip(number: int, shot: Snapshot, source: Strata, target: Strata, pair: tuple[int, int]) -> str:
    sides = [("source", shot.source, source, pair[0]), ("target", shot.target, target, pair[1])]
    shown = "".join(_side(*side) for side in sides)
    return f'<div class="strip">\n<h4>Pair {number}</h4>\n<div class="pair">\n{shown}</div>\n</div>\n'


def _side(name: str, domain: ArrayDomain, strata: Strata, stratum: int) -> str:
    rows = np.flatnonzero(strata.labels == stratum)
    chosen = seeds.generator(0, "report", name, "images", stratum).permutation(rows)[:IMAGES]
    images = "".join(_image(domain, row) for row in chosen.tolist())
    return f'<div><div class="tiles">{images}</div>\n<p>{escape(_contents(name, domain, rows))}</p></div>\n'


def _contents(name: str, domain: ArrayDomain, rows: IntArray) -> str:
    """What is in a stratum, by class."""
    found = Counter(domain.labels[rows].tolist()).most_common()
    told = [f"{domain.classes[label]} {n / len(rows):.0%}" for label, n in found[:2]]
    return f"{name}: {len(rows)} examples, " + ", ".join(told) + (", …" if len(found) > 2 else "")


def _image(domain: ArrayDomain, row: int) -> str:
    pixels = domain.gather(torch.tensor([row]))[0][0].cpu().numpy()
    small = max(pixels.shape[:2]) <= SMALL_IMAGE
    label = escape(domain.classes[int(domain.labels[row])])
    cls = ' class="pixels"' if small else ""
    return f'<img src="{data_uri(pixels, small)}" alt="{label}" title="{label}"{cls} width="{SIDE}" height="{SIDE}">'


def data_uri(pixels: Pixels, lossless: bool) -> str:
    """An image (H, W, 3) as part of the page: small ones as they are, photographs smaller."""
    image, buffer = Image.fromarray(pixels), io.BytesIO()
    if lossless:
        image.save(buffer, "PNG", optimize=True)
    else:
        image.resize((2 * SIDE, 2 * SIDE), Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=80)
    kind = "png" if lossless else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
