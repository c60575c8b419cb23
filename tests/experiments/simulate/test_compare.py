"""Several optimisers on one pool."""

from __future__ import annotations

import numpy as np
import pytest

from orda.discrepancies import CORAL, MMD, Discrepancy
from orda.experiments.simulate.compare import AsDrawn, error_rows, on_one_pool
from orda.experiments.simulate.domains import clustered
from orda.ordering import OPTIMISERS
from orda.samplers import Ordered


@pytest.mark.parametrize("discrepancy", [MMD("linear"), MMD(gammas="median"), CORAL()], ids=["linear", "rbf", "coral"])
def test_the_pool_is_the_samplers_own_and_nobody_crosses_its_bound(discrepancy: Discrepancy) -> None:
    features = clustered(np.random.default_rng(0), 90, 80, 3)
    optimisers = {"as drawn": AsDrawn(), **{name: kind() for name, kind in OPTIMISERS.items()}}
    pooled = on_one_pool(discrepancy, features, 4, 8, np.random.default_rng(1), optimisers)
    rows = error_rows(pooled)
    assert list(rows) == list(optimisers)
    for name in optimisers:
        row = rows[name]
        assert float(row["squared_error"]) >= float(row["bound"]) - 1e-12
        assert float(row["squared_error"]) <= float(rows["as drawn"]["squared_error"]) * (1 + 1e-9)
        if name != "as drawn":
            alone = Ordered(discrepancy, optimiser=name).plan(features, 4, 8, np.random.default_rng(1))
            assert alone.diagnostics["ordering"]["mean_squared_error"] == pytest.approx(row["squared_error"])
    assert pooled.found["as drawn"].arranged.tolist() == np.arange(64).reshape(8, 8).tolist()
