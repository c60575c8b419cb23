from __future__ import annotations

import numpy as np
import pytest
import torch

from orda.errors import FeatureError, SettingError
from orda.features import check_features, check_sizes

GOOD = np.zeros((6, 3), dtype=np.float32)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.float16, torch.float32),
        (np.float32, torch.float32),
        (np.float64, torch.float64),
        (np.longdouble, torch.float64),
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_any_floating_dtype_comes_in(given: object, expected: torch.dtype) -> None:
    z = torch.ones(4, 2, dtype=given) if isinstance(given, torch.dtype) else np.ones((4, 2), dtype=given)  # type: ignore[call-overload]
    features = check_features(z, z)
    assert features.source.dtype == features.target.dtype == expected


def test_two_dtypes_meet_in_the_wider_one() -> None:
    features = check_features(GOOD, GOOD.astype(np.float64))
    assert features.source.dtype == features.target.dtype == torch.float64


def test_what_needs_no_change_is_not_copied() -> None:
    z = torch.ones(4, 2)
    assert check_features(z, z).source.data_ptr() == z.data_ptr()
    assert check_features(GOOD, GOOD).source.data_ptr() == GOOD.ctypes.data


def test_strides_and_read_only_arrays_and_gradients_are_fine() -> None:
    z = np.arange(24, dtype=np.float64).reshape(4, 6)[::-1, ::2]
    z.flags.writeable = False
    features = check_features(z, torch.ones(5, 3, requires_grad=True))
    assert torch.equal(features.source, torch.from_numpy(z.copy()))
    assert not features.target.requires_grad


BAD = np.zeros((8, 3))
BAD[[1, 4]] = np.nan
BAD[6, 2] = np.inf

FAULTS = [
    (BAD, GOOD, r"source has NaN or infinite values in 3 of 8 rows \(first: 1, 4, 6\)"),
    (GOOD, BAD, r"target has NaN or infinite values in 3 of 8 rows"),
    (BAD, BAD, r"source has NaN .*; target has NaN"),
    (np.zeros(3), GOOD, r"source must be two-dimensional \(n, d\), got shape \(3,\): flatten"),
    (np.zeros((2, 3, 4)), np.zeros(3), r"source must be two-dim.*; target must be two-dim"),
    (GOOD, np.zeros((6, 4)), r"same d, got 3 and 4: take both from the same featuriser"),
    (np.zeros((0, 3)), GOOD, r"source has no examples"),
    (np.zeros((4, 0)), np.zeros((4, 0)), r"source has no features: d is 0; target has no features"),
    (np.zeros((4, 3), dtype=np.int64), GOOD, r"source must be of a floating dtype, got torch.int64: convert"),
    (
        np.array([["a"]]),
        GOOD,
        r"source features must be a NumPy array or a torch tensor of numbers; got ndarray of <U1",
    ),
    ([[1.0]], GOOD, r"must be a NumPy array or a torch tensor of numbers; got list"),
]


@pytest.mark.parametrize(("source", "target", "message"), FAULTS)
def test_bad_features_get_one_clear_error(source: object, target: object, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        check_features(source, target)


@pytest.mark.parametrize(
    ("batch_size", "horizon", "message"),
    [
        (0, 5, r"batch_size must be at least 1, got 0"),
        (2, 0, r"horizon must be at least 1, got 0"),
        (-1, -1, r"batch_size must be at least 1, got -1; horizon must be at least 1, got -1"),
        (
            7,
            5,
            r"batch_size must not exceed the number of examples, got 7 for 6 in the source; .* 7 for 5 in the target",
        ),
        (2.0, 5, r"batch_size must be an integer, got 2.0"),
        (True, 5, r"batch_size must be an integer, got True"),
    ],
)
def test_sizes_are_checked(batch_size: object, horizon: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        check_sizes(check_features(GOOD, GOOD[:5]), batch_size, horizon)


def test_numpy_integers_are_integers() -> None:
    check_sizes(check_features(GOOD, GOOD), np.int32(6), np.int64(1))
