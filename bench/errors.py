#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Norm-wise errors by algorithm and type, as Markdown: what `canopy check` finds on lists of problems.

  bench/errors.py build/prefix/bin/canopy LIST... [--types f32,f16,bf16] [--filter TEXT]
"""
import argparse
import csv
import io
import os
import statistics
import subprocess
import sys

OUTPUTS = ("gradInput", "gradWeight", "gradBias")


def check(canopy, lists, dtype, extra):
    """Yields (algorithm, output, norm-wise error) of every backward call."""
    command = [canopy, "check", *lists, "--dtype", dtype, "--quiet", "--csv", "-", *extra]
    done = subprocess.run(command, env=dict(os.environ, CANOPY_VERBOSE="1"), capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    calls = [line.split("; ")[1].split(",") for line in done.stderr.splitlines() if line.startswith("canopy: ")]
    table = done.stdout[done.stdout.index("case,function,") :]
    cases = {}
    for row in csv.DictReader(io.StringIO(table)):
        if row["output"] in OUTPUTS and row["norm_error"]:
            cases.setdefault(row["case"], []).append(row)
    for rows, algorithms in zip(cases.values(), calls, strict=True):
        for row, algorithm in zip(rows, algorithms, strict=True):
            yield algorithm, row["output"], float(row["norm_error"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("canopy")
    parser.add_argument("lists", nargs="+")
    parser.add_argument("--types", default="f32,f16,bf16")
    parser.add_argument("--filter")
    options = parser.parse_args()
    extra = ["--filter", options.filter] if options.filter else []
    found = {}
    for dtype in options.types.split(","):
        for algorithm, output, error in check(options.canopy, options.lists, dtype, extra):
            found.setdefault((algorithm, output, dtype), []).append(error)
    print("| Algorithm | Output | Type | Calls | Median | Greatest |\n|---|---|---|---|---|---|")
    for (algorithm, output, dtype), errors in sorted(found.items()):
        print(
            f"| `{algorithm}` | {output} | {dtype} | {len(errors)} | {statistics.median(errors):.1e} | {max(errors):.1e} |"
        )


if __name__ == "__main__":
    main()
