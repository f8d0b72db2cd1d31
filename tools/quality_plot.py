#!/usr/bin/env python3
"""Draws the table of docs/results/quality.md: bytes a sample against log-loss, one point for each arm.

    tools/quality_plot.py [--table docs/results/quality.md] [--out docs/results/quality.svg]

Reads the first table that has the columns of tools/quality_table.py. Both axes are stretched: bytes by their logarithm, log-loss by that of its
difference from plain, so that 0.05 % and 5 % can be told apart in one picture.
"""
import argparse
import math
import sys

WIDTH, HEIGHT = 860, 460
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 24, 58
KNEE = 0.1  # per cent: below it the scale is about linear


def rows_of(path):
    """(arm, per cent against plain, bytes a sample)."""
    rows, columns = [], None
    with open(path) as lines:
        for line in lines:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if cells[0] == "arm" and "bytes/sample" in cells:
                columns = (cells.index("against plain"), cells.index("bytes/sample"))
            elif columns and not line.startswith("|"):
                break
            elif columns and not cells[0].startswith("-"):
                rows.append((cells[0], float(cells[columns[0]].split("%")[0]), float(cells[columns[1]].replace(",", ""))))
    if not rows:
        sys.exit(f"{path}: no table with the columns arm, against plain and bytes/sample")
    return rows


def stretched(percent):
    return math.copysign(math.log10(1 + abs(percent) / KNEE), percent)


def drawing(rows):
    low_x, high_x = math.log10(20), math.log10(8000)
    low_y, high_y = stretched(-0.3), stretched(8)
    x = lambda size: LEFT + (math.log10(size) - low_x) / (high_x - low_x) * (WIDTH - LEFT - RIGHT)
    y = lambda percent: HEIGHT - BOTTOM - (stretched(percent) - low_y) / (high_y - low_y) * (HEIGHT - TOP - BOTTOM)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for percent in (-0.1, 0, 0.1, 0.3, 1, 3):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(percent):.1f}" y2="{y(percent):.1f}" stroke="{"#999999" if percent == 0 else "#e4e4e4"}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(percent) + 4:.1f}" text-anchor="end" fill="#555555">{f"{percent:+g} %" if percent else "plain"}</text>')
    for size in (30, 100, 300, 1000, 3000):
        out.append(f'<line x1="{x(size):.1f}" x2="{x(size):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" fill="#555555">{size:,}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle" fill="#333333">bytes a sample, all edges, both directions</text>')
    out.append(f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle" fill="#333333">log-loss against plain</text>')
    # Boxes that no label may cover: left, top, right, bottom.
    placed = [(x(size) - 6, y(percent) - 6, x(size) + 6, y(percent) + 6) for _, percent, size in rows]
    for arm, percent, size in sorted(rows, key=lambda row: row[2]):
        cx, cy = x(size), y(percent)
        best = all(other[2] >= size or other[1] > percent for other in rows)
        width = 7.2 * len(arm)
        for dx, dy in ((9, 4), (-9 - width, 4), (9, 20), (9, -12), (-width / 2, 24), (9, 36), (9, -28), (-9 - width, 22)):
            box = (cx + dx, cy + dy - 11, cx + dx + width, cy + dy + 3)
            if box[2] < WIDTH - RIGHT and all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in placed):
                break
        placed.append(box)
        out.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5" fill="{"#1667c4" if best else "#ffffff"}" stroke="#1667c4" stroke-width="1.5"/>')
        out.append(f'<text x="{box[0]:.1f}" y="{cy + dy:.1f}" fill="#222222">{arm}</text>')
    out.append(f'<text x="{WIDTH - RIGHT - 6}" y="{TOP + 14}" text-anchor="end" fill="#333333">filled: nobody needs fewer bytes for this log-loss</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="docs/results/quality.md")
    parser.add_argument("--out", default="docs/results/quality.svg")
    args = parser.parse_args()
    picture = drawing(rows_of(args.table))
    with open(args.out, "w") as f:
        f.write(picture)


if __name__ == "__main__":
    sys.exit(main())
