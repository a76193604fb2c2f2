"""Shows the figures of a run: `python3 plot.py figures.json FOLDER` makes ratios.svg, growth.svg, figures.md
and, of a file joins.tsv in the folder, joins.md."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BETTER, WORSE, AIM, INK = "#2a6f97", "#c8553d", "#8d99ae", "#22303c"
ENGINES = {"Hearth": BETTER, "GRDB record": "#e09f3e", "SQLite JSON": "#6a994e"}

plt.rcParams.update(
    {
        "font.size": 9,
        "font.family": "sans-serif",
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": AIM,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "hearth",
        "figure.facecolor": "white",
    }
)


def median(values):
    return sorted(values)[len(values) // 2]


def source(report):
    machine, versions = report["machine"], report["versions"]
    memory = round(machine["memoryBytes"] / 2**30)
    libraries = ", ".join(f"{name} {versions[name]}" for name in sorted(versions))
    return (
        f"{machine['cores']} cores of {machine['processor']}, {memory} GB, Linux {machine['kernel'].split('-')[0]}; "
        f"{libraries}\n{report['books']:,} books, {report['rounds']} interleaved rounds, "
        f"{report['date'][:10]}; load before: {machine['load'].split()[0]}"
    )


def ratios(report, path):
    figures = list(reversed(report["figures"]))
    figure, axes = plt.subplots(figsize=(8.4, 1.3 + 0.27 * len(figures)), layout="constrained")
    for place, one in enumerate(figures):
        value = median(one["ratios"])
        color = BETTER if value >= 1 else WORSE
        axes.barh(place, value - 1, left=1, color=color, height=0.62)
        low, high = min(one["ratios"]), max(one["ratios"])
        axes.plot([low, high], [place, place], color=INK, linewidth=0.8, alpha=0.6)
        axes.plot(one["aim"], place, marker="|", color=INK, markersize=11, markeredgewidth=1.6)
        text = f"{value:.2g}" if value < 10 else f"{value:,.0f}"
        # Behind the mark of the aim, if that is where the text would stand.
        behind = one["aim"] if 0.8 < one["aim"] / max(value, high, 1) < 2 else 0
        axes.annotate(
            f"  {text}× ",
            (max(value, high, 1, behind), place),
            va="center",
            fontweight="bold" if value < 1 else "normal",
            color=color,
        )
    axes.set_yticks(
        range(len(figures)), [f"{one['work']}  ·  {one['against']}" for one in figures]
    )
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.7, len(figures) - 0.3)
    figure.suptitle(
        "How much better Hearth is than its peers (red: worse); the upright mark is the aim",
        x=0.01,
        ha="left",
        fontsize=10,
    )
    figure.supxlabel(source(report), fontsize=7, x=0.01, ha="left")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def growth(report, path):
    works = list(dict.fromkeys(point["work"] for point in report["growth"]))
    columns = 3
    rows = -(-len(works) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(8.4, 2.5 * rows + 0.5), layout="constrained", squeeze=False
    )
    for axes, work in zip(grid.flat, works):
        points = [point for point in report["growth"] if point["work"] == work]
        isBytes = points[0]["unit"] == "B"
        ofText = work == "file of one text"
        for engine, color in ENGINES.items():
            line = sorted(
                (point["size"], point["value"]) for point in points if point["engine"] == engine
            )
            if not line:
                continue
            sizes, values = zip(*line)
            values = [
                value / size if ofText else value if isBytes else value / 1000
                for size, value in line
            ]
            axes.plot(sizes, values, marker="o", markersize=3.5, color=color, label=engine)
        axes.set_xscale("log")
        if not isBytes:
            axes.set_yscale("log")
        axes.set_ylim(bottom=0 if isBytes else None)
        unit = "B stored for each B" if ofText else "B a document" if isBytes else "µs"
        axes.set_title(f"{work}, {unit}", loc="left", fontsize=9)
        axes.set_xlabel("bytes of text" if ofText else "books", fontsize=8)
    for axes in list(grid.flat)[len(works):]:
        axes.set_visible(False)
    grid.flat[0].legend(frameon=False, fontsize=8)
    figure.supxlabel(source(report), fontsize=7, x=0.01, ha="left")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def table(report, path):
    def number(value):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

    lines = [
        "# Figures",
        "",
        source(report).replace("\n", "; ") + ".",
        "",
        "Above 1, Hearth is better by that factor. What is lost stands in bold.",
        "",
        "| Name | Work | Against | Aim | Ratio | Spread | Hearth | Peer |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in report["figures"]:
        value = median(one["ratios"])
        text = f"{value:.3g}×"
        lines.append(
            f"| {one['name']} | {one['work']} | {one['against']} | {round(one['aim'], 2):g}× "
            f"| {f'**{text}**' if value < 1 else text} "
            f"| {min(one['ratios']):.3g}…{max(one['ratios']):.3g} "
            f"| {number(one['own'])} {one['unit']} | {number(one['peer'])} {one['unit']} |"
        )
    lines += [""] + [f"- {note}" for note in report["notes"]]
    path.write_text("\n".join(lines) + "\n")


def joins(lines, report, path):
    """The lines of `JoinFigures`, as a table."""
    rows, times = [], {}
    for kind, name, *rest in (line.rstrip("\n").split("\t") for line in lines if "\t" in line):
        if kind == "time":
            times[name] = [text.split(" ", 1)[1] for text in rest]
        elif kind == "ratio":
            ratio, spread = rest
            ratio = ratio.strip("*")
            bold = "**" if float(ratio) < 1 else ""
            rows.append(f"| {name} | {bold}{ratio}×{bold} | {spread} | {' | '.join(times[name])} |")
    head = [
        "# Joins, relations and typed operations",
        "",
        source(report).split("\n")[0] + f"; authors, books and reviews, {report['date'][:10]}.",
        "",
        "Beside GRDB's records with the same indexes; above 1, Hearth is faster by that factor. What is lost stands in bold.",
        "",
        "| Work | Ratio | Spread | Hearth | GRDB |",
        "|---|---|---|---|---|",
    ]
    path.write_text("\n".join(head + rows) + "\n")


def main(figures, folder):
    report = json.loads(pathlib.Path(figures).read_text())
    folder = pathlib.Path(folder)
    table(report, folder / "figures.md")
    if report["figures"]:
        ratios(report, folder / "ratios.svg")
    if report["growth"]:
        growth(report, folder / "growth.svg")
    lines = folder / "joins.tsv"
    if lines.exists():
        joins(lines.read_text().splitlines(), report, folder / "joins.md")


if __name__ == "__main__":
    main(*sys.argv[1:])
