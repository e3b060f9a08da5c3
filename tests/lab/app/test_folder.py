"""The experiments of a folder: their list, and the way to each and to no other file."""

from __future__ import annotations

import html
import os
import re
from datetime import datetime
from urllib.parse import quote

import pytest

from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.listed import experiments_in

pytest.importorskip("flask")
pytest.importorskip("matplotlib")

from skgpb.lab.app.folder import make_folder_app
from skgpb.lab.app.pages import make_app

HOST = {"Host": "127.0.0.1:8650"}


@pytest.fixture
def folder(tmp_path):
    """A folder with two experiments, a damaged one and another file; an experiment outside it."""
    folder = tmp_path / "lab"
    folder.mkdir()
    oven = Experiment.create(
        folder / "oven 1 ü.skgpb", ["heat=20:90"], title="Oven <b>", answer="yield", unit="%"
    )
    for answer in (40.0, 61.5):
        oven.tell(answer, oven.ask()[0]["query"])
    oven.ask()
    Experiment.create(folder / "bath.skgpb", ["salt=0:1"], direction="minimize")
    (folder / "broken.skgpb").write_bytes(b"no run")
    (folder / "secret.txt").write_text("secret")
    Experiment.create(tmp_path / "outside.skgpb", ["secret=0:1"])
    return folder


@pytest.fixture
def client(folder):
    return make_folder_app(folder).test_client()


def open_page(client, address):
    answer = client.get(address, headers=HOST)
    return answer.status_code, answer.get_data().decode("utf-8", "replace")


def test_the_list_says_how_far_each_experiment_is(client, folder):
    status, text = open_page(client, "/")
    assert status == 200 and "2 in the folder lab" in text
    sections = re.findall(r"<section>\n<h2>.*?</section>", text, re.S)
    shown = [re.findall(r"<d[td][^>]*>(.*?)</d", section) for section in sections]
    changed = [
        datetime.fromtimestamp((folder / name).stat().st_mtime).isoformat(" ", "minutes")
        for name in ("bath.skgpb", "oven 1 ü.skgpb")
    ]
    bath = ["Answers", "0", "To do", "0", "Smallest result", "none yet", "Last changed", changed[0]]
    oven = ["Answers", "2", "To do", "1", "Largest yield", "61.5 %", "Last changed", changed[1]]
    assert shown == [bath, oven]
    assert "Oven &lt;b&gt;" in sections[1] and "oven 1 ü.skgpb" in sections[1]
    assert "cannot be read as experiments: broken.skgpb" in text and "secret" not in text
    assert [each["changed"] for each in experiments_in(folder)] == changed


def test_the_list_follows_what_is_told_elsewhere(client, folder):
    open_page(client, "/")
    bath = Experiment(folder / "bath.skgpb")
    bath.tell(0.25, bath.ask()[0]["query"])
    assert '<dd class="number">1</dd>' in open_page(client, "/")[1]
    assert "<dd>0.25</dd>" in open_page(client, "/")[1]
    os.remove(folder / "bath.skgpb")
    assert "1 in the folder lab" in open_page(client, "/")[1]


@pytest.mark.slow
def test_an_experiment_is_opened_answered_and_left_again(client, folder):
    _, text = open_page(client, "/")
    address = html.unescape(re.findall(r'<h2><a href="([^"]+)"', text)[1])
    status, text = open_page(client, address)
    assert status == 200 and '<a href="/">All experiments</a>' in text
    form = re.search(r'<form method="post" action="([^"]+/tell/3)".*?</form>', text, re.S)
    data = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0]))
    data |= {"outcome": "value", "value": "62.25"}
    answer = client.post(form[1], data=data, headers=HOST | {"Origin": "http://127.0.0.1:8650"})
    assert answer.status_code == 303 and answer.headers["Location"].startswith(address)
    assert Experiment(folder / "oven 1 ü.skgpb").history()[2]["answer"] == 62.25
    for page in re.findall(r'(?:href|src|srcset)="(/[^"#]+)"', open_page(client, address)[1]):
        assert open_page(client, html.unescape(page))[0] == 200


def test_another_is_begun_under_a_name(client, folder):
    answer = client.get("/?name=third+batch", headers=HOST)
    assert answer.status_code == 303 and answer.headers["Location"] == "/third%20batch.skgpb/"
    _, text = open_page(client, "/third%20batch.skgpb/")
    assert (
        "does not exist yet" in text
        and '<form method="post" action="/third batch.skgpb/new"' in text
    )
    token = re.search(r'name="token" value="([^"]+)"', text)[1]
    data = {"token": token, "name0": "heat", "kind0": "range", "low0": "0", "high0": "1"}
    client.post("/third%20batch.skgpb/new", data=data | {"outcome": "start"}, headers=HOST)
    assert Experiment(folder / "third batch.skgpb").sides[0].name == "heat"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name", ["../outside", "..", ".hidden", "a/b", "a\\b", "C:x", "a\0b", "etc/x", "a\nb"]
)
def test_no_name_leads_out_of_the_folder(client, folder, name):
    assert client.get("/", query_string={"name": name}, headers=HOST).status_code == 422
    before = sorted(folder.parent.rglob("*"))
    for address in (f"/{name}.skgpb/", f"/{name}.skgpb/run.skgpb", f"/x/../{name}.skgpb"):
        status, text = open_page(client, quote(address))
        assert status == 404 and "secret" not in text
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "address",
    [
        "/..%2foutside.skgpb/run.skgpb",
        "/../outside.skgpb/",
        "/bath.skgpb/../../outside.skgpb/",
        "/bath.skgpb/..%2f..%2foutside.skgpb",
        "/secret.txt",
        "/secret.txt/",
        "/%2e%2e/outside.skgpb/",
        "/bath.skgpb/static/../../../pages.py",
        "/static/../pages.py",
    ],
)
def test_no_address_leads_to_another_file(client, address):
    status, text = open_page(client, address)
    assert status == 404 and "secret" not in text and "import" not in text


def test_other_sites_see_and_change_nothing(client, folder):
    rebound = {"Host": "rebound.example"}
    for address in ("/", "/bath.skgpb/"):
        answer = client.get(address, headers=rebound)
        text = answer.get_data(as_text=True)
        # Not even what files are called, and where they are.
        assert answer.status_code == 403 and "oven" not in text and str(folder) not in text
        headers = client.get(address, headers=HOST).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
    before = (folder / "bath.skgpb").read_bytes()
    for origin in ({"Origin": "http://evil.example"}, {}):
        assert client.post("/bath.skgpb/ask", headers=HOST | origin).status_code == 403
    assert client.post("/", data={"name": "x"}, headers=HOST).status_code in (403, 405)
    assert (folder / "bath.skgpb").read_bytes() == before


def test_a_folder_that_is_gone_is_said(tmp_path):
    client = make_folder_app(tmp_path / "gone").test_client()
    status, text = open_page(client, "/")
    assert status == 500 and "No such file" in text and "Traceback" not in text


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["\U0001f389" * 90, "é" * 122, "x" * 250, "x" * 1000])
def test_a_name_that_is_too_long_is_said_where_it_is_typed(client, folder, name):
    answer = client.get("/", query_string={"name": name}, headers=HOST)
    assert answer.status_code == 422 and "name is too long" in answer.get_data(as_text=True)
    assert open_page(client, f"/{quote(name)}.skgpb/")[0] == 404
    assert open_page(client, "/")[0] == 200


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["\U0001f389" * 60, "é" * 120, "x" * 243])
def test_the_longest_name_can_be_used(client, folder, name):
    answer = client.get("/", query_string={"name": name}, headers=HOST)
    status, text = open_page(client, answer.headers["Location"])
    assert status == 200 and "does not exist yet" in text
    run = Experiment.create(folder / f"{name}.skgpb", ["x=0:1"])
    run.tell(1.0, run.ask()[0]["query"])
    assert name in open_page(client, "/")[1]
    assert open_page(client, answer.headers["Location"])[0] == 200


@pytest.mark.slow
def test_names_of_files_that_are_no_text_are_shown_as_well_as_possible(client, folder):
    name = os.fsdecode(b"r\xfcn.skgpb")  # in Latin-1
    try:
        run = Experiment.create(folder / name, ["x=0:1"])
    except OSError:
        pytest.skip("names of files are texts here")
    run.tell(1.0, run.ask()[0]["query"])
    status, text = open_page(client, "/")
    assert status == 200 and "cannot be read as experiments: broken.skgpb, r\ufffdn.skgpb." in text
    alone = make_app(folder / name).test_client()
    assert "r\ufffdn" in open_page(alone, "/")[1]
    for page in ("/correct/1", "/report.html", "/results.csv", "/run.skgpb", "/add", "/change"):
        assert open_page(alone, page)[0] == 200, page
    os.remove(folder / name)
    status, text = open_page(alone, "/report.html")
    assert status == 404 and "r\ufffdn.skgpb does not exist" in text
