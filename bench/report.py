#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tables, a spreadsheet and a picture from what canopy-bench --out wrote.

  bench/report.py RUN.jsonl... [--sort list|ratio|bound] [--csv FILE] [--picture FILE] [--into DOCUMENT]

Markdown goes to standard output, or with --into between the lines "<!-- bench -->" and "<!-- /bench -->" of a document.
A ratio is a peer's time over Canopy's: above 1 Canopy is faster.
"""
import argparse
import csv
import json
import math
import os
import re
import sys

PARTS = ("call", "data", "weights", "bias")
WORKSPACE_SHARE, WORKSPACE_BYTES_A_THREAD = 0.15, 8 << 20
MIB = 1 << 20
ENGINE, CHOICE_NOISE = "engine", 1.05
FAR_EXCHANGE_NS = 150  # cores that share a cache need some 80, others 350


class Row:
    """One case on one number of threads."""

    def __init__(self, record):
        self.record = record
        self.name, self.kind, self.type = record["name"], record["class"], record["type"]
        self.threads, self.count, self.list = record["threads"], record["count"], record["list"]
        self.canopy = record["measured"][0]
        self.engine = next((one for one in record["measured"] if one["name"] == ENGINE), None)
        self.peers = [one for one in record["measured"][1:] if one is not self.engine]
        self.facts = self.canopy["facts"] or {}

    def ms(self, part="call"):
        times = [time["ms"] for time in self.canopy["times"] if time["what"] == part]
        return min(times) if times else None

    def peer(self, part="call", family=lambda family: True, name=None):
        """(ms, name, way) of the fastest peer, among those of a family or of a name; None where there is none."""
        times = [(time["ms"], peer["name"], time["way"]) for peer in self.peers for time in peer["times"]
                 if time["what"] == part and family(time["family"]) and name in (None, peer["name"])]
        return min(times) if times else None

    def ratio(self, part="call", family=lambda family: True):
        ours, theirs = self.ms(part), self.peer(part, family)
        return theirs[0] / ours if ours and theirs else None

    def bound_ms(self, part="call"):
        return self.record["bounds"].get(part, {}).get("ms")

    def share_of_bound(self, ms, part="call"):
        return self.bound_ms(part) / ms if ms else None

    def share_of_peak(self, ms, part="call"):
        flops = self.record["bounds"].get(part, {}).get("flops", 0)
        return flops * 1e-6 / ms / self.record["peak_gflops"] if ms and self.record["peak_gflops"] else None

    def workspace_over(self):
        limit = WORKSPACE_SHARE * self.record["tensor_bytes"] + WORKSPACE_BYTES_A_THREAD * self.threads
        return self.facts.get("workspace_bytes", 0) > limit


def direct(family):
    return "winograd" not in family


def detour(family):
    return family.startswith("f32-")


def native(family):
    return not detour(family)


def geometric_mean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def number(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def milliseconds(value):
    return "-" if value is None else f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def percent(value):
    return number(value and 100 * value, "{:.0f}%")


def table(head, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]) + "\n"


def columns(rows):
    """Peers and the families of their ways, in order of appearance."""
    found = {}
    for row in rows:
        for peer in row.peers:
            for time in peer["times"]:
                found[(peer["name"], time["family"])] = None
    return sorted(found)


def part_text(row, part):
    ms = row.ms(part)
    if ms is None:
        return "-"
    share = percent(row.share_of_bound(ms, part) if part == "bias" else row.share_of_peak(ms, part))
    ratio = row.ratio(part)
    return f"{milliseconds(ms)} ({share}{'' if ratio is None else f', {ratio:.2f}'})"


def case_table(rows, order):
    if order == "ratio":
        rows = sorted(rows, key=lambda row: row.ratio() or 0)
    elif order == "bound":
        rows = sorted(rows, key=lambda row: row.share_of_bound(row.ms()) or 0)
    peers = columns(rows)
    sixteen = any(detour(family) for _, family in peers)
    head = ["case", "class", "GFLOP", "bound", "Canopy"]
    head += [name if family == "direct" else f"{name} {family}" for name, family in peers]
    if peers:
        head += ["best peer", "ratio", "ratio to direct"] + (["to native", "to detour"] if sixteen else [])
    head += ["of peak", "of bound", "data", "weights", "bias", "workspace", "algorithms"]
    cells = []
    for row in rows:
        line = [row.name + (f" ({row.count} times)" if row.count > 1 else ""), row.kind]
        if row.canopy["refusal"]:
            cells.append(line + [f"refused: {row.canopy['refusal']}"] + [""] * (len(head) - 3))
            continue
        bound = row.record["bounds"]["call"]
        ms = row.ms()
        line += [number(bound["flops"] * 1e-9), f"{milliseconds(bound['ms'])} {'M' if bound['memory'] else 'C'}",
                 milliseconds(ms)]
        for name, family in peers:
            theirs = row.peer(family=lambda one, family=family: one == family, name=name)
            line.append(milliseconds(theirs and theirs[0]))
        if peers:
            best = row.peer()
            line += [f"{best[1]} {best[2]}" if best else "-", number(row.ratio()), number(row.ratio(family=direct))]
        if sixteen:
            line += [number(row.ratio(family=native)), number(row.ratio(family=detour))]
        line += [percent(row.share_of_peak(ms)), percent(row.share_of_bound(ms))]
        line += [part_text(row, part) for part in PARTS[1:]]
        over = ", **over**" if row.workspace_over() else ""
        line += [f"{row.facts.get('workspace_bytes', 0) / MIB:.2f} MiB{over}", row.facts.get("algorithms", "")]
        cells.append(line)
    return table(head, cells)


def class_table(rows):
    kinds = list(dict.fromkeys(row.kind for row in rows)) + [None]
    cells = []
    for kind in kinds:
        some = [row for row in rows if kind in (None, row.kind)]
        worst = min(some, key=lambda row: row.ratio() or math.inf)
        cells.append([
            kind or "**all**", str(len(some)),
            number(geometric_mean([row.ratio() for row in some])),
            number(geometric_mean([row.ratio(family=direct) for row in some])),
            number(geometric_mean([row.ratio(family=native) for row in some])),
            number(geometric_mean([row.ratio(family=detour) for row in some])),
            number(geometric_mean([row.ratio("data") for row in some])),
            number(geometric_mean([row.ratio("weights") for row in some])),
            percent(geometric_mean([row.share_of_bound(row.ms()) for row in some])),
            percent(geometric_mean([row.share_of_bound((row.peer() or [None])[0]) for row in some])),
            f"{worst.name} {number(worst.ratio())}" if worst.ratio() else "-",
        ])
    return table(["class", "cases", "ratio", "to direct", "to native", "to detour", "data", "weights", "of bound",
                  "peers of bound", "worst ratio"], cells)


def list_table(rows):
    """Sums over each list, every layer as often as it is there."""
    names = sorted({peer["name"] for row in rows for peer in row.peers})
    cells = []
    for one in dict.fromkeys(row.list for row in rows):
        some = [row for row in rows if row.list == one]
        total = sum(row.count * row.ms() for row in some)
        line = [one, f"{sum(row.count for row in some)} ({len(some)})", milliseconds(total)]
        for name in [None, *names]:
            timed = [(row.count * row.peer(name=name)[0], row.count * row.ms()) for row in some if row.peer(name=name)]
            theirs, ours = sum(pair[0] for pair in timed), sum(pair[1] for pair in timed)
            missing = f", without {len(some) - len(timed)} layers" if len(timed) < len(some) else ""
            line.append(f"{milliseconds(theirs)} ({theirs / ours:.2f}{missing})" if timed else "-")
        cells.append(line)
    return table(["list", "layers (different)", "Canopy", "best peer of each layer", *names], cells)


def choice_table(rows):
    """Where an algorithm other than the plan's is faster, and how often that is so."""
    cells, choices = [], 0
    for row in rows:
        chosen = (row.engine and row.engine["facts"] or {}).get("chosen", {})
        for part, name in chosen.items():
            times = {time["way"]: time["ms"] for time in row.engine["times"] if time["what"] == part}
            if name not in times:
                continue
            choices += 1
            best = min(times, key=times.get)
            if times[name] > CHOICE_NOISE * times[best]:
                cells.append([row.name, part, f"{name} {milliseconds(times[name])}",
                              f"{best} {milliseconds(times[best])}", number(times[best] / times[name])])
    if not choices:
        return ""
    good = f"{choices - len(cells)} of {choices} choices are within {CHOICE_NOISE - 1:.0%} of the fastest algorithm.\n"
    return good + ("\n" + table(["case", "gradient", "chosen", "fastest", "of its time"], cells) if cells else "")


def remarks(rows):
    """What a reader must know before trusting a column."""
    lines = []
    for row in rows:
        for peer in row.record["measured"][1:]:
            if peer["refusal"] and row.ms():
                lines.append(f"- {row.name}: {peer['name']} is absent: {peer['refusal']}")
            for way in peer["wrong"]:
                away = peer["differences"].get(way)
                away = "it failed" if away is None else f"its results are {away:.1e} from Canopy's, norm-wise"
                lines.append(f"- {row.name}: {peer['name']} {way} is left out: {away}")
    return "".join(line + "\n" for line in dict.fromkeys(lines))


def exchange_remark(rows):
    """How many cases were timed while the threads' cores had no cache in common, where there are threads."""
    exchanges = [row.record["exchange_ns"] for row in rows if row.record.get("exchange_ns")]
    if not exchanges:
        return ""
    far = sum(exchange > FAR_EXCHANGE_NS for exchange in exchanges)
    return (f"A line of memory went from core to core and back in {min(exchanges):.0f} to {max(exchanges):.0f} ns; in "
            f"{far} of {len(exchanges)} cases, at some time, in more than {FAR_EXCHANGE_NS}: no cache in common.\n")


def report(header, rows, order):
    text = [f"`{header['command']}`\n"]
    machine = header["machine"]
    text.append(f"{machine['cpu']}, {machine['target']}; {', '.join(header.get('implementations', []))}.\n")
    for one in machine["by_threads"]:
        reads = ", ".join(f"{rate:.0f} ({size / MIB:.0f} MiB)" for size, rate in one["reads"])
        text.append(f"{one['threads']} thread(s): {one['peak_gflops']:.0f} GFLOP/s of FP32 multiply-adds, "
                    f"{one['bf16_gflops']:.0f} of BF16 dot products; reads in GB/s by footprint: {reads}.\n")
    for kind, threads in dict.fromkeys((row.type, row.threads) for row in rows):
        some = [row for row in rows if (row.type, row.threads) == (kind, threads)]
        timed = [row for row in some if row.ms()]
        text.append(f"### {kind}, {threads} thread{'s' if threads > 1 else ''}\n")
        text += [part for part in (exchange_remark(some), case_table(some, order)) if part]
        if timed:
            text += [part for part in (class_table(timed), list_table(timed), choice_table(timed), remarks(some)) if part]
    return "\n".join(text)


def write_csv(path, rows):
    fields = ["list", "case", "class", "type", "threads", "count", "text", "gflop", "peak_gflops", "workspace_bytes",
              "algorithms", "phase1_us", "phase1_new_us"]
    for part in PARTS:
        fields += [f"{part}_{what}" for what in ("bound_ms", "canopy_ms", "of_peak", "of_bound", "best_peer_ms",
                                                 "best_peer", "ratio", "direct_peer_ms", "native_peer_ms",
                                                 "detour_peer_ms")]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        for row in rows:
            line = {"list": row.list, "case": row.name, "class": row.kind, "type": row.type, "threads": row.threads,
                    "count": row.count, "text": row.record["text"], "peak_gflops": row.record["peak_gflops"],
                    "gflop": row.record["bounds"]["call"]["flops"] * 1e-9}
            line |= {fact: row.facts.get(fact) for fact in fields[9:13]}
            for part in PARTS:
                ms, best = row.ms(part), row.peer(part)
                if ms is None:
                    continue
                line |= {f"{part}_bound_ms": row.bound_ms(part), f"{part}_canopy_ms": ms,
                         f"{part}_of_peak": row.share_of_peak(ms, part),
                         f"{part}_of_bound": row.share_of_bound(ms, part)}
                if best:
                    line |= {f"{part}_best_peer_ms": best[0], f"{part}_best_peer": f"{best[1]} {best[2]}",
                             f"{part}_ratio": row.ratio(part)}
                for name, family in (("direct", direct), ("native", native), ("detour", detour)):
                    line[f"{part}_{name}_peer_ms"] = (row.peer(part, family) or [None])[0]
            writer.writerow(line)


def draw(path, rows):
    """Bars of the ratio to the best peer, from 1 up or down, a panel for each type and number of threads."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    panels = list(dict.fromkeys((row.type, row.threads) for row in rows if row.ratio()))
    if not panels:
        sys.exit("report.py: no peer was timed, so there is no ratio to draw")
    kinds = list(dict.fromkeys(row.kind for row in rows))
    colours = {kind: pyplot.get_cmap("tab20")(i % 20) for i, kind in enumerate(kinds)}
    widest = max(sum((row.type, row.threads) == panel for row in rows) for panel in panels)
    figure, axes = pyplot.subplots(len(panels), 1, squeeze=False,
                                   figsize=(max(7, 0.24 * widest + 2), 4.2 * len(panels)))
    for axis, panel in zip(axes[:, 0], panels):
        some = [row for row in rows if (row.type, row.threads) == panel and row.ratio()]
        some.sort(key=lambda row: (kinds.index(row.kind), row.ratio()))
        for place, row in enumerate(some):
            axis.bar(place, row.ratio() - 1, bottom=1, color=colours[row.kind])
        mean = geometric_mean([row.ratio() for row in some])
        axis.axhline(1, color="black", linewidth=1)
        axis.axhline(mean, color="black", linewidth=0.8, linestyle=":")
        axis.set_yscale("log")
        least, most = min(row.ratio() for row in some), max(row.ratio() for row in some)
        axis.set_ylim(min(0.8, 0.9 * least), max(1.25, 1.1 * most))
        axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_ylabel("best peer's time / Canopy's")
        axis.set_title(f"{panel[0]}, {panel[1]} thread{'s' if panel[1] > 1 else ''}: geometric mean {mean:.2f}")
        axis.set_xticks(range(len(some)))
        axis.set_xticklabels([row.name for row in some], rotation=90, fontsize=6)
        axis.set_xlim(-0.7, len(some) - 0.3)
        axis.grid(axis="y", which="both", linewidth=0.3)
        shown = list(dict.fromkeys(row.kind for row in some))
        axis.legend([pyplot.Rectangle((0, 0), 1, 1, color=colours[kind]) for kind in shown], shown, fontsize=6, ncol=2,
                    loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def place(path, text):
    with open(path) as file:
        document = file.read()
    pattern = re.compile(r"(<!-- bench -->\n).*?(<!-- /bench -->)", re.DOTALL)
    if not pattern.search(document):
        sys.exit(f'report.py: {path} has no lines "<!-- bench -->" and "<!-- /bench -->"')
    with open(path, "w") as file:
        file.write(pattern.sub(lambda match: match[1] + "\n" + text + "\n" + match[2], document))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--sort", choices=("list", "ratio", "bound"), default="list", help="worst first, but for list")
    parser.add_argument("--csv")
    parser.add_argument("--picture")
    parser.add_argument("--into", metavar="DOCUMENT")
    options = parser.parse_args()
    texts, rows = [], []
    for path in options.runs:
        with open(path) as file:
            header, *records = [json.loads(line) for line in file]
        run = [Row(record) for record in records]
        rows += run
        texts.append(report(header, run, options.sort))
    if options.csv:
        write_csv(options.csv, rows)
    if options.picture:
        draw(options.picture, rows)
    if options.into:
        if options.picture:
            picture = os.path.relpath(options.picture, os.path.dirname(options.into) or ".")
            texts.insert(0, f"![Ratio to the best peer, for each case]({picture})\n")
        place(options.into, "\n".join(texts))
    else:
        print("\n".join(texts))


if __name__ == "__main__":
    main()
