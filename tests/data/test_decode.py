"""Every kind of image file comes out as RGB, upright, of the asked size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orda.data.decode import DecodeSettings, decode
from orda.errors import SettingError, UnknownName

SAME = DecodeSettings(8, 6)


def pixels(*shape: int, dtype: type = np.uint8, high: int = 256) -> np.ndarray:
    return np.random.default_rng(0).integers(0, high, shape, dtype=dtype)


def saved(tmp_path: Path, image: Image.Image, name: str = "x.png", **options: object) -> Path:
    image.save(tmp_path / name, **options)
    return tmp_path / name


def test_rgb_is_left_as_it_is(tmp_path: Path) -> None:
    rgb = pixels(8, 6, 3)
    np.testing.assert_array_equal(decode(saved(tmp_path, Image.fromarray(rgb)), SAME), rgb)


def test_grey_and_one_bit(tmp_path: Path) -> None:
    grey = pixels(8, 6)
    np.testing.assert_array_equal(
        decode(saved(tmp_path, Image.fromarray(grey)), SAME), np.repeat(grey[..., None], 3, 2)
    )
    bits = Image.fromarray((grey > 99).astype(np.uint8) * 255).convert("1")
    want = np.repeat((grey > 99)[..., None], 3, 2) * 255
    np.testing.assert_array_equal(decode(saved(tmp_path, bits), SAME), want)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bit_grey_is_scaled_not_clipped(tmp_path: Path, suffix: str) -> None:
    values = np.linspace(0, 65535, 48).astype(np.uint16).reshape(8, 6)
    got = decode(saved(tmp_path, Image.fromarray(values), f"x.{suffix}"), SAME)
    np.testing.assert_array_equal(got, np.repeat(np.rint(values / 257).astype(np.uint8)[..., None], 3, 2))


def test_palette(tmp_path: Path) -> None:
    image = Image.fromarray(pixels(8, 6, 3)).quantize(16)
    np.testing.assert_array_equal(decode(saved(tmp_path, image), SAME), np.asarray(image.convert("RGB")))


def on_white(rgba: np.ndarray) -> np.ndarray:
    alpha = rgba[..., 3:] / 255
    return rgba[..., :3] * alpha + 255 * (1 - alpha)


def test_alpha_is_composited_on_white(tmp_path: Path) -> None:
    rgba = pixels(8, 6, 4)
    rgba[0, 0] = (10, 20, 30, 0)
    got = decode(saved(tmp_path, Image.fromarray(rgba)), SAME).astype(float)
    assert np.abs(got - on_white(rgba)).max() <= 1
    assert got[0, 0].tolist() == [255, 255, 255]
    la = Image.fromarray(rgba).convert("LA")
    got = decode(saved(tmp_path, la), SAME).astype(float)
    assert np.abs(got - on_white(np.asarray(la.convert("RGBA")))).max() <= 1


def test_a_transparent_colour_is_white(tmp_path: Path) -> None:
    indices = Image.fromarray((np.arange(48) % 3).astype(np.uint8).reshape(8, 6))
    palette = Image.new("P", (6, 8))
    palette.putdata(list(indices.tobytes()))
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    for transparency in (1, bytes([255, 0, 128])):
        got = decode(saved(tmp_path, palette, transparency=transparency), SAME)
        assert got[0, 0].tolist() == [255, 0, 0]
        assert got[0, 1].tolist() == [255, 255, 255]
    rgb = Image.new("RGB", (6, 8), (1, 2, 3))
    rgb.putpixel((0, 0), (9, 9, 9))
    got = decode(saved(tmp_path, rgb, transparency=(1, 2, 3)), SAME)
    assert got[0, 0].tolist() == [9, 9, 9]
    assert got[1, 1].tolist() == [255, 255, 255]


def test_cmyk(tmp_path: Path) -> None:
    cmyk = Image.new("CMYK", (6, 8), (0, 255, 255, 0))  # red ink on paper
    got = decode(saved(tmp_path, cmyk, "x.tif"), SAME)
    assert (np.abs(got.astype(int) - [255, 0, 0]) <= 2).all()
    got = decode(saved(tmp_path, cmyk, "x.jpg", quality=95), SAME)
    assert (np.abs(got.astype(int) - [255, 0, 0]) <= 4).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_undone(tmp_path: Path, orientation: int) -> None:
    upright = pixels(8, 6, 3)
    stored = {  # what a camera that was held so stores, by the EXIF standard's table
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path, Image.fromarray(np.ascontiguousarray(stored)), exif=exif)
    np.testing.assert_array_equal(decode(path, SAME), upright)
    grey16 = Image.fromarray(np.ascontiguousarray(stored[..., 0]).astype(np.uint16) * 257)
    np.testing.assert_array_equal(decode(saved(tmp_path, grey16, exif=exif), SAME)[..., 0], upright[..., 0])


def test_a_broken_exif_block_does_not_damage_an_image(tmp_path: Path) -> None:
    rgb = pixels(8, 6, 3)
    path = saved(tmp_path, Image.fromarray(rgb), exif=b"Exif\x00\x00XX*\x00broken")
    np.testing.assert_array_equal(decode(path, SAME), rgb)


def test_the_first_frame_of_several(tmp_path: Path) -> None:
    first, second = (Image.new("RGB", (6, 8), colour) for colour in ("red", "blue"))
    path = saved(tmp_path, first, "x.gif", save_all=True, append_images=[second])
    assert decode(path, SAME)[0, 0].tolist() == [255, 0, 0]


def test_squash_is_pillows_plain_bilinear_resize(tmp_path: Path) -> None:
    """DomainBed's Resize((224, 224)) of a file is this very call."""
    rgb = Image.fromarray(pixels(61, 43, 3))
    got = decode(saved(tmp_path, rgb), DecodeSettings(16, 16))
    np.testing.assert_array_equal(got, np.asarray(rgb.resize((16, 16), Image.Resampling.BILINEAR)))


def test_crop_keeps_the_shape_and_the_centre(tmp_path: Path) -> None:
    wide = np.zeros((20, 60, 3), dtype=np.uint8)
    wide[:, 20:40] = 200
    got = decode(saved(tmp_path, Image.fromarray(wide)), DecodeSettings(20, 20, "crop"))
    assert (got == 200).all()
    squashed = decode(tmp_path / "x.png", DecodeSettings(20, 20))
    assert (squashed[:, 0] < 50).all()


def test_what_cannot_be_decoded_raises(tmp_path: Path) -> None:
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("not an image")
    path = saved(tmp_path, Image.fromarray(pixels(200, 200, 3)), "cut.png")
    path.write_bytes(path.read_bytes()[:5000])
    Image.fromarray(np.zeros((8, 6), dtype=np.float32)).save(tmp_path / "float.tif")
    for name in ("empty.png", "text.png", "cut.png"):
        with pytest.raises(OSError, match=r"identify|truncated"):
            decode(tmp_path / name, SAME)
    with pytest.raises(ValueError, match="range"):
        decode(tmp_path / "float.tif", SAME)


def test_settings() -> None:
    with pytest.raises(UnknownName, match="squash"):
        DecodeSettings(8, 8, "squish")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="0 x 8"):
        DecodeSettings(0, 8)
