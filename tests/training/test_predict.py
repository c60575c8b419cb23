"""A trained model back from its run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from references.datasets import SHADE_SIZE

import orda
from orda.data.decode import DecodeSettings, decode
from orda.errors import DamagedImages, InputError, RunError
from orda.training import RunResult, TrainConfig, assemble, train
from orda.training.clock import Clock
from orda.training.predict import Predictor

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, RunResult]]:
    known: dict[str, tuple[Path, RunResult]] = {}

    def make(config: TrainConfig) -> tuple[Path, RunResult]:
        if config.algorithm.name not in known:
            folder = tmp_path_factory.mktemp("run")
            known[config.algorithm.name] = folder, train(config, folder)
        return known[config.algorithm.name]

    return make


@pytest.fixture
def predictor(make_config: Callable[..., TrainConfig], make_run: Callable[..., tuple[Path, RunResult]]) -> Predictor:
    return orda.load(make_run(make_config())[0], device="cpu")


@pytest.mark.parametrize("name", ["coral", "cdan", "arm"])
def test_it_is_the_selected_model(
    name: str, make_config: Callable[..., TrainConfig], make_run: Callable[..., tuple[Path, RunResult]], root: Path
) -> None:
    """On the images of the evaluation it is as accurate as the run says of its selected step."""
    config = make_config({"algorithm.name": name}).resolved()
    folder, result = make_run(config)
    predictor = orda.load(folder, device="cpu")
    assert (predictor.step, predictor.classes) == (result.selected_step, ("ant", "bee", "cat"))
    evaluate = assemble.assemble(config, CPU, Clock(CPU), False).domains.evaluate
    order = np.arange(len(evaluate))
    if name == "arm":  # a prediction depends on its group: the evaluation's order
        order = orda.seeds.generator(0, "evaluate", evaluate.name).permutation(len(evaluate))
    files = [root / "paper" / evaluate.names[i] for i in order]
    right = [p.label == evaluate.labels[i] for p, i in zip(predictor.predict(files), order, strict=True)]
    assert np.mean(right) == pytest.approx(result.target_accuracy)


def test_files_folders_and_arrays_say_the_same(predictor: Predictor, root: Path) -> None:
    folder = root / "paper" / "bee"
    files = sorted(folder.iterdir(), key=str)
    array = np.stack([decode(path, DecodeSettings(SHADE_SIZE, SHADE_SIZE)) for path in files])
    by_folder, by_file, by_array = (predictor.predict(what) for what in (folder, [str(p) for p in files], array))
    assert by_folder == by_file
    assert [p.label for p in by_array] == [p.label for p in by_file]
    assert [p.name for p in by_array] == [str(i) for i in range(len(files))]
    assert predictor.predict(array[0])[0].label == by_file[0].label
    array.setflags(write=False)
    assert predictor.predict(array[::-1]) == [replace(p, name=str(i)) for i, p in enumerate(by_array[::-1])]
    p = predictor.probabilities(torch.from_numpy(array.copy()), batch=5)
    assert p.shape == (len(files), 3)
    torch.testing.assert_close(p.sum(1), torch.ones(len(files)))
    torch.testing.assert_close(p.max(1).values, torch.tensor([x.probability for x in by_file]))


def test_nothing_in_gives_nothing_out(predictor: Predictor, tmp_path: Path) -> None:
    assert predictor.predict(tmp_path) == predictor.predict([]) == []
    assert predictor.probabilities(np.zeros((0, SHADE_SIZE, SHADE_SIZE, 3), np.uint8)).shape == (0, 3)


def test_the_network_is_in_evaluation_mode_and_may_be_used_alone(predictor: Predictor, root: Path) -> None:
    path = root / "stone" / "cat" / "stone3.png"
    image = torch.from_numpy(decode(path, DecodeSettings(SHADE_SIZE, SHADE_SIZE)).copy())[None]
    assert not predictor.model.training
    with torch.no_grad():
        logits = predictor.model(predictor.images(image))
    assert logits.argmax(1).item() == predictor.predict(path)[0].label


def test_what_is_wrong_is_said(predictor: Predictor, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no image")
    with pytest.raises(DamagedImages, match=r"(?s)1 of 1 are not.*bad\.png"):
        predictor.predict(tmp_path)
    with pytest.raises(InputError, match=r"images must exist; got no\.png, neither\.png"):
        predictor.predict(["no.png", Path("neither.png")])
    with pytest.raises(InputError, match=r"must be \(n, 8, 8, 3\) uint8.*got \(1, 9, 8, 3\) torch\.uint8"):
        predictor.predict(np.zeros((9, 8, 3), np.uint8))
    with pytest.raises(InputError, match=r"images must be paths or an array"):
        predictor.predict([1, 2])
    with pytest.raises(InputError, match="batch must be at least 1"):
        predictor.predict([], batch=0)


def test_runs_that_cannot_predict(make_config: Callable[..., TrainConfig], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="without a checkpoint"):
        orda.load(tmp_path)
    train(make_config({"machine.keep": "nothing"}), tmp_path / "r")
    with pytest.raises(RunError, match=r"without a checkpoint.*keep: nothing"):
        orda.load(tmp_path / "r")
