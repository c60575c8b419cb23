"""Every study with settings so small that all of them together take seconds: what is tested of them is no number."""

from __future__ import annotations

from orda.experiments.simulate import STUDIES, Study
from orda.experiments.simulate.bias import Bias
from orda.experiments.simulate.dimension import Dimension
from orda.experiments.simulate.drift import Drift
from orda.experiments.simulate.min_size import MinSize
from orda.experiments.simulate.optimisers import Optimisers
from orda.experiments.simulate.samplers import Samplers
from orda.experiments.simulate.variance_vs_k import VarianceVsK
from orda.experiments.simulate.variance_vs_m import VarianceVsM

SMALL: dict[str, Study] = {
    study.name: study
    for study in (
        VarianceVsK(n=120, horizon=12, batch_sizes=(2, 10), repeats=2),
        VarianceVsM(n=120, batch_size=6, horizons=(2, 20), repeats=2),
        MinSize(n=30, k=3, min_sizes=(1, 10), orders=3, starts=1, repeats=2),
        Optimisers(n=60, batch_size=4, horizon=12, passes=(1, 3), repeats=2),
        Drift(n=60, batch_size=4, horizon=12, scales=(0.0, 0.1, 1.0), repeats=2),
        Dimension(n_source=80, n_target=60, batch_size=4, horizon=12, dimensions=(2, 16), repeats=2),
        Samplers(n_source=80, n_target=60, d=16, batch_size=4, horizon=12, repeats=2),
        Bias(
            n_source=80, n_target=60, d=8, batch_size=4, horizon=10, batch_sizes=(4, 6), dimensions=(8,),
            penalties=(100.0,), steps=10, repeats=2,
        ),
    )
}  # fmt: skip
assert list(SMALL) == list(STUDIES)
