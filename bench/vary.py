#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers like those of a performance list: other channels, maps and batches, drawn at random.

  bench/vary.py LIST.jsonl [--count 3] [--seed 7] [--least 1e6] [--most 1e9] > varied.jsonl

What holds for a list may hold for its layers alone. A layer's class stays: few channels (up to 8) and kernels as they
are, groups of as many channels. Every layer is drawn `count` times, between `least` and `most` multiply-adds a gradient.
"""
import argparse
import json
import math
import random

CHANNELS = (0.5, 0.75, 1, 1.25, 1.5, 2)
MAPS = (0.5, 0.75, 1, 1.25, 1.5, 2)
FEW = 8
ATTEMPTS = 200


def output_size(layer):
    """Positions of the output, or of the input where that is what each tap meets once."""
    if layer["transposed"]:
        return math.prod(layer["in"])
    axes = zip(layer["in"], layer["k"], layer["stride"], layer["pad"], layer["dilation"])
    return math.prod(max(0, (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1)
                     for size, kernel, stride, pad, dilation in axes)


def products(layer):
    """Multiply-adds of one gradient."""
    return layer["N"] * layer["Ci"] * layer["Co"] // layer["groups"] * output_size(layer) * math.prod(layer["k"])


def vary(layer, draw):
    other = json.loads(json.dumps(layer))

    def channels(count):
        return int(count * draw.choice(CHANNELS)) if count > FEW else count

    if layer["groups"] == 1:
        other["Ci"], other["Co"] = channels(layer["Ci"]), channels(layer["Co"])
    else:
        other["groups"] = channels(layer["groups"])
        for side in ("Ci", "Co"):
            other[side] = layer[side] // layer["groups"] * other["groups"]
    scale = draw.choice(MAPS)
    other["in"] = [max(2 * kernel if 2 * kernel < size else size, int(size * scale)) if size > 1 else size
                   for size, kernel in zip(layer["in"], layer["k"])]
    other["N"] = draw.choice((max(1, layer["N"] // 2), layer["N"], 2 * layer["N"], 1, 3))
    return other


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--least", type=float, default=1e6)
    parser.add_argument("--most", type=float, default=1e9)
    arguments = parser.parse_args()
    draw, number = random.Random(arguments.seed), 0
    with open(arguments.list, encoding="utf-8") as lines:
        layers = [json.loads(line) for line in lines if line.strip()]
    for layer in layers:
        left = arguments.count
        for _ in range(ATTEMPTS):
            other = vary(layer, draw)
            if left == 0 or other == layer or not arguments.least <= products(other) <= arguments.most:
                continue
            other["id"] = f"varied{number}.{layer['id']}"
            print(json.dumps(other))
            left, number = left - 1, number + 1


if __name__ == "__main__":
    main()
