"""Training: a configuration in, a run's folder and its result out.

result = train(TrainConfig(), "runs/first")       # extract -> plan -> step, until the steps are done
predictor = load("runs/first")                    # the trained model back
"""

from orda.training.config import (
    AlgorithmConfig,
    DataConfig,
    MachineConfig,
    ModelConfig,
    SamplerConfig,
    TrainConfig,
)
from orda.training.interrupts import Interrupted
from orda.training.loop import train
from orda.training.paths import Lines, RunPaths
from orda.training.predict import Prediction, Predictor, load
from orda.training.result import RunResult

__all__ = [
    "AlgorithmConfig",
    "DataConfig",
    "Interrupted",
    "Lines",
    "MachineConfig",
    "ModelConfig",
    "Prediction",
    "Predictor",
    "RunPaths",
    "RunResult",
    "SamplerConfig",
    "TrainConfig",
    "load",
    "train",
]
