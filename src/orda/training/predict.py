"""A trained model back from its run: classes and probabilities for images."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orda.algorithms import Algorithm
from orda.data import Normalisation
from orda.data.augment import Images
from orda.data.decode import DecodeSettings, decode
from orda.data.folder import images_below
from orda.devices import pick_device
from orda.errors import DamagedImages, InputError, RunError
from orda.models import Model
from orda.training.assemble import make_algorithm, make_model
from orda.training.checkpoint import load_checkpoint, load_networks
from orda.training.config import TrainConfig
from orda.training.paths import RunPaths


@dataclass(frozen=True, slots=True)
class Prediction:
    """The likeliest class of one image."""

    name: str  # its path, or its number in an array
    label: int
    class_name: str
    probability: float


class Predictor:
    """The selected model of a run.

    ``predict`` takes paths of images or of folders of them, or images (n, H, W, 3) uint8 of the size trained on.
    """

    def __init__(
        self, algorithm: Algorithm, images: Images, classes: Sequence[str], decode: DecodeSettings, step: int
    ) -> None:
        self.algorithm, self.images, self.decode = algorithm, images, decode
        self.classes, self.step = tuple(classes), step
        self.algorithm.eval()

    @property
    def model(self) -> Model:
        """The network itself, in evaluation mode; it takes images normalised by its ``normalize``."""
        return self.algorithm.model

    def predict(self, images: Any, *, batch: int = 256) -> list[Prediction]:
        """The likeliest class of each image."""
        names, probabilities = self._predict(images, batch)
        best = probabilities.max(1)
        return [
            Prediction(name, label, self.classes[label], probability)
            for name, label, probability in zip(names, best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    def probabilities(self, images: Any, *, batch: int = 256) -> Tensor:
        """The probability of every class for each image: (n, classes), on the CPU."""
        return self._predict(images, batch)[1]

    def _predict(self, images: Any, batch: int) -> tuple[list[str], Tensor]:
        if batch < 1:
            raise InputError("batch must be at least 1", batch)
        group = self.algorithm.predict_group
        batch = -(-batch // group) * group  # whole groups, where predictions depend on their group
        names, parts = self._batches(images, batch)
        found = [self.algorithm.predict(self.images(part)).softmax(1).cpu() for part in parts]
        return names, torch.cat(found) if found else torch.zeros(0, len(self.classes))

    def _batches(self, images: Any, batch: int) -> tuple[list[str], Iterator[Tensor]]:
        if isinstance(images, (str, os.PathLike)):
            images = [images]
        if isinstance(images, (np.ndarray, Tensor)):
            if isinstance(images, np.ndarray):  # torch takes neither read-only arrays nor reversed ones
                images = torch.from_numpy(np.require(images, requirements=["C", "W"]))
            array = self._checked(images)
            return [str(i) for i in range(len(array))], iter(torch.split(array, batch) if len(array) else ())
        if not all(isinstance(item, (str, os.PathLike)) for item in images):
            raise InputError(
                "images must be paths or an array (n, H, W, 3) uint8",
                type(images).__name__,
                "E.g. predict('photo.jpg')",
            )
        paths = image_paths([Path(item) for item in images])
        chunks = (paths[start : start + batch] for start in range(0, len(paths), batch))
        return [str(path) for path in paths], (decode_all(chunk, self.decode) for chunk in chunks)

    def _checked(self, array: Tensor) -> Tensor:
        size = self.decode.height, self.decode.width
        array = array[None] if array.ndim == 3 else array
        if array.ndim != 4 or tuple(array.shape[1:]) != (*size, 3) or array.dtype != torch.uint8:
            raise InputError(
                f"arrays of images must be (n, {size[0]}, {size[1]}, 3) uint8, as the model was trained on",
                f"{tuple(array.shape)} {array.dtype}",
                "Give paths instead: files are converted and resized",
            )
        return array


def load(run_dir: str | Path, *, device: str = "auto") -> Predictor:
    """The trained model of the run in ``run_dir``: the weights with the best source validation, ready to predict.

    >>> predictor = orda.load("runs/clipart")           # doctest: +SKIP
    >>> predictor.predict(["mug.jpg", "photos/"])[0]     # doctest: +SKIP
    Prediction(name='mug.jpg', label=37, class_name='Mug', probability=0.93)
    """
    paths = RunPaths(Path(run_dir))
    checkpoint = load_checkpoint(paths.checkpoint)
    if checkpoint is None or checkpoint["selected"] is None:
        raise RunError(
            "a run must have been trained and evaluated once before it can predict",
            f"{paths.root} without {'a checkpoint' if checkpoint is None else 'an evaluation'}",
            "Check the folder, or train: orda train --out RUN (and not machine.keep: nothing)",
        )
    config, place = TrainConfig.from_dict(checkpoint["config"]), pick_device(device)
    model = make_model(config, checkpoint["classes"], weights="random")  # the run's own follow
    algorithm = make_algorithm(config, model, None, place)
    load_networks(algorithm, checkpoint["selected"]["networks"])
    size = int(checkpoint["image_size"])
    return Predictor(
        algorithm,
        Images(place, Normalisation(model.mean, model.std), "none", False),  # type: ignore[arg-type]
        checkpoint["classes"],
        DecodeSettings(size, size, config.data.resize),
        int(checkpoint["selected"]["step"]),
    )


def image_paths(paths: Sequence[Path]) -> list[Path]:
    """The files themselves, and all images below the folders, sorted; one error for all that are missing."""
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise InputError("images must exist", ", ".join(missing), "Check the paths")
    return [found for path in paths for found in ([path / n for n in images_below(path)] if path.is_dir() else [path])]


def decode_all(paths: Sequence[Path], settings: DecodeSettings) -> Tensor:
    """The images (n, H, W, 3) uint8, read by several threads; one error lists all that cannot be read."""

    def one(path: Path) -> Any:
        try:
            return decode(path, settings)
        except Exception as error:  # a damaged file may raise anything
            return f"{path}: {error}"

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(one, paths))
    damaged = [item for item in found if isinstance(item, str)]
    if damaged:
        raise DamagedImages(
            f"every image must be readable; {len(damaged)} of {len(paths)} are not",
            "".join(f"\n  {line}" for line in damaged) + "\n",
            "Leave them out",
        )
    return torch.from_numpy(np.stack(found))
