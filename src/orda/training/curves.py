"""Curves for TensorBoard, where they are asked for: what metrics.jsonl holds, drawn."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orda.errors import SettingError


class Curves:
    """Losses and accuracies by step; without a folder, nothing.

    They are drawn anew from the lines of metrics that there are, so that a run that was killed has each point once.
    """

    def __init__(self, folder: Path | None, lines: Iterable[Mapping[str, Any]] = ()) -> None:
        self._writer: Any = None
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise SettingError(
                "curves for TensorBoard come with an extra", str(error), "Run: pip install 'orda[tensorboard]'"
            ) from error
        shutil.rmtree(folder, ignore_errors=True)
        self._writer = SummaryWriter(str(folder))
        for line in lines:
            self.add(line)

    def add(self, line: Mapping[str, Any]) -> None:
        """A line of metrics."""
        if self._writer is not None:
            for name, value in points(line).items():
                self._writer.add_scalar(name, value, line["step"])

    def close(self) -> None:
        """Write what has not been written yet."""
        if self._writer is not None:
            self._writer.close()


def points(line: Mapping[str, Any]) -> dict[str, float]:
    """The values of a line of metrics, by the names of their curves."""
    if line["kind"] == "train":
        return {f"loss/{name}": value for name, value in line["losses"].items()}
    return {"accuracy/source_validation": line["source_validation"], "accuracy/target": line["target_accuracy"]}
