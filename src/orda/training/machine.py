"""What of the machine is on a run's record."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import torch

import orda


def environment(device: torch.device, amp: torch.dtype | None) -> dict[str, Any]:
    """What numbers may depend on besides the configuration."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "precision": "float32" if amp is None else "bfloat16",
        "threads": torch.get_num_threads(),
        "orda": orda.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
