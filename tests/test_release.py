"""What a release consists of agrees: jobs and sessions, versions, requirements."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES_WITH_VERSION = ["pyproject.toml", "CITATION.cff", "recipe/recipe.yaml"]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))


def read(path: str) -> str:
    """Return a file of the repository, or skip where only the tests were copied."""
    file = ROOT / path
    if not file.exists():
        pytest.skip(f"{path} is not beside the tests")
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
        pytest.skip("the workflows are not beside the tests")
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
        name for line in re.findall(r"^ *check (\w[\w ]*)", script, re.M) for name in line.split()
    }
    assert {"lint", "types", "slow", "browser"} <= named <= sessions()


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
