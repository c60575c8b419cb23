"""The door: arrays of features of any kind come in, checked ``Features`` go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from orda.errors import FeatureError, SettingError
from orda.records import Features

SHOWN = 5  # rows that an error lists


def check_features(source: Any, target: Any) -> Features:
    """NumPy arrays or torch tensors (n, d), of any floating dtype, become ``Features``; all faults in one error.

    Half precision becomes float32; two different dtypes the wider one. Nothing is copied where nothing has to change.
    """
    tensors = {"source": as_tensor("source", source), "target": as_tensor("target", target)}
    faults = [fault for domain, z in tensors.items() for fault in shape_faults(domain, z)]
    if not faults:
        faults = pair_faults(tensors["source"], tensors["target"])
    if not faults:
        faults = [fault for domain, z in tensors.items() for fault in value_faults(domain, z)]
    if faults:
        raise FeatureError("features cannot be used: " + "; ".join(faults))
    dtype = torch.promote_types(torch.promote_types(tensors["source"].dtype, tensors["target"].dtype), torch.float32)
    return Features(tensors["source"].to(dtype).contiguous(), tensors["target"].to(dtype).contiguous())


def as_tensor(domain: str, z: Any) -> Tensor:
    if isinstance(z, Tensor):
        return z.detach()
    if isinstance(z, np.ndarray) and z.dtype.kind in "fiub":
        z = z.astype(np.float64) if z.dtype.kind == "f" and z.dtype.itemsize > 8 else z
        return torch.from_numpy(np.ascontiguousarray(z if z.flags.writeable else z.copy()))
    raise FeatureError(
        f"{domain} features must be a NumPy array or a torch tensor of numbers",
        f"{type(z).__name__}{f' of {z.dtype}' if isinstance(z, np.ndarray) else ''}",
        "Convert with numpy.asarray(..., dtype=float)",
    )


def shape_faults(domain: str, z: Tensor) -> list[str]:
    faults = []
    if z.ndim != 2:
        faults.append(f"{domain} must be two-dimensional (n, d), got shape {tuple(z.shape)}: flatten each example")
    elif z.shape[0] == 0:
        faults.append(f"{domain} has no examples")
    elif z.shape[1] == 0:
        faults.append(f"{domain} has no features: d is 0")
    if not z.is_floating_point():
        faults.append(
            f"{domain} must be of a floating dtype, got {z.dtype}: convert with .float() or .astype('float32')"
        )
    return faults


def pair_faults(source: Tensor, target: Tensor) -> list[str]:
    faults = []
    if source.shape[1] != target.shape[1]:
        faults.append(
            f"source and target must have the same d, got {source.shape[1]} and {target.shape[1]}: "
            "take both from the same featuriser"
        )
    if source.device != target.device:
        faults.append(f"source and target must be on one device, got {source.device} and {target.device}")
    return faults


def value_faults(domain: str, z: Tensor) -> list[str]:
    bad = (~torch.isfinite(z)).any(1)
    count = int(bad.sum())
    if count == 0:
        return []
    first = bad.nonzero().flatten()[:SHOWN].tolist()
    return [
        f"{domain} has NaN or infinite values in {count} of {len(z)} rows (first: {', '.join(map(str, first))}): "
        "look for a diverged network or a division by zero, or drop those rows"
    ]


def check_sizes(features: Features, batch_size: Any, horizon: Any) -> None:
    """1 ≤ k ≤ n in both domains and M ≥ 1, all integers."""
    faults = []
    for name, value in (("batch_size", batch_size), ("horizon", horizon)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            faults.append(f"{name} must be an integer, got {value!r}")
        elif value < 1:
            faults.append(f"{name} must be at least 1, got {value}")
    if not faults:
        for domain, z in (("source", features.source), ("target", features.target)):
            if batch_size > len(z):
                faults.append(
                    f"batch_size must not exceed the number of examples, got {batch_size} for {len(z)} in the {domain}"
                )
    if faults:
        raise SettingError("; ".join(faults))
