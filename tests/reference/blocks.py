"""ggml's blocks: decoding of every type that Baton reads, and plain encoding, all in own code.

A block of codes is taken apart into (d, min, scales [G], mins [G], codes [V]): V values in groups
of V / G, whose value is d scales[g] level - min mins[g]; the level of a code is the code less a
zero point, or an entry of a table. Types of 32 values have one group with scale 1. Encoding rounds
to the nearest level, without ggml's search for better scales.
"""
from dataclasses import dataclass

import coded_blocks
import numpy as np

IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])
FP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])  # twice the numbers


@dataclass(frozen=True)
class Type:
    id: int
    n_values: int
    n_bytes: int
    n_groups: int = 0  # 0: plain numbers
    levels: np.ndarray = None
    has_min: bool = False
    scales: tuple = (1, 1)


def spaced(n_bits, zero):
    return np.arange(1 << n_bits) - zero


TYPES = {
    "F32": Type(0, 1, 4), "F16": Type(1, 1, 2), "BF16": Type(30, 1, 2),
    "Q8_0": Type(8, 32, 34, 1, spaced(8, 128)),
    "Q4_0": Type(2, 32, 18, 1, spaced(4, 8)), "Q4_1": Type(3, 32, 20, 1, spaced(4, 0), True),
    "Q5_0": Type(6, 32, 22, 1, spaced(5, 16)), "Q5_1": Type(7, 32, 24, 1, spaced(5, 0), True),
    "Q2_K": Type(10, 256, 84, 16, spaced(2, 0), True, (0, 15)),
    "Q3_K": Type(11, 256, 110, 16, spaced(3, 4), False, (-32, 31)),
    "Q4_K": Type(12, 256, 144, 8, spaced(4, 0), True, (0, 63)),
    "Q5_K": Type(13, 256, 176, 8, spaced(5, 0), True, (0, 63)),
    "Q6_K": Type(14, 256, 210, 16, spaced(6, 32), False, (-128, 127)),
    "IQ4_NL": Type(20, 32, 18, 1, IQ4), "IQ4_XS": Type(23, 256, 136, 8, IQ4, False, (-32, 31)),
    "MXFP4": Type(39, 32, 17, 1, FP4), "NVFP4": Type(40, 64, 36, 4),
    "Q1_0": Type(41, 128, 18, 1, np.array([-1, 1])), "Q2_0": Type(42, 64, 18, 1, spaced(2, 1)),
    "TQ1_0": Type(34, 256, 54, 1), "TQ2_0": Type(35, 256, 66, 1, spaced(2, 1)),
    "IQ3_XXS": Type(18, 256, 98, 8), "IQ3_S": Type(21, 256, 110, 8),
    "IQ2_XXS": Type(16, 256, 66, 8), "IQ2_XS": Type(17, 256, 74, 16),
    "IQ2_S": Type(22, 256, 82, 16), "IQ1_S": Type(19, 256, 50, 8), "IQ1_M": Type(29, 256, 56, 16),
}


def spread(raw, n_bits, run):
    """Codes of n_bits out of runs of so many bytes: the lowest bits of a run's bytes come first."""
    shifts = np.arange(0, 8, n_bits)[:, None]
    return (raw.reshape(len(raw), -1, 1, run) >> shifts & (1 << n_bits) - 1).reshape(len(raw), -1)


def gather(codes, n_bits, run):
    """The inverse of spread."""
    shifts = np.arange(0, 8, n_bits)[:, None]
    parts = (codes.reshape(len(codes), -1, 8 // n_bits, run) & (1 << n_bits) - 1) << shifts
    return parts.sum(2).reshape(len(codes), -1).astype(np.uint8)


# The fields of each type in order, as (name, bytes). Names of codes: bits, run.
PLANES = {"q8": (8, 32), "n16": (4, 16), "n32": (4, 32), "n64": (4, 64), "pairs": (2, 32),
          "high": (1, 32), "fifth": (1, 1), "two": (2, 1)}
FIELDS = {
    "Q8_0": (("d", 2), ("q8", 32)),
    "Q4_0": (("d", 2), ("n16", 16)), "Q4_1": (("d", 2), ("m", 2), ("n16", 16)),
    "Q5_0": (("d", 2), ("fifth", 4), ("n16", 16)),
    "Q5_1": (("d", 2), ("m", 2), ("fifth", 4), ("n16", 16)),
    "Q2_K": (("scales", 16), ("pairs", 64), ("d", 2), ("dmin", 2)),
    "Q3_K": (("high", 32), ("pairs", 64), ("scales", 12), ("d", 2)),
    "Q4_K": (("d", 2), ("dmin", 2), ("scales", 12), ("n32", 128)),
    "Q5_K": (("d", 2), ("dmin", 2), ("scales", 12), ("high", 32), ("n32", 128)),
    "Q6_K": (("n64", 128), ("pairs", 64), ("scales", 16), ("d", 2)),
    "IQ4_NL": (("d", 2), ("n16", 16)), "IQ4_XS": (("d", 2), ("scales", 6), ("n16", 128)),
    "MXFP4": (("e", 1), ("n16", 16)),
    "Q1_0": (("d", 2), ("fifth", 16)), "Q2_0": (("d", 2), ("two", 16)),
    "TQ2_0": (("pairs", 64), ("d", 2)),
}
# The planes that make a code, the low bits first.
ORDER = ("q8", "n16", "n32", "n64", "pairs", "high", "fifth", "two")


def planes_of(name):
    """[(field, bits, run, shift)]; Q6_K's pairs are its high bits."""
    found = sorted((field for field, _ in FIELDS[name] if field in PLANES), key=ORDER.index)
    shift, planes = 0, []
    for field in found:
        planes.append((field, *PLANES[field], shift))
        shift += PLANES[field][0]
    return planes


def read_scales(name, raw):
    """bytes [n][..] -> scales [n][G], mins [n][G]"""
    if name == "Q2_K":
        return raw & 15, raw >> 4
    if name == "Q6_K":
        return raw.view(np.int8), 0 * raw
    if name == "Q3_K":
        scales = spread(raw[:, :8], 4, 8) | spread(raw[:, 8:], 2, 4) << 4
        return scales.astype(int) - 32, 0 * scales
    if name == "IQ4_XS":
        scales = spread(raw[:, 2:], 4, 1) | spread(raw[:, :2], 2, 1) << 4
        return scales.astype(int) - 32, 0 * scales
    first, last = raw[:, :8], raw[:, 8:]
    low, high = np.split(spread(last, 4, 4), 2, 1), np.split(first >> 6, 2, 1)
    both = [np.concatenate([part & 63, low[i] | high[i] << 4], 1)
            for i, part in enumerate(np.split(first, 2, 1))]
    return both[0], both[1]


def write_scales(name, scales, mins):
    if name == "Q2_K":
        return (scales | mins << 4).astype(np.uint8)
    if name == "Q6_K":
        return scales.astype(np.int8).view(np.uint8)
    if name == "Q3_K":
        return np.concatenate([gather(scales + 32, 4, 8), gather(scales + 32 >> 4, 2, 4)], 1)
    if name == "IQ4_XS":
        return np.concatenate([gather(scales + 32 >> 4, 2, 1), gather(scales + 32, 4, 1)], 1)
    first = [part[:, :4] | part[:, 4:] >> 4 << 6 for part in (scales, mins)]
    last = gather(np.concatenate([scales[:, 4:], mins[:, 4:]], 1), 4, 4)
    return np.concatenate([*first, last], 1).astype(np.uint8)


def unpack(name, raw):
    """bytes [n][bytes] -> float32 d [n][1] and min [n][1], scales, mins [n][G], codes [n][V]"""
    kind, at, fields = TYPES[name], 0, {}
    for field, n in FIELDS[name]:
        fields[field] = np.ascontiguousarray(raw[:, at:at + n])
        at += n
    number = {key: fields[key].view("<f2").astype(np.float32) for key in ("d", "dmin", "m")
              if key in fields}
    if name == "MXFP4":  # half the scale, which goes with twice the levels
        number["d"] = np.ldexp(np.float32(1), fields["e"].astype(int) - 128).astype(np.float32)
    low = number.get("dmin", -number["m"] if "m" in number else np.zeros_like(number["d"]))
    scales = mins = np.ones((len(raw), 1), int)
    if "scales" in fields:
        scales, mins = read_scales(name, fields["scales"])
    codes = np.zeros((len(raw), kind.n_values), int)
    for field, n_bits, run, shift in planes_of(name):
        codes |= spread(fields[field], n_bits, run).astype(int) << shift
    return (number["d"], low, scales.astype(int), mins.astype(int),
            codes ^ (128 if name == "Q8_0" else 0))


def pack(name, d, low, scales, mins, codes):
    """The inverse of unpack, as bytes [n][bytes]."""
    codes = codes ^ (128 if name == "Q8_0" else 0)
    planes = {field: gather(codes >> shift, n_bits, run)
              for field, n_bits, run, shift in planes_of(name)}
    parts = []
    for field, _ in FIELDS[name]:
        if field in planes:
            parts.append(planes[field])
        elif field == "scales":
            parts.append(write_scales(name, scales, mins))
        elif field == "e":
            parts.append((np.frexp(d)[1] + 127).astype(np.uint8))
        else:
            number = {"d": d, "dmin": low, "m": -low}[field]
            parts.append(np.ascontiguousarray(number, "<f2").view(np.uint8))
    return np.concatenate(parts, 1)


def plain(name, raw):
    if name == "BF16":
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(raw, {"F32": "<f4", "F16": "<f2"}[name]).astype(np.float32)


def values_of(name, d, low, scales, mins, codes):
    """All products are exact in float32; the subtraction rounds."""
    kind = TYPES[name]
    levels = kind.levels[codes].reshape(len(codes), kind.n_groups, -1).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        products = (d * scales.astype(np.float32))[..., None] * levels
        if not kind.has_min:
            return products.reshape(codes.shape)
        return (products - (low * mins.astype(np.float32))[..., None]).reshape(codes.shape)


def decode(name, raw):
    """bytes -> float32, flat"""
    kind = TYPES[name]
    if not kind.n_groups:
        return plain(name, raw)
    if name in coded_blocks.NAMES:
        return coded_blocks.decode(name, np.frombuffer(raw, np.uint8).reshape(-1, kind.n_bytes)
                                   ).ravel()
    return values_of(name,
                     *unpack(name, np.frombuffer(raw, np.uint8).reshape(-1, kind.n_bytes))).ravel()


def signed_extreme(values):
    """[..][n] -> [..][1]: the value of the largest magnitude"""
    return np.take_along_axis(values, np.abs(values).argmax(-1, keepdims=True), -1)


def divided(a, b):
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=np.asarray(b) != 0)


def group_scales(kind, values):
    """[n][G][..] -> the scale and the min that each group wants, [n][G]"""
    levels = kind.levels
    if kind.has_min:
        low = values.min(-1)
        low = np.minimum(low, 0) if kind.n_groups > 1 else low
        return (values.max(-1) - low) / levels[-1], -low
    if len(levels) == 2:
        return np.abs(values).mean(-1), np.zeros(values.shape[:-1])
    if levels is FP4:
        exponents = np.frexp(np.abs(values).max(-1))[1]  # the greatest number, 6, is 1.5 times 2^2
        return np.ldexp(0.5, np.clip(exponents - 3, -127, 127)), np.zeros(values.shape[:-1])
    return (signed_extreme(values)[..., 0] / levels[np.abs(levels).argmax()],
            np.zeros(values.shape[:-1]))


def shared(wanted, least, greatest):
    """[n][G] -> d [n][1] as float16 holds it, and a whole number for each group"""
    if (least, greatest) == (1, 1):
        return wanted.astype(np.float16).astype(np.float32), np.ones(wanted.shape, int)
    extreme = signed_extreme(wanted) / (least or greatest)
    d = extreme.astype(np.float16).astype(np.float32)
    return d, np.clip(np.rint(divided(wanted, d)), least, greatest).astype(int)


def nearest(kind, levels):
    """Codes of the nearest levels."""
    order = np.argsort(kind.levels, kind="stable")
    ordered = kind.levels[order]
    return order[np.searchsorted((ordered[1:] + ordered[:-1]) / 2, levels)]


def encode(name, values):
    """float [.., K] -> bytes; K is a multiple of the type's values"""
    kind = TYPES[name]
    if name == "BF16":
        bits = np.ascontiguousarray(values, "<f4").view("<u4").astype(np.uint64)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()
    if not kind.n_groups:
        return np.ascontiguousarray(values, {"F32": "<f4", "F16": "<f2"}[name]).tobytes()
    values = np.asarray(values, float).reshape(-1, kind.n_groups, kind.n_values // kind.n_groups)
    if name in coded_blocks.NAMES:
        return coded_blocks.encode(name, values.reshape(-1, kind.n_values)).tobytes()
    wanted, wanted_min = group_scales(kind, values)
    if name == "MXFP4":
        d, scales = wanted.astype(np.float32), np.ones(wanted.shape, int)
    else:
        d, scales = shared(wanted, *kind.scales)
    low, mins = shared(wanted_min, *kind.scales)
    step, offset = (d * scales)[..., None], (low * mins)[..., None] * kind.has_min
    codes = nearest(kind, divided(values + offset, step)).reshape(len(values), -1)
    return pack(name, d, low, scales, mins, codes).tobytes()
