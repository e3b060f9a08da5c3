"""The parts of a release agree: jobs and sessions, versions, requirements."""

from __future__ import annotations

import ast
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest
from sklearn import model_selection

ROOT = Path(__file__).resolve().parents[1]
FILES_WITH_VERSION = ["pyproject.toml", "CITATION.cff", "recipe/recipe.yaml"]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))


def read(path: str) -> str:
    """Return a file of the repository, or skip where only the tests were copied."""
    file = ROOT / path
    if not file.exists():
        pytest.skip(f"{path} is not available")
    return file.read_text(encoding="utf-8")


def sessions() -> set[str]:
    tree = ast.parse(read("noxfile.py"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        f.name for f in functions if any(ast.unparse(d) == "nox.session" for d in f.decorator_list)
    }


def jobs() -> set[str]:
    """Sessions that jobs run: named after ``nox -s``, or in a matrix of sessions."""
    if not WORKFLOWS:
        pytest.skip("the workflows are not available")
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    named = set(re.findall(r"nox -s (\w+)", text)) | set(re.findall(r"session: (\w+)", text))
    for listed in re.findall(r" session:\n((?: +- \w+\n)+)", text):
        named |= set(re.findall(r"- (\w+)", listed))
    return named


def listed(section: str) -> set[str]:
    """Requirements in a section of the recipe, as pyproject.toml writes them."""
    return {line.replace(" ", "") for line in re.findall(r"- (.+)", section)}


def test_every_session_is_a_job_and_every_job_a_session():
    assert jobs() == sessions()


def test_continuous_integration_here_runs_sessions():
    script = read(".ci/run")
    named = {
        name
        for line in re.findall(r"^ *(?:check|nox) (\w[\w ]*)", script, re.M)
        for name in line.split()
    }
    assert {"lint", "types", "contents"} <= named <= sessions()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_rely_on_fixed_actions_and_are_granted_nothing_by_default(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # .+", action), action
    assert "\npermissions: {}\n" in text
    assert "\nconcurrency:\n" in text


def test_every_file_names_the_same_version():
    pattern = r"(?m)^ *version(?: = |: )\"?([\w.]+)\"?$"
    versions = [re.search(pattern, read(path))[1] for path in FILES_WITH_VERSION]
    assert versions == versions[:1] * 3


def test_the_changelog_has_a_date_for_a_version_that_is_released():
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    first = re.search(r"(?m)^## (\S+) \((.+)\)$", read("CHANGELOG.md"))
    date = "unreleased" if ".dev" in version else r"\d{4}-\d\d-\d\d"
    assert first[1] == version.partition(".dev")[0]
    assert re.fullmatch(date, first[2])


def test_addresses_lead_to_pages_of_the_documentation():
    urls = tomllib.loads(read("pyproject.toml"))["project"]["urls"]
    base = urls["Documentation"]
    assert f"documentation: {base}\n" in read("recipe/recipe.yaml")
    for address in set(urls.values()) - {base}:
        page = address.removeprefix(base).removesuffix(".html")
        if address.startswith(base):
            assert read(f"doc{page}.rst")


def test_the_recipe_asks_for_what_the_package_asks_for():
    project = tomllib.loads(read("pyproject.toml"))
    recipe = read("recipe/recipe.yaml")
    build, host, run = re.findall(r"(?m)^  (?:build|host|run):\n((?: {4}.+\n)+)", recipe)
    assert set(project["project"]["dependencies"]) == listed(run) - {"python"}
    compiled = {line.lower() for line in project["build-system"]["requires"]}
    assert compiled <= listed(host)
    assert compiled - {"setuptools>=77"} <= listed(build)


def test_the_readme_says_what_a_fresh_clone_is_of():
    readme = read("README.md")
    clone = re.search(r"git clone (\S+?)[`,\s]", readme[: readme.index("pip install")])
    assert clone, "the first command runs in a clone that the page has not mentioned"
    address = tomllib.loads(read("pyproject.toml"))["project"]["urls"].get("Source", "FOLDER")
    assert clone[1] == address
    assert f"git clone {address}" in read("doc/install.rst")


def test_names_in_the_changelog_exist():
    names = set(re.findall(r"(?m)^   (?:\w+\.)*(\w+)$", read("doc/api/index.rst")))
    for quoted in re.findall(r"`([^`]+)`", read("CHANGELOG.md")):
        if re.fullmatch(r"[A-Z]\w+", quoted):
            assert quoted in names or hasattr(model_selection, quoted), quoted
        elif re.fullmatch(r"skgpb(\.\w+)+", quoted):
            assert pkgutil.resolve_name(quoted), quoted


def test_the_changelog_of_a_first_version_says_what_there_is():
    changelog = read("CHANGELOG.md")
    if len(re.findall(r"(?m)^## ", changelog)) > 1:
        return  # released versions exist, so the changelog lists changes
    told = r"as before|earlier|used to|no longer|renamed|instead of|what it took|of the time|is now"
    assert not re.search(told, re.sub(r"`[^`]+`", "", changelog.partition("##")[2]))


def test_extras_that_messages_and_pages_name_exist():
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    places = [*ROOT.glob("skgpb/**/*.py"), *ROOT.glob("doc/**/*.rst"), ROOT / "README.md"]
    named = {
        extra.strip()
        for path in places
        for listed in re.findall(r"skgpb\[([\w, ]+)\]", path.read_text(encoding="utf-8"))
        for extra in listed.split(",")
    }
    assert {"app", "plot", "tables"} <= named <= set(extras)


def test_the_app_has_what_it_reads_and_writes_tables_with():
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in extras["app"]}
    assert {"flask", "matplotlib", "openpyxl", "pandas"} <= names


def test_every_extra_is_on_the_page_of_the_installation():
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    listed = re.findall(r"(?m)^``(\w+)``  +", read("doc/install.rst"))
    assert sorted(listed) == sorted(extras)


def test_no_page_promises_parquet_without_its_package():
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    for path in ROOT.glob("doc/doors/*.rst"):
        page = path.read_text(encoding="utf-8")
        if "Parquet" in page and not any("pyarrow" in each for each in extras["app"]):
            assert "pipx inject skgpb pyarrow" in page, path
