#!/usr/bin/env python3
"""Draws docs/results/scaling.svg, and prints the tables of docs/results/scaling.md.

    bazel-bin/tests/bench/scaling_bench --benchmark_format=json > scaling.json
    tools/scaling_plot.py scaling.json [--out docs/results/scaling.svg]

One panel for each family of the benchmark, both axes logarithmic.
"""
import argparse
import json
import math
import sys

FAMILIES = {"BM_Keys": "keys a step", "BM_Dim": "dim", "BM_Tables": "tables", "BM_Shards": "shards", "BM_Servers": "servers",
            "BM_Workers": "workers", "BM_Batch": "samples a batch"}
COLUMNS, PANEL_WIDTH, PANEL_HEIGHT = 4, 230, 200
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 30, 40


def curves_of(path):
    """{family: [(argument, nanoseconds, bytes a row or None)]}"""
    curves = {}
    with open(path) as text:
        for run in json.load(text)["benchmarks"]:
            family, argument = run["name"].split("/")[:2]
            curves.setdefault(family, []).append((int(argument), run["ns"], run.get("bytes/row")))
    missing = [family for family in FAMILIES if family not in curves]
    if missing:
        sys.exit(f"{path}: nothing of {', '.join(missing)}; run all of scaling_bench")
    return curves


def ticks(low, high):
    """1, 2 and 5 of each power of ten in between."""
    power = math.floor(math.log10(low))
    marks = [digit * 10 ** exponent for exponent in range(power, math.ceil(math.log10(high)) + 1) for digit in (1, 2, 5)]
    return [mark for mark in marks if low <= mark <= high]


def panel(left, top, title, unit, points):
    low_x, high_x = points[0][0], points[-1][0]
    low_y, high_y = min(point[1] for point in points), max(point[1] for point in points)
    # At least a factor of 10, so that what is level looks level.
    margin = max(1.3, math.sqrt(10 * low_y / high_y))
    low_y, high_y = low_y / margin, high_y * margin
    width, height = PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM
    x = lambda value: left + LEFT + math.log(value / low_x) / math.log(high_x / low_x) * width
    y = lambda value: top + TOP + (1 - math.log(value / low_y) / math.log(high_y / low_y)) * height
    out = [f'<text x="{left + LEFT}" y="{top + 18}" fill="#333333" font-weight="600">{title}</text>']
    for mark in ticks(low_y, high_y):
        out.append(f'<line x1="{left + LEFT}" x2="{left + LEFT + width}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{left + LEFT - 6}" y="{y(mark) + 4:.1f}" text-anchor="end" fill="#555555">{mark:,.0f}</text>')
    for value in (low_x, high_x):
        anchor = "start" if value == low_x else "end"
        out.append(f'<text x="{x(value):.1f}" y="{top + TOP + height + 16}" text-anchor="{anchor}" fill="#555555">{value:,}</text>')
    out.append(f'<text x="{left + LEFT + width / 2:.1f}" y="{top + TOP + height + 16}" text-anchor="middle" fill="#555555">ns a {unit}</text>')
    line = " ".join(f"{x(value):.1f},{y(cost):.1f}" for value, cost, _ in points)
    out.append(f'<polyline points="{line}" fill="none" stroke="#0b6bcb" stroke-width="2"/>')
    out += [f'<circle cx="{x(value):.1f}" cy="{y(cost):.1f}" r="3" fill="#0b6bcb"/>' for value, cost, _ in points]
    return out


def drawing(curves):
    rows = math.ceil(len(FAMILIES) / COLUMNS)
    width, height = COLUMNS * PANEL_WIDTH, rows * PANEL_HEIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for index, (family, title) in enumerate(FAMILIES.items()):
        unit = "sample" if family == "BM_Batch" else "key"
        out += panel(index % COLUMNS * PANEL_WIDTH, index // COLUMNS * PANEL_HEIGHT, title, unit, curves[family])
    return "\n".join(out + ["</svg>"]) + "\n"


def tables(curves):
    for family, title in FAMILIES.items():
        points = curves[family]
        print(f"| {title} | " + " | ".join(f"{value:,}" for value, _, _ in points) + " |")
        print("|---" * (len(points) + 1) + "|")
        print(f"| ns a {'sample' if family == 'BM_Batch' else 'key'} | " + " | ".join(f"{cost:,.0f}" for _, cost, _ in points) + " |")
        if points[0][2] is not None:
            print("| bytes a row | " + " | ".join(f"{size:,.0f}" for _, _, size in points) + " |")
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", help="what scaling_bench wrote")
    parser.add_argument("--out", default="docs/results/scaling.svg")
    flags = parser.parse_args()
    curves = curves_of(flags.json)
    with open(flags.out, "w") as out:
        out.write(drawing(curves))
    tables(curves)


if __name__ == "__main__":
    main()
