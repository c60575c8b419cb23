from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from references.tiny import conv_model, minibatch

from orda.algorithms import ALGORITHMS, Algorithm, build_algorithm
from orda.data import ArrayDomain
from orda.errors import RunError
from orda.training.checkpoint import (
    data_sha256,
    load_checkpoint,
    load_networks,
    networks_state,
    save_checkpoint,
    weights_sha256,
)

CONTENT: dict[str, Any] = {"step": 3, "tensor": torch.arange(4), "nested": {"text": ["ü", None, 1.5]}}


class Malicious:
    """A file that does something when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def built(name: str = "coral", seed: int = 0, **settings: Any) -> Algorithm:
    algorithm = build_algorithm(name, conv_model(seed), seed=seed, **settings)
    algorithm.resolve((6, 6), None)
    return algorithm


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    assert load_checkpoint(path) is None
    save_checkpoint(path, CONTENT)
    found = load_checkpoint(path)
    assert found is not None
    assert found["tensor"].equal(CONTENT["tensor"])
    assert found["nested"] == CONTENT["nested"]
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_in_a_checkpoint_is_executed(tmp_path: Path) -> None:
    path, mark = tmp_path / "checkpoint.pt", tmp_path / "executed"
    torch.save({"format": 1, "step": Malicious(mark)}, path)
    with pytest.raises(RunError, match=r"a checkpoint must be readable.*UnpicklingError.*--force"):
        load_checkpoint(path)
    path.write_bytes(pickle.dumps({"format": 1, "step": Malicious(mark)}, protocol=2))
    with pytest.raises(RunError, match="a checkpoint must be readable"):
        load_checkpoint(path)
    assert not mark.exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "format", "list"])
def test_a_damaged_checkpoint_is_an_error(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, CONTENT)
    if damage == "format":
        torch.save({**CONTENT, "format": 0}, path)
    elif damage == "list":
        torch.save([1, 2], path)
    else:
        whole = path.read_bytes()
        path.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "text": b"not a checkpoint\n"}[damage])
    with pytest.raises(RunError, match=r"a checkpoint must be readable, .*checkpoint\.pt; got .*force=True"):
        load_checkpoint(path)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_networks_travel_without_optimisers(name: str, tmp_path: Path) -> None:
    algorithm, other = built(name), built(name, seed=1)
    algorithm.update(minibatch(), 0)
    save_checkpoint(tmp_path / "c", {"networks": networks_state(algorithm)})
    content = load_checkpoint(tmp_path / "c")
    assert content is not None
    assert all(isinstance(value, torch.Tensor) for value in content["networks"].values())
    assert weights_sha256(other) != weights_sha256(algorithm)
    load_networks(other, content["networks"])
    assert weights_sha256(other) == weights_sha256(algorithm)
    x = minibatch(n_s=8).source.x
    assert other.predict(x).equal(algorithm.predict(x))


def test_a_state_is_a_copy() -> None:
    algorithm = built()
    before = weights_sha256(algorithm)
    state = networks_state(algorithm)
    algorithm.update(minibatch(), 0)
    assert weights_sha256(algorithm) != before
    load_networks(algorithm, state)
    assert weights_sha256(algorithm) == before


def test_weights_of_another_network_are_refused() -> None:
    algorithm = built()
    state = networks_state(algorithm)
    state["model.head.more"] = state.pop("model.head.bias")
    with pytest.raises(RunError, match=r"those of the run's networks; got model\.head\.bias, model\.head\.more"):
        load_networks(algorithm, state)


def test_the_digest_of_weights_sees_one_bit() -> None:
    algorithm = built()
    before = weights_sha256(algorithm)
    with torch.no_grad():
        value = algorithm.model.head.weight.view(-1)[0]
        value.copy_(torch.nextafter(value, torch.tensor(9.0)))
    assert weights_sha256(algorithm) != before


def test_the_digest_of_data_sees_names_labels_and_parts() -> None:
    domain = ArrayDomain("d", np.zeros((2, 4, 4, 3), np.uint8), np.array([0, 1]), ("a", "b"), ("x", "y"))
    digests = [
        data_sha256({"train": domain}),
        data_sha256({"adapt": domain}),
        data_sha256({"train": domain, "adapt": domain}),
        data_sha256({"train": replace(domain, name="e")}),
        data_sha256({"train": replace(domain, names=("a", "c"))}),
        data_sha256({"train": replace(domain, labels=np.array([1, 1]))}),
        data_sha256({"train": domain.subset([0])}),
    ]
    assert len(set(digests)) == len(digests)
    assert data_sha256({"train": replace(domain)}) == digests[0]
