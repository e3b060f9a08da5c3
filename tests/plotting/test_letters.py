"""No letters in a figure cover others or are cut off, whatever the names are."""

import matplotlib
import numpy as np
import pytest
from lettering import covered, cut_off
from matplotlib.figure import Figure
from scipy.stats import loguniform

from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.lab.cli import main
from skgpb.lab.cli.experiment_picture import draw_experiment
from skgpb.lab.experiments import Experiment
from skgpb.plotting import (
    CellMapDisplay,
    ImportanceDisplay,
    PosteriorDisplay,
    RegretDisplay,
    SliceDisplay,
    TreeDisplay,
)

matplotlib.use("agg")

BATH = "concentration of the catalyst in the bath (mol/l)"
OVEN = "temperature of the oven behind the door (°C)"
SOLVENTS = [
    "1,4-dioxane",
    "dimethylformamide",
    "tetrahydrofuran",
    "acetonitrile",
    "water",
    "xylene",
]
SOLVENTS += [
    "ethanol",
    "heptane",
    "2-methyltetrahydrofuran",
    "dichloromethane",
    "toluene",
    "acetone",
]
SIDES = {BATH: loguniform(1e-4, 0.1), OVEN: (20, 90), "solvent": SOLVENTS, "time (min)": (1, 100)}
VALUE = "yield of the second step after washing (% of theory)"


def check(figure):
    assert covered(figure) == []
    assert cut_off(figure) == []


@pytest.fixture(scope="module")
def laboratory():
    opt = GPUCBOptimizer(bounds=SIDES, random_state=0)
    opt.run(lambda query: query.params[OVEN] / 90, budget=8)
    return opt


@pytest.fixture
def drawn(monkeypatch):
    """Return the figures that are saved from now on."""
    figures, save = [], Figure.savefig

    def saved(figure, *arguments, **options):
        save(figure, *arguments, **options)
        figures.append(figure)

    monkeypatch.setattr(Figure, "savefig", saved)
    return figures


@pytest.mark.one_in(3)
@pytest.mark.parametrize("features", [None, ["solvent"], [BATH, "solvent"]])
def test_slices(laboratory, features):
    check(SliceDisplay.from_optimizer(laboratory, features=features, value_name=VALUE).figure_)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("features", [[0], [2], [0, 1], [1, 2], [2, 1]])
def test_maps_and_curves(laboratory, features):
    options = {"features": features, "value_name": VALUE, "grid_resolution": 20}
    check(PosteriorDisplay.from_optimizer(laboratory, **options).figure_)


def test_importance(laboratory):
    check(ImportanceDisplay.from_optimizer(laboratory, value_name=VALUE).figure_)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("display", [CellMapDisplay, TreeDisplay])
@pytest.mark.parametrize("d", [1, 2])
def test_cells(display, d):
    opt = GPOOOptimizer(bounds={BATH: (0, 1), OVEN: (20, 90)} if d == 2 else {BATH: (0, 1)})
    opt.run(lambda query: float(query.center[0]), 10)
    check(display.from_optimizer(opt, value_name=VALUE).figure_)


def test_regret():
    ax = None
    for n, name in enumerate(["random choice", "upper confidence bounds of all that is known"]):
        regret = np.linspace(1.0, 0.1 * n, 20)
        display = RegretDisplay(regret=regret, kind="average", name=name, value_name=VALUE)
        ax = display.plot(ax).ax_
    check(ax.figure)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    names = [f"{BATH}=1e-4:0.1:log", f"{OVEN}=20:90", f"solvent={','.join(SOLVENTS[1:])}"]
    path = tmp_path_factory.mktemp("run") / "a name that is as long as those of files often are"
    run = Experiment.create(path.with_suffix(".skgpb"), names, answer=VALUE, unit="%")
    for answer in (3.0, 1.0, 2.0, 5.0):
        run.tell(answer, run.ask()[0]["query"])
    for number in (1, 2, 3, 4, 1):
        run.tell(number + 0.5, run.repeat(number)["query"])
    return run


@pytest.mark.slow
def test_picture_of_an_experiment(run):
    check(draw_experiment(run))


def in_app(run, kind, *sides):
    """Draw a picture of the pages, as they do."""
    pytest.importorskip("flask")
    from skgpb.lab.app.guard import Guard
    from skgpb.lab.app.pages import Pages

    return Pages(run.path, Guard(), None)._draw(kind, "light", "", *sides)


@pytest.mark.slow
def test_pictures_of_the_app(run, drawn):
    for sides in ((0, 1), (2, 0), (0, 2)):
        in_app(run, "map", *sides)
        check(drawn[-1])
    in_app(run, "replicates")
    check(drawn[-1])
    in_app(run, "slices")
    for panel in drawn[-1].axes:
        panel.set_visible(True)
    assert covered(drawn[-1]) == []


@pytest.mark.slow
def test_panels_of_a_picture_are_as_wide_and_whole(run):
    svgs = in_app(run, "slices")
    assert len(svgs) == 3
    from skgpb.lab.app.views import RunView

    heights = next(each.heights for each in RunView(run).pictures if each.kind == "slices")
    for svg, height, name in zip(svgs, heights, (BATH, OVEN, "solvent"), strict=True):
        text = svg.decode()
        words = " ".join(text.split("<text")[1:])
        assert name.split()[0] in words and 'width="316.8pt"' in text
        assert float(text.split('height="')[1].split("pt")[0]) >= 0.75 * height - 1
    assert b"recommended" in svgs[0] and b"recommended" not in svgs[1]


@pytest.mark.slow
def test_pictures_of_a_report(tmp_path, drawn):
    rng = np.random.default_rng(0)
    table = tmp_path / "table.csv"
    lines = [f'"{BATH}","{OVEN}",solvent,"{VALUE}"']
    for _ in range(200):
        x, solvent = rng.uniform(size=2), rng.integers(len(SOLVENTS))
        value = x[0] + (x[1] > 0.6) + 0.2 * (solvent in (1, 5)) + 0.1 * rng.normal()
        lines.append(f'{x[0]:.3f},{x[1]:.3f},"{SOLVENTS[solvent]}",{value:.3f}')
    table.write_text("\n".join(lines))
    report = tmp_path / "report.html"
    assert (
        main(
            [
                "search",
                str(table),
                "--features",
                BATH,
                OVEN,
                "solvent",
                "--target",
                VALUE,
                "--report",
                str(report),
            ]
        )
        == 0
    )
    assert len(drawn) >= 4
    for figure in drawn:
        check(figure)
