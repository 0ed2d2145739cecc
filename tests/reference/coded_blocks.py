"""ggml's blocks whose codes are no planes of bits: points of grids (IQ1 to IQ3), digits to the base
of 3 (TQ1_0), and 4-bit floats in groups with E4M3 scales (NVFP4).

The points of the grids are read from Baton's own table; that they are the format's is for ggml's
library to say (tests/golden/test_blocks.py). Encoding is plain: the nearest point for a scale that
the greatest magnitude gives.
"""
import re
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2] / "engine/checkpoint/weights/grids.c"
FP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])  # twice the numbers
LEVELS = {"IQ3_XXS": [4, 12, 20, 28, 36, 44, 52, 62], "IQ3_S": [1, 3, 5, 7, 9, 11, 13, 15],
          "IQ2": [8, 25, 43], "IQ1": [-1, 0, 1]}
# Name: grid, values of a group, unit of d, greatest scale, whether signs are seven of eight.
GRIDS = {"IQ3_XXS": ("iq3_xxs", 32, .25, 31, True), "IQ3_S": ("iq3_s", 32, 1, 31, False),
         "IQ2_XXS": ("iq2_xxs", 32, .125, 31, True), "IQ2_XS": ("iq2_xs", 16, .125, 31, True),
         "IQ2_S": ("iq2_s", 16, .125, 31, False), "IQ1_S": ("iq1", 32, 1, 15, False),
         "IQ1_M": ("iq1", 16, 1, 15, False)}
NAMES = ("NVFP4", "TQ1_0", *GRIDS)


def read_grids():
    """{"iq3_xxs": [points][values]}"""
    text, grids = SOURCE.read_text(), {}
    for name, body in re.findall(r"GRID\(\d+\) (\w+) = \{\w+, \{\n(.*?)\}\};", text, re.S):
        family = name.upper() if name.upper() in LEVELS else name[:3].upper()
        levels = np.array(LEVELS[family])
        numbers = np.array([int(n) for n in re.findall(r"\d+", body)])
        n_values = 4 if name.startswith("iq3") else 8
        grids[name] = levels[numbers[:, None] // len(levels) ** np.arange(n_values) % len(levels)]
    return grids


POINTS = read_grids()


def bits(raw, n_bits):
    """bytes [n][b] -> numbers of n_bits [n][..], the lowest bits first"""
    flat = np.unpackbits(raw, axis=1, bitorder="little").reshape(len(raw), -1, n_bits)
    return (flat << np.arange(n_bits)).sum(2)


def unbits(numbers, n_bits):
    flat = np.asarray(numbers)[..., None] >> np.arange(n_bits) & 1
    return np.packbits(flat.reshape(len(numbers), -1).astype(np.uint8), axis=1, bitorder="little")


def half(raw):
    return np.ascontiguousarray(raw).view("<f2").astype(np.float32)


def eighth(seven):
    """Seven signs [n][7] and the one that makes their number even."""
    return np.concatenate([seven, seven.sum(-1, keepdims=True) % 2], -1)


def words(raw):
    """[n][4 k] -> scales [n][k], signs [n][k][4][8]"""
    found = bits(raw, 32).reshape(len(raw), -1)
    seven = found[..., None] >> 7 * np.arange(4) & 127
    return found >> 28, eighth(seven[..., None] >> np.arange(7) & 1)


# Each: bytes [n][..] -> d [n][1], scales [n][groups], points [n][..], signs [n][256] (IQ1: of the
# delta).
def take_iq3_xxs(raw):
    scales, signs = words(raw[:, 66:])
    return half(raw[:, :2]), scales, raw[:, 2:66], signs


def take_iq2_xxs(raw):
    runs = raw[:, 2:].reshape(len(raw), 8, 8)
    scales, signs = words(runs[:, :, 4:].reshape(len(raw), -1))
    return half(raw[:, :2]), scales, runs[:, :, :4].reshape(len(raw), -1), signs


def take_iq2_xs(raw):
    found = bits(raw[:, 2:66], 16)
    signs = eighth((found >> 9)[..., None] >> np.arange(7) & 1)
    return half(raw[:, :2]), bits(raw[:, 66:], 4), found & 511, signs


def take_iq2_s(raw):
    points = raw[:, 2:34] + (bits(raw[:, 66:74], 2) << 8)
    return half(raw[:, :2]), bits(raw[:, 74:], 4), points, bits(raw[:, 34:66], 1)


def take_iq3_s(raw):
    points = raw[:, 2:66] + (bits(raw[:, 66:74], 1) << 8)
    return half(raw[:, :2]), bits(raw[:, 106:], 4), points, bits(raw[:, 74:106], 1)


def take_iq1_s(raw):
    found = bits(raw[:, 34:], 16)
    points = raw[:, 2:34] + ((found[..., None] >> 3 * np.arange(4) & 7) << 8).reshape(len(raw), -1)
    return half(raw[:, :2]), found >> 12 & 7, points, np.repeat(found >> 15, 32, 1)


def take_iq1_m(raw):
    nibbles, found = bits(raw[:, 32:48], 4), bits(raw[:, 48:], 16)
    d = ((found >> 12) << 4 * np.arange(4)).sum(1).astype("<u2").reshape(-1, 1).view("<f2")
    scales = (found[..., None] >> 3 * np.arange(4) & 7).reshape(len(raw), -1)
    points = raw[:, :32] + ((nibbles & 7) << 8)
    return d.astype(np.float32), scales, points, np.repeat(nibbles >> 3, 8, 1)


def put_words(scales, signs):
    seven = (signs.reshape(len(signs), 8, 4, 8)[..., :7] << np.arange(7)).sum(-1)
    return unbits((seven << 7 * np.arange(4)).sum(-1) | scales << 28, 32)


# The inverse of each.
def put_iq3_xxs(d, scales, points, signs):
    return [d, points.astype(np.uint8), put_words(scales, signs)]


def put_iq2_xxs(d, scales, points, signs):
    both = [points.astype(np.uint8).reshape(-1, 8, 4),
            put_words(scales, signs).reshape(-1, 8, 4)]
    return [d, np.concatenate(both, -1).reshape(len(d), -1)]


def put_iq2_xs(d, scales, points, signs):
    seven = (signs.reshape(len(d), 32, 8)[..., :7] << np.arange(7)).sum(-1)
    return [d, unbits(points | seven << 9, 16), unbits(scales, 4)]


def put_iq2_s(d, scales, points, signs):
    return [d, (points & 255).astype(np.uint8), unbits(signs, 1), unbits(points >> 8, 2),
            unbits(scales, 4)]


def put_iq3_s(d, scales, points, signs):
    return [d, (points & 255).astype(np.uint8), unbits(points >> 8, 1), unbits(signs, 1),
            unbits(scales, 4)]


def put_iq1_s(d, scales, points, signs):
    high = ((points >> 8).reshape(-1, 8, 4) << 3 * np.arange(4)).sum(-1)
    return [d, (points & 255).astype(np.uint8),
            unbits(high | scales << 12 | signs[:, ::32] << 15, 16)]


def put_iq1_m(d, scales, points, signs):
    four = (scales.reshape(-1, 4, 4) << 3 * np.arange(4)).sum(-1)
    of_d = d.view("<u2").astype(int) >> 4 * np.arange(4) & 15
    return [(points & 255).astype(np.uint8), unbits(points >> 8 | signs[:, ::8] << 3, 4),
            unbits(four | of_d << 12, 16)]


def decode_grid(name, raw):
    grid, n_group, unit, _, _ = GRIDS[name]
    d, scales, points, signs = globals()[f"take_{name.lower()}"](raw)
    signs, values = signs.reshape(len(raw), 256), POINTS[grid][points].reshape(len(raw), 256)
    if grid == "iq1":
        values = values + np.where(signs, -.125, .125)
    else:
        values = np.where(signs, -values, values)
    factors = d * np.float32(unit) * (2 * scales + 1).astype(np.float32)
    return np.repeat(factors, n_group, 1) * values.astype(np.float32)


def nearest_points(grid, values):
    """[n][values of a point] -> indices [n], a few thousand at a time"""
    points = POINTS[grid].astype(np.float32)
    squares = (points ** 2).sum(1) / 2
    found = [(part.astype(np.float32) @ points.T - squares).argmax(1)
             for part in np.array_split(values, len(values) // 4096 + 1)]
    return np.concatenate(found)


def even_signs(values):
    """Signs [n][256] of values, an even number in every eight: the least value gives way."""
    eights = values.reshape(len(values), 32, 8)
    signs = (eights < 0).astype(int)
    least = np.abs(eights).argmin(-1)[..., None]
    flipped = np.take_along_axis(signs, least, -1) ^ signs.sum(-1, keepdims=True) % 2
    np.put_along_axis(signs, least, flipped, -1)
    return signs.reshape(values.shape)


def encode_grid(name, values):
    grid, n_group, unit, most, is_even = GRIDS[name]
    groups = values.reshape(len(values), -1, n_group)
    top = 1.125 if grid == "iq1" else POINTS[grid].max()
    wanted = np.abs(groups).max(-1) / top * (.75 if grid == "iq1" else 1)
    d = (wanted.max(-1, keepdims=True) / most / unit).astype(np.float16)
    step = d.astype(np.float32) * unit
    scales = np.clip(np.rint((np.where(step, wanted / np.where(step, step, 1), 1) - 1) / 2), 0,
                     most // 2).astype(int)
    factors = np.repeat(step * (2 * scales + 1), n_group, 1)
    levels = np.divide(values, factors, out=np.zeros(values.shape), where=factors != 0)
    if grid == "iq1":
        signs, levels = np.zeros(values.shape, int), levels - .125
    else:
        signs, levels = even_signs(values) if is_even else (values < 0).astype(int), np.abs(levels)
    n = POINTS[grid].shape[1]
    points = nearest_points(grid, levels.reshape(-1, n)).reshape(len(values), -1)
    parts = globals()[f"put_{name.lower()}"](d.view(np.uint8) if name != "IQ1_M" else d, scales,
                                             points, signs)
    return np.concatenate(parts, 1)


RUNS = ((0, 32, 5), (32, 16, 5), (48, 4, 4))  # of TQ1_0: from, bytes, digits


def decode_tq1_0(raw):
    digits = []
    for at, n, n_digits in RUNS:
        for k in range(n_digits):
            fraction = raw[:, at:at + n].astype(int) * 3 ** k & 255
            digits.append(fraction * 3 >> 8)
    return (np.concatenate(digits, 1) - 1).astype(np.float32) * half(raw[:, 52:])


def encode_tq1_0(values):
    d = np.abs(values).max(1, keepdims=True).astype(np.float16)
    digits = np.rint(np.divide(values, d, out=np.zeros(values.shape), where=d != 0)).astype(int) + 1
    parts, first = [], 0
    for _, n, n_digits in RUNS:
        of_run = digits[:, first:first + n * n_digits].reshape(len(values), n_digits, n)
        number = sum(of_run[:, k] * 3 ** (4 - k) for k in range(n_digits))
        parts.append(((number * 256 + 242) // 243).astype(np.uint8))
        first += n * n_digits
    return np.concatenate([*parts, d.view(np.uint8)], 1)


CODES = np.arange(127)
E4M3 = np.where(CODES < 8, CODES * 2. ** -9, (8 + CODES % 8) * 2. ** (CODES // 8 - 10))


def decode_nvfp4(raw):
    codes = np.where(raw[:, :4] == 127, 0, raw[:, :4] & 127).astype(int)
    scales = np.append(E4M3, 480)[codes].astype(np.float32) / 2
    nibbles = raw[:, 4:].reshape(-1, 4, 8)
    levels = FP4[np.concatenate([nibbles & 15, nibbles >> 4], -1)].astype(np.float32)
    return (scales[..., None] * levels).reshape(len(raw), -1)


def encode_nvfp4(values):
    groups = values.reshape(-1, 4, 16)
    wanted = np.abs(groups).max(-1) / 6
    codes = np.abs(E4M3 - wanted[..., None]).argmin(-1)
    scales = E4M3[codes][..., None] / 2
    levels = np.divide(groups, scales, out=np.zeros(groups.shape), where=scales != 0)
    found = np.abs(levels[..., None] - FP4).argmin(-1)
    nibbles = found[..., :8] | found[..., 8:] << 4
    return np.concatenate([codes, nibbles.reshape(len(groups), -1)], 1).astype(np.uint8)


def decode(name, raw):
    """bytes [n][bytes] -> float32 [n][values]"""
    with np.errstate(over="ignore", invalid="ignore"):
        return {"NVFP4": decode_nvfp4, "TQ1_0": decode_tq1_0}.get(
            name, lambda blocks: decode_grid(name, blocks))(raw)


def encode(name, values):
    """float [n][values] -> bytes [n][bytes]"""
    return {"NVFP4": encode_nvfp4, "TQ1_0": encode_tq1_0}.get(
        name, lambda blocks: encode_grid(name, blocks))(values)
