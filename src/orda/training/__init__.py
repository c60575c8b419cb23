"""Training: a configuration in, a run's folder and its result out."""

from orda.training.config import (
    AlgorithmConfig,
    DataConfig,
    MachineConfig,
    ModelConfig,
    SamplerConfig,
    TrainConfig,
)
from orda.training.paths import RunPaths
from orda.training.result import RunResult

__all__ = [
    "AlgorithmConfig",
    "DataConfig",
    "MachineConfig",
    "ModelConfig",
    "RunPaths",
    "RunResult",
    "SamplerConfig",
    "TrainConfig",
]
