"""The losses of the last steps, kept on the device: looked at every so often, so that no step waits for the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

WINDOW = 20  # steps between two looks


class NotFinite(Exception):
    """A loss, or a weight, that is NaN or infinite after ``step`` steps. Becomes a ``Diverged`` that knows the run."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(step, what)
        self.step, self.what = step, what


class LossWindow:
    """Losses of the steps since the last line of metrics."""

    def __init__(self) -> None:
        self._steps: list[int] = []  # steps done, each after its update
        self._losses: list[dict[str, Tensor]] = []  # which losses there are may change from step to step
        self._looked = 0

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def first(self) -> int | None:
        """The first step of the window."""
        return self._steps[0] if self._steps else None

    def add(self, step: int, losses: Mapping[str, Tensor]) -> None:
        """The losses of the update that completed step ``step``."""
        self._steps.append(step)
        self._losses.append(dict(losses))

    def look(self) -> None:
        """Raise ``NotFinite`` for the first step, of those not looked at yet, whose losses are not all finite."""
        for step, losses in zip(self._steps[self._looked :], self._values(self._looked), strict=True):
            if not all(map(_is_finite, losses.values())):
                raise NotFinite(step, ", ".join(f"{name} {value:.4g}" for name, value in losses.items()))
        self._looked = len(self)

    def close(self) -> dict[str, float]:
        """Look, then the means over the window, each over the steps that had that loss; the next window is empty."""
        self.look()
        sums: dict[str, list[float]] = {}
        for losses in self._values(0):
            for name, value in losses.items():
                sums.setdefault(name, []).append(value)
        self._steps, self._losses, self._looked = [], [], 0
        return {name: sum(values) / len(values) for name, values in sums.items()}

    def state(self) -> list[Any]:
        """Plain values, for a checkpoint."""
        return [[step, losses] for step, losses in zip(self._steps, self._values(0), strict=True)]

    def load(self, state: list[Any]) -> None:
        self._steps = [int(step) for step, _ in state]
        self._losses = [
            {name: torch.tensor(value, dtype=torch.float64) for name, value in losses.items()} for _, losses in state
        ]
        self._looked = len(self)

    def _values(self, start: int) -> list[dict[str, float]]:
        """The losses from place ``start`` on as numbers, by one transfer."""
        chosen = self._losses[start:]
        flat = [value.reshape(()) for losses in chosen for value in losses.values()]
        numbers = iter(torch.stack([value.double() for value in flat]).tolist() if flat else [])
        return [{name: next(numbers) for name in losses} for losses in chosen]


def check_weights(network: nn.Module, step: int) -> None:
    """Raise ``NotFinite`` unless all weights are finite."""
    bad = torch.stack([(~torch.isfinite(p.detach())).any() for p in network.parameters()])
    if bool(bad.any()):
        names = [name for (name, _), fault in zip(network.named_parameters(), bad.tolist(), strict=True) if fault]
        raise NotFinite(step, f"weights in {', '.join(names[:5])}{' …' if len(names) > 5 else ''}")


def _is_finite(value: float) -> bool:
    return value - value == 0.0
