"""What the arguments of this room must be. A check lists its faults; ``raise_faults`` reports all of them at once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from orda.errors import FeatureError, InputError, SettingError
from orda.records import Strata


def raise_faults(faults: list[InputError]) -> None:
    """Nothing if there are none, the fault itself if there is one, and otherwise one error that lists them."""
    if not faults:
        return
    if len(faults) == 1:
        raise faults[0]
    kinds = {type(fault) for fault in faults}
    kind = kinds.pop() if len(kinds) == 1 else InputError
    raise kind(f"{len(faults)} arguments cannot be used:\n" + "\n".join(f"- {fault}" for fault in faults))


def check_points(points: object) -> list[InputError]:
    if not isinstance(points, Tensor):
        return [FeatureError("points must be a torch tensor", type(points).__name__, "Use torch.as_tensor first")]
    if points.ndim != 2 or 0 in points.shape:
        return [FeatureError("points must be (n, d) with n, d ≥ 1", tuple(points.shape), "Flatten each example")]
    if points.dtype not in (torch.float32, torch.float64):
        return [FeatureError("points must be float32 or float64", points.dtype, "Call .float() first")]
    bad = ~torch.isfinite(points).all(1)
    if bad.any():
        rows = torch.nonzero(bad)[:, 0]
        return [
            FeatureError(
                "points must be finite",
                f"NaN or infinities in {len(rows)} of {len(points)} rows, first {rows[:5].tolist()}",
                "Look at what the featuriser gives for them",
            )
        ]
    return []


def check_integer(name: str, value: object, least: int) -> list[InputError]:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return []
    return [SettingError(f"{name} must be an integer of at least {least}", repr(value), f"Pass e.g. {name}={least}")]


def check_k(k: object, n: int | None) -> list[InputError]:
    """``n`` is ``None`` where the points themselves are at fault."""
    faults = check_integer("k", k, 1)
    if not faults and n is not None and int(k) > n:  # type: ignore[call-overload]
        faults.append(
            SettingError(
                "k must be at most n, the number of points", f"k={k} with n={n}", "Lower k or pass more points"
            )
        )
    return faults


def check_generator(rng: object) -> list[InputError]:
    if isinstance(rng, np.random.Generator):
        return []
    return [
        SettingError("rng must be a numpy.random.Generator", type(rng).__name__, "Pass numpy.random.default_rng(0)")
    ]


def check_labels(start: object, n: int | None, k: object) -> list[InputError]:
    """Labels to start from: (n,) integers in 0..k−1."""
    labels = np.asarray(start)
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer) or (n is not None and len(labels) != n):
        return [
            SettingError(
                "start must be integer labels of shape (n,)",
                f"shape {labels.shape} of {labels.dtype}" + ("" if n is None else f" with n={n}"),
                "Pass the labels of a stratification of the same points, or None",
            )
        ]
    if isinstance(k, int) and len(labels) and not (labels.min() >= 0 and labels.max() < k):
        return [
            SettingError(
                "start must have labels in 0..k−1",
                f"labels {labels.min()}..{labels.max()} with k={k}",
                "Pass the labels of a stratification into as many strata, or None",
            )
        ]
    return []


def check_strata(strata: Strata) -> list[InputError]:
    """Labels in 0..k−1, and sizes that count them, at least 1 each."""
    labels, sizes = np.asarray(strata.labels), np.asarray(strata.sizes)
    sound = len(labels) > 0 and labels.min() >= 0 and labels.max() < len(sizes)
    if sound and np.array_equal(np.bincount(labels, minlength=len(sizes)), sizes) and sizes.min() >= 1:
        return []
    return [
        SettingError(
            "strata must have labels in 0..k−1 and sizes that count them, at least 1 each",
            f"{len(labels)} labels, sizes {sizes.tolist()[:8]}",
            "Take them from stratify, or sizes from numpy.bincount(labels, minlength=k)",
        )
    ]
