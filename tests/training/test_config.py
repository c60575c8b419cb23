from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from orda.algorithms import ALGORITHMS
from orda.data.registry import DATASETS
from orda.errors import ConfigError
from orda.samplers import SAMPLERS
from orda.training import TrainConfig
from orda.training.overrides import parse_settings

ELSEWHERE = {"data.name": "office-home", "data.sources": ["Art"], "data.target": "Clipart"}


def refused(values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        TrainConfig().updated(values)
    return str(caught.value)


@pytest.mark.parametrize("sampler", [None, *SAMPLERS])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_resolving_leaves_nothing_to_resolve(algorithm: str, sampler: str | None) -> None:
    config = TrainConfig().updated({"algorithm.name": algorithm, "sampler.name": sampler}).resolved()
    assert config.resolved() == config
    assert TrainConfig.from_dict(config.to_dict()) == config
    for value in (config.batch_size, config.steps, config.eval_every, config.select, config.model.name):
        assert value is not None
    assert config.model.freeze_bn is not None
    assert config.sampler.name == sampler or sampler is None


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_has_defaults(name: str) -> None:
    config = TrainConfig().updated({"data.name": name, "data.sources": ["a"], "data.target": "b"}).resolved()
    assert config.data.sources == ("a",)
    assert config.data.target == "b"


def test_ordered_minibatches_go_with_a_discrepancy() -> None:
    names = {name: TrainConfig().updated({"algorithm.name": name}).resolved().sampler.name for name in ALGORITHMS}
    assert {name for name, sampler in names.items() if sampler == "ordered"} == {"coral", "mmd"}
    assert set(names.values()) == {"ordered", "uniform"}


def test_the_two_eras_of_domainbed() -> None:
    def frozen(**changes: Any) -> bool | None:
        return (
            TrainConfig()
            .updated({**ELSEWHERE, **{f"model.{k}": v for k, v in changes.items()}})
            .resolved()
            .model.freeze_bn
        )

    assert frozen() is True
    assert frozen(preset="domainbed-2024") is False
    assert frozen(weights="random") is False  # random statistics cannot be kept
    assert frozen(preset="domainbed-2024", freeze_bn=True) is True


def test_a_task_is_taken_whole_or_not_at_all() -> None:
    config = TrainConfig().updated({"data.sources": ["handwritten"], "data.target": "rendered"}).resolved()
    assert (config.data.sources, config.data.target) == (("handwritten",), "rendered")
    named = TrainConfig().updated({"data.sources": ["rendered->handwritten"]}).resolved()
    assert named.data.target is None


def test_yaml_there_and_back(tmp_path: Path) -> None:
    config = TrainConfig().updated({**ELSEWHERE, "algorithm.settings.penalty": 0.1, "seed": 3})
    path = tmp_path / "c.yaml"
    path.write_text(config.to_yaml())
    assert TrainConfig.load(path) == config
    assert TrainConfig.load(path).digest() == config.digest()
    assert pickle.loads(pickle.dumps(config)) == config


def test_the_digest_is_of_what_the_run_is() -> None:
    config = TrainConfig()
    assert config.digest() == config.resolved().digest()
    assert len(config.digest()) == 12
    same = {"machine.device": "cpu", "machine.checkpoint_every": 7, "data.root": "/a", "data.cache_dir": "/b"}
    for key, value in same.items():
        assert config.updated({key: value}).digest() == config.digest(), key
    explicit = {"model.name": "small-cnn", "algorithm.settings.scale": "mean", "sampler.name": "ordered"}
    assert config.updated(explicit).digest() == config.digest()
    others = {
        "seed": 1,
        "steps": 599,
        "horizon": 99,
        "data.holdout": 0.3,
        "algorithm.settings.scale": "sum",
        "sampler.settings.optimiser": "greedy",
        "precision": "bfloat16",
    }
    digests = [config.updated({"sampler.name": "ordered", key: value}).digest() for key, value in others.items()]
    assert len({config.digest(), *digests}) == len(others) + 1


def test_differences_are_listed() -> None:
    config = TrainConfig()
    other = config.updated({"seed": 2, "algorithm.name": "erm", "machine.device": "cpu"})
    differences = config.differences(other)
    assert "seed: 0, not 2" in differences
    assert "algorithm.name: 'coral', not 'erm'" in differences
    assert "algorithm.settings.penalty: 100.0, not None" in differences
    assert not any("machine" in line for line in differences)
    assert config.differences(config) == []


def test_the_preset_of_a_penalty_holds_at_its_own_scale_alone() -> None:
    def penalty(**settings: Any) -> Any:
        asked = {f"algorithm.settings.{key}": value for key, value in settings.items()}
        return TrainConfig().updated(asked).resolved().algorithm.settings["penalty"]

    assert penalty() == penalty(scale="mean") == 100
    assert penalty(penalty=3.0) == 3
    assert penalty(scale="sum") == 1
    assert TrainConfig().updated({"algorithm.name": "mmd"}).resolved().algorithm.settings["penalty"] == 1


def test_another_algorithm_starts_from_its_own_defaults() -> None:
    tuned = TrainConfig().updated({"algorithm.settings.scale": "sum", "seed": 5}).resolved()
    other = tuned.updated({"algorithm.name": "dann", "sampler.name": "uniform"}).resolved()
    assert other.algorithm.settings["form"] == "reversal"
    assert "scale" not in other.algorithm.settings
    assert other.sampler.settings == {"replacement": True}
    assert other.seed == 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"data.name": "digit"}, "data.name 'digit' is unknown, did you mean 'digits'?"),
        ({"algorithm.name": "corral"}, "algorithm.name 'corral' is unknown, did you mean 'coral'?"),
        ({"sampler.name": "order"}, "sampler.name 'order' is unknown, did you mean 'ordered'?"),
        ({"model.name": "resnet-18"}, "model.name 'resnet-18' is unknown, did you mean 'resnet18'?"),
        ({"data.augmentation": "domain"}, "data.augmentation 'domain' is unknown, did you mean 'domainbed'?"),
        ({"model.preset": "2020"}, "model.preset must be one of 'domainbed-2020', 'domainbed-2024', not '2020'"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"batch_size": 1}, "batch_size must be at least 2 for coral, not 1"),
        ({"data.holdout": 0}, "data.holdout must be above 0 and below 1: selection needs validation, not 0.0"),
        ({"data.target_fraction": 1.0}, "data.target_fraction must be above 0 and below 1, not 1.0"),
        ({"model.dropout": 1.0}, "model.dropout must be at least 0 and below 1, not 1.0"),
        ({"machine.checkpoint_every": -1}, "machine.checkpoint_every must be at least 0 (0: never), not -1"),
        ({"algorithm.settings.penalty": -1}, "penalty must be at least 0, not -1"),
        ({"algorithm.settings.lrr": 1}, "unknown setting of 'coral'; got 'lrr'. Did you mean 'lr'?"),
        (
            {"sampler.name": "ordered", "sampler.settings.optimizer": "greedy"},
            "unknown key 'sampler.settings.optimizer' of 'ordered', did you mean 'optimiser'?",
        ),
        (
            {"sampler.name": "ordered", "sampler.settings.objective": "vector"},
            "sampler.settings: unknown objective; got 'vector'",
        ),
        ({"sampler.settings.optimiser": "greedy"}, "sampler.settings need sampler.name"),
        ({"data.name": "office-home"}, "data.sources (--source) must name what office-home is to learn from"),
        ({"data.target": "handwritten"}, "data.target (--target) needs data.sources (--source)"),
    ],
)
def test_what_cannot_be_is_said(values: dict[str, Any], message: str) -> None:
    assert message in refused(values)


def test_all_faults_of_a_configuration_come_at_once() -> None:
    message = refused({"batch_size": 0, "algorithm.name": "corral", "sampler.name": "order", "data.holdout": 2})
    assert all(part in message for part in ("batch_size", "corral", "'order'", "data.holdout"))


def test_a_record_made_in_python_is_checked_too() -> None:
    with pytest.raises(ConfigError, match="steps must be a whole number or null, not '3'"):
        TrainConfig(steps="3").resolved()  # type: ignore[arg-type]


class TestOverrides:
    def test_by_last_name_or_in_full(self) -> None:
        config = TrainConfig()
        assert parse_settings(["scale=sum", "data.holdout=0.1", "lr=1e-2", "seed=4"], config) == {
            "algorithm.settings.scale": "sum",
            "data.holdout": 0.1,
            "algorithm.settings.lr": 0.01,
            "seed": 4,
        }

    def test_settings_of_the_chosen_algorithm_and_sampler(self) -> None:
        config = TrainConfig().updated({"algorithm.name": "dann", "sampler.name": "uniform"})
        found = parse_settings(["form=alternating", "replacement=false", "sources=[a, b]"], config)
        assert found == {
            "algorithm.settings.form": "alternating",
            "sampler.settings.replacement": False,
            "data.sources": ["a", "b"],
        }

    def test_faults(self) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_settings(["name=x", "scal=sum", "steps", "data.hold=1"], TrainConfig())
        message = str(caught.value)
        assert "'name' may be data.name or model.name or algorithm.name or sampler.name" in message
        assert "unknown key 'scal', did you mean 'scale'?" in message
        assert "'steps' is not KEY=VALUE" in message
        assert "unknown key 'data.hold', did you mean 'data.holdout'?" in message
