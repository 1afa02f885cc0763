#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a worker of the bench: answers the questions of bench/serve.h on the socket whose number is its argument.

As with every call of PyTorch, results are allocated inside the time. What the bench asks for is aten's backward
operator itself, without autograd's bookkeeping. Ways: "torch", and for 16-bit tensors also "f32-torch", which converts to
FLOAT and back.
"""
import json
import mmap
import os
import socket
import sys
import time

WARM_SECONDS, SLOW_SECONDS = 0.005, 1
LEAST, MOST = 3, 2000  # these four as in bench/serve.cc


def time_runs(run, seconds):
    begin = time.perf_counter()
    while True:
        run()
        if time.perf_counter() - begin >= WARM_SECONDS:
            break
    least = LEAST if time.perf_counter() - begin <= SLOW_SECONDS else 1
    samples = []
    begin = time.perf_counter()
    while len(samples) < least or (len(samples) < MOST and time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return samples


class Case:
    """The tensors of a case and the calls that can be made of them."""

    def __init__(self, torch, question):
        self.torch = torch
        self.case = case = question["case"]
        if case["op"] not in ("conv_backward", "tbc_backward"):
            raise ValueError("only backward operators are put to it")
        types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
        for name, tensor in case["tensors"].items():
            if tensor["type"] not in types:
                raise ValueError(f"it has no type {tensor['type']}")
        with open(question["path"], "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.shared = {
            name: torch.frombuffer(self.memory, dtype=types[tensor["type"]], count=tensor["elements"],
                                   offset=tensor["at"]).as_strided(tensor["shape"], tensor["strides"],
                                                                   tensor["offset"])
            for name, tensor in case["tensors"].items()
        }
        names = ("grad_output", "input", "weight", "bias")
        self.inputs = [self.shared[name].clone(memory_format=torch.preserve_format)
                       for name in names if name in self.shared]
        self.type = types[case["tensors"]["input"]["type"]]
        self.results = ()
        if case["op"] == "tbc_backward":
            self.parts = {}
        elif case["padding"] != case["padding_end"]:
            raise ValueError("its operator pads both ends alike")
        else:
            self.parts = {"data": [True, False, False], "weights": [False, True, False]}
            self.parts = {part: mask for part, mask in self.parts.items() if case["mask"][mask.index(True)]}

    def ways(self):
        names = ["torch"] if self.type == self.torch.float32 else ["torch", "f32-torch"]
        usable = []
        for name in names:
            try:
                self.runner("call", name)()
                usable.append(name)
            except RuntimeError as error:
                reason = str(error).splitlines()[0]
        if not usable:
            raise ValueError(reason)
        return {part: usable for part in ["call", *self.parts]}

    def compute(self, inputs, mask):
        case = self.case
        if case["op"] == "tbc_backward":
            return self.torch.ops.aten.conv_tbc_backward(*inputs, case["padding"][0])
        return self.torch.ops.aten.convolution_backward(
            *inputs[:3], [case["output_channels"]], case["stride"], case["padding"], case["dilation"],
            case["transposed"], case["output_padding"], case["groups"], mask)

    def runner(self, what, way):
        mask = self.parts.get(what, self.case["mask"])

        def native():
            self.results = self.compute(self.inputs, mask)

        def detour():
            results = self.compute([tensor.float() for tensor in self.inputs], mask)
            self.results = [None if result is None else result.to(self.type) for result in results]

        return native if way == "torch" else detour

    def store(self):
        for name, result in zip(("grad_input", "grad_weight", "grad_bias"), self.results):
            if result is not None and name in self.shared:
                self.shared[name].copy_(result)


class Peer:
    def __init__(self):
        import torch
        self.torch = torch
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        self.case = None

    def answer(self, question):
        verb = question["do"]
        if verb == "hello":
            return {"name": "PyTorch " + self.torch.__version__}
        if verb == "prepare":
            self.case = Case(self.torch, question)
            return {"ways": self.case.ways(), "facts": {}}
        if verb == "result":
            self.case.runner("call", question["way"])()
            self.case.store()
            return {}
        if verb == "time":
            with self.torch.no_grad():
                return {"seconds": time_runs(self.case.runner(question["what"], question["way"]), question["seconds"])}
        self.case = None
        return {}


def main():
    stream = socket.socket(fileno=int(sys.argv[1])).makefile("rw")
    peer = None
    for line in stream:
        try:
            if peer is None:
                peer = Peer()
            answer = peer.answer(json.loads(line))
        except ModuleNotFoundError as error:
            answer = {"error": f"{error.name} is not installed (Debian's python3-torch)"}
        except Exception as error:  # whatever it is, the bench shows it and goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        stream.write(json.dumps(answer) + "\n")
        stream.flush()


if __name__ == "__main__":
    main()
