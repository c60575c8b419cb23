"""A run's checkpoint: what it takes to go on bit for bit, and the selected weights.

    {format, config, digest, data, classes, image, step,
     selected: {step, networks} or None,              the weights with the best source validation so far
     training: {algorithm, loader, …} or None,        what it takes to go on; dropped once the run is finished
     result: the text of result.json, or None}        so that a run is finished by one move of one file

Tensors and plain values only: torch.load(weights_only=True) reads it, and nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orda.algorithms import Algorithm
from orda.data import ArrayDomain
from orda.errors import RunError
from orda.training.paths import write_whole

FORMAT = 1
Checkpoint = dict[str, Any]


def save_checkpoint(path: Path, content: Checkpoint) -> None:
    """Written to memory first, then beside and moved into place."""
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **content}, buffer)
    write_whole(path, buffer.getbuffer())


def load_checkpoint(path: Path) -> Checkpoint | None:
    """The checkpoint, tensors on the CPU; ``None`` where there is none."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("not a checkpoint of this format")
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise RunError(
            f"a checkpoint must be readable, {path}",
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'empty'}",
            "Start again from the beginning with force=True (--force)",
        ) from error
    return content


def networks_state(algorithm: Algorithm) -> dict[str, Tensor]:
    """A copy of all weights and buffers; not the optimisers."""
    return {name: value.detach().clone() for name, value in algorithm.state_dict().items() if isinstance(value, Tensor)}


def load_networks(algorithm: Algorithm, state: Mapping[str, Any]) -> None:
    """Weights and buffers from ``networks_state``; all must fit."""
    missing, unknown = algorithm.load_state_dict(dict(state), strict=False)
    faults = [*(name for name in missing if not name.endswith("_extra_state")), *unknown]
    if faults:
        raise RunError(
            "the weights must be those of the run's networks", ", ".join(faults), "Is the run of this version?"
        )


def weights_sha256(algorithm: Algorithm) -> str:
    """The SHA-256 of all weights and buffers, by name: equal where they are equal bit for bit."""
    digest = hashlib.sha256()
    for name, value in sorted(networks_state(algorithm).items()):
        digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def data_sha256(domains: Mapping[str, ArrayDomain]) -> str:
    """The SHA-256 of which examples, by file name and label, are in which part of the split."""
    digest = hashlib.sha256()
    for part, domain in domains.items():
        digest.update(f"{part}\x1e{domain.name}\x1e{len(domain)}\x1e".encode())
        digest.update("\x1f".join(domain.names).encode("utf-8", "surrogatepass"))
        digest.update(domain.labels.astype("<i8").tobytes())
    return digest.hexdigest()
