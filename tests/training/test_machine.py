from __future__ import annotations

import json

import torch

from orda.training.machine import environment

CPU = torch.device("cpu")


def test_the_environment_is_on_record() -> None:
    found = environment(CPU, torch.bfloat16)
    assert json.loads(json.dumps(found)) == found
    assert (found["device"], found["precision"], found["torch"]) == ("cpu", "bfloat16", torch.__version__)
    assert environment(CPU, None)["precision"] == "float32"
