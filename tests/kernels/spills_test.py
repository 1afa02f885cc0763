#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tile kernels' innermost loops to registers: one accumulator too many costs up to 60% of their rate, an
address that is kept in a vector register 8%, in a mask register up to 24%, and no other test would notice. Reads the
disassembly of the object files named on the command line (x86 only)."""
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\s+(\S+)\s*(.*)$")
TARGETS = ("N_AVX2::", "N_AVX3::", "N_AVX3_DL::", "PairMath")
WITHOUT_MASKS = ("DotPlanes",)  # where an address from a mask register costs


def functions(path):
    """Yields (name, [(address, mnemonic, operands)])."""
    text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", path], check=True, capture_output=True, text=True)
    name, body = None, []
    for line in text.stdout.splitlines():
        if match := FUNCTION.match(line):
            if name:
                yield name, body
            name, body = match[1], []
        elif match := INSTRUCTION.match(line):
            body.append((int(match[1], 16), match[2], match[3]))
    if name:
        yield name, body


def innermost_loops(body):
    """The instructions of each loop that multiplies and holds no other such loop."""
    spans = []
    for address, mnemonic, operands in body:
        target = re.match(r"([0-9a-f]+) <", operands)
        if mnemonic.startswith("j") and target and int(target[1], 16) <= address:
            loop = [i for i in body if int(target[1], 16) <= i[0] <= address]
            if any(i[1].startswith(("vfmadd", "vdpbf16ps")) for i in loop):
                spans.append(loop)
    return [s for s in spans if not any(o is not s and o[0][0] >= s[0][0] and o[-1][0] <= s[-1][0] for o in spans)]


def moves_vector(mnemonic, operands):
    """Whether vectors or floats go to the stack or come from it, or an address comes back from half a vector."""
    if mnemonic in ("vmovq", "vmovd") and re.match(r"%xmm\d+,%[re]", operands):
        return True
    if not re.search(r"\(%r[sb]p", operands):
        return False
    return bool(re.search(r"%[yz]mm", operands)) or ("%xmm" in operands and mnemonic.endswith(("ps", "ss")))


def leaves_mask(mnemonic, operands):
    """Whether an address comes back from a mask register."""
    return mnemonic.startswith("kmov") and bool(re.match(r"%k\d,\s*%[re]", operands))


def main():
    loops, spilled = 0, []
    for path in sys.argv[1:]:
        for name, body in functions(path):
            if not any(target in name for target in TARGETS):
                continue
            for loop in innermost_loops(body):
                loops += 1
                without_masks = any(kernel in name for kernel in WITHOUT_MASKS)
                if any(moves_vector(*i[1:]) or without_masks and leaves_mask(*i[1:]) for i in loop):
                    spilled.append(name)
    for name in spilled:
        print(f"a vector lives in memory, or an address in a vector or mask, in the innermost loop of {name}")
    print(f"{loops} innermost loops, {len(spilled)} with spills")
    return 1 if spilled or loops == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
