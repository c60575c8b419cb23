"""Literal twins of the data room: one image, one pixel, one rule at a time."""

from __future__ import annotations

import colorsys

import numpy as np
import torch
import torch.nn.functional as F

LUMA = np.array([0.299, 0.587, 0.114])


def resized_crop(image, box, flip):
    """Cut the box out of (H, W, 3) in [0, 1], stretch it to (H, W) bilinearly, mirror it."""
    left, top, width, height = (int(v) for v in box)
    cut = torch.from_numpy(image[top : top + height, left : left + width].transpose(2, 0, 1).copy())[None]
    whole = F.interpolate(cut, size=image.shape[:2], mode="bilinear", align_corners=False)[0]
    out = whole.numpy().transpose(1, 2, 0)
    return out[:, ::-1] if flip else out


def shifted(image, right, down):
    """Every pixel takes the value ``right`` to its left and ``down`` above it; the border repeats."""
    height, width = image.shape[:2]
    out = np.empty_like(image)
    for i in range(height):
        for j in range(width):
            out[i, j] = image[min(max(i - down, 0), height - 1), min(max(j - right, 0), width - 1)]
    return out


def brightness(image, factor):
    return np.clip(image * factor, 0, 1)


def contrast(image, factor):
    return np.clip(factor * image + (1 - factor) * (image @ LUMA).mean(), 0, 1)


def saturation(image, factor):
    return np.clip(factor * image + (1 - factor) * (image @ LUMA)[..., None], 0, 1)


def hue(image, turns):
    out = np.empty_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            h, s, v = colorsys.rgb_to_hsv(*image[i, j])
            out[i, j] = colorsys.hsv_to_rgb((h + turns) % 1.0, s, v)
    return out


def augmented(image, draws, i):
    """One image (H, W, 3) in [0, 1] as row i of the draws says, step by step."""
    image = resized_crop(image, draws.box[i], draws.flip[i])
    for operation in draws.order[i]:
        image = (brightness, contrast, saturation, hue)[operation](image, draws.factor[i, operation])
    return np.repeat((image @ LUMA)[..., None], 3, axis=2) if draws.grey[i] else image


def share(fraction, groups, order):
    """⌊fraction·n⌋ examples: whole shares of every group, then one more to the largest remainders."""
    groups = list(groups)
    names = sorted(set(groups))
    exact = {g: fraction * groups.count(g) for g in names}
    take = {g: int(exact[g] + 1e-9) for g in names}
    missing = int(fraction * len(groups) + 1e-9) - sum(take.values())
    for g in sorted(names, key=lambda g: -(exact[g] - take[g]))[: max(missing, 0)]:
        take[g] += 1
    chosen = []
    for i in order:
        if take[groups[i]] > 0:
            chosen.append(i)
            take[groups[i]] -= 1
    return sorted(chosen)
