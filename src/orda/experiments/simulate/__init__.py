"""Monte Carlo studies: the paper's Figures 2, 3a and 3b, and what they leave open.

    run(STUDIES["variance-vs-k"](), Path("studies"), jobs=2)

On the command line: ``orda simulate variance-vs-k --out studies --jobs 2``.

To add a study, subclass ``Study`` (``study.py`` is the contract) in a file of its own and enter it in ``STUDIES``
below: the command, the runner and the tests over all studies take it from there.
"""

from __future__ import annotations

from orda.experiments.simulate.bias import Bias
from orda.experiments.simulate.dimension import Dimension
from orda.experiments.simulate.drift import Drift
from orda.experiments.simulate.folder import StudyFolder
from orda.experiments.simulate.min_size import MinSize
from orda.experiments.simulate.optimisers import Optimisers
from orda.experiments.simulate.runner import config_of, run
from orda.experiments.simulate.samplers import Samplers
from orda.experiments.simulate.study import Cell, Row, Study, Table
from orda.experiments.simulate.variance_vs_k import VarianceVsK
from orda.experiments.simulate.variance_vs_m import VarianceVsM

STUDIES: dict[str, type[Study]] = {
    kind.name: kind for kind in (VarianceVsK, VarianceVsM, MinSize, Optimisers, Drift, Dimension, Samplers, Bias)
}

__all__ = ["STUDIES", "Cell", "Row", "Study", "StudyFolder", "Table", "config_of", "run"]
