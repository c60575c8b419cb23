"""Curves for TensorBoard, where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orda.errors import SettingError


class Curves:
    """Scalars by step; without a folder, nothing."""

    def __init__(self, folder: Path | None, step: int = 0) -> None:
        self._writer: Any = None
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise SettingError(
                "curves for TensorBoard come with an extra", str(error), "Run: pip install 'orda[tensorboard]'"
            ) from error
        self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """The values after ``step`` steps."""
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
