"""What the networks of a finished run make of some of its examples, before training and after.

    data, split as it was ──some examples──> initial network  ──> features before
                                         └─> selected network ──> features after

On the CPU, so that the same run always gives the same pictures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orda import seeds
from orda.algorithms import Algorithm
from orda.data import ArrayDomain
from orda.data.augment import Images
from orda.data.registry import find_task
from orda.discrepancies import MMD, Discrepancy
from orda.errors import RunError
from orda.experiments.report.gather import RunView
from orda.records import Features
from orda.threads import in_pieces
from orda.training import RunPaths
from orda.training.assemble import fingerprint, make_algorithm, make_images, make_model, open_task, split_task
from orda.training.checkpoint import load_checkpoint, load_networks

SMALL_IMAGE = 32  # pixels of a side up to which many examples are looked at
MANY, FEW = 700, 300  # examples of a domain
BATCH = 64


@dataclass(frozen=True)
class Snapshot:
    """Some training examples of both domains and their features."""

    run: RunView
    source: ArrayDomain
    target: ArrayDomain
    before: Features | None  # of the network that training began with, where it was asked for
    after: Features  # of the selected one
    step: int  # of the selected one
    discrepancy: Discrepancy  # that the run minimised; MMD where it minimised none


def take_snapshot(run: RunView, before: bool = True) -> Snapshot:
    """Open the run's data, build its networks and extract features; an ``OrdaError`` where something is gone."""
    config, place = run.config, torch.device("cpu")
    checkpoint = load_checkpoint(RunPaths(run.folder).checkpoint)
    if checkpoint is None or checkpoint["selected"] is None:
        raise RunError("the run must have kept its model", "no selected model", "Train with machine.keep: model")
    task = find_task(config.data.name, config.data.sources, config.data.target, config.data.root)
    data = open_task(config, task, False)
    domains = split_task(config, data, task).domains(*data.of(task))
    if checkpoint["data"] != fingerprint(domains):
        raise RunError("the data must be those of the run", f"other files or labels in {config.data.root}", "")
    source, target = some_of(domains.train, "source"), some_of(domains.adapt, "target")
    model = make_model(config, data.classes)
    images, algorithm = make_images(config, model, data, place), make_algorithm(config, model, None, place)
    first = _features(algorithm, images, source, target) if before else None
    load_networks(algorithm, checkpoint["selected"]["networks"])
    after = _features(algorithm, images, source, target)
    step = int(checkpoint["selected"]["step"])
    discrepancy = algorithm.discrepancy or MMD(gammas="median")
    return Snapshot(run, source, target, first, after, step, discrepancy)


def some_of(domain: ArrayDomain, name: str) -> ArrayDomain:
    """The same random part of a domain every time, in the domain's order."""
    count = min(len(domain), MANY if max(domain.size) <= SMALL_IMAGE else FEW)
    chosen = np.sort(seeds.generator(0, "report", name).permutation(len(domain))[:count])
    return domain.subset(chosen)


def _features(algorithm: Algorithm, images: Images, source: ArrayDomain, target: ArrayDomain) -> Features:
    """In pieces of one thread each, so that they are the same bits on any number of cores."""
    algorithm.eval()

    def extract(domain: ArrayDomain) -> Tensor:
        rows = torch.split(torch.arange(len(domain)), BATCH)
        return torch.cat([*in_pieces(lambda some: algorithm.features(images(domain.gather(some)[0])), rows)]).double()

    return Features(extract(source), extract(target))
