"""The process behind the pages: where it listens, and how it ends."""

from __future__ import annotations

import socket
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from served import Served

from skgpb.lab.app.server import _local_address
from skgpb.lab.cli import main
from skgpb.lab.experiments import Experiment

pytest.importorskip("flask")
pytest.importorskip("matplotlib")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a process alone")
@pytest.mark.slow
def test_it_listens_here_only_and_ends_without_a_word_of_complaint(tmp_path):
    path = tmp_path / "run.skgpb"
    Experiment.create(path, ["heat=0:1"])
    with Served(path) as served:
        assert served.address.startswith("http://127.0.0.1:")
        with urlopen(served.address, timeout=60) as answer:
            assert "heat" in answer.read().decode()
        # A name that was made to point here by fraud.
        with pytest.raises(HTTPError) as refused:
            urlopen(Request(served.address, headers={"Host": "rebound.example"}), timeout=60)
        assert refused.value.code == 403
        refused.value.close()
        # A browser that keeps a connection open keeps nobody waiting.
        host, port = served.address[7:-1].split(":")
        idle = socket.create_connection((host, int(port)))
    idle.close()
    assert served.process.returncode == 0
    assert "everything is saved" in served.said and served.errors == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a process alone")
def test_an_app_that_was_only_looked_at_says_that_nothing_was_begun(tmp_path):
    with Served(tmp_path / "new.skgpb") as served:
        pass
    assert "no experiment was begun" in served.said and served.errors == ""


def test_a_port_that_is_taken_is_said(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["app", str(tmp_path / "run.skgpb"), "--port", port]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"skgpb: error: cannot listen at 127.0.0.1:{port}: ")
    assert main(["app", str(tmp_path / "run.skgpb"), "--host", "no.such.host.invalid"]) == 2
    assert "no.such.host.invalid" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "warned"),
    [("127.0.0.1", False), ("localhost", False), ("::1", False), ("0.0.0.0", True), ("lab", True)],
)
def test_who_else_can_reach_it_is_said(host, warned, tmp_path, monkeypatch, capsys):
    def serve(path, host, port, ready):
        ready(_local_address(host, port))

    monkeypatch.setattr("skgpb.lab.cli.app.serve", serve)
    path = str(tmp_path / "run.skgpb")
    assert main(["app", path, "--host", host, "--port", "81", "--no-browser"]) == 0
    said = "whoever reaches port 81 of this computer can read and change it"
    assert (said in capsys.readouterr().out) == warned


def test_addresses_are_those_that_a_browser_opens():
    assert _local_address("127.0.0.1", 8650) == "http://127.0.0.1:8650/"
    assert _local_address("0.0.0.0", 80) == "http://127.0.0.1:80/"
    assert _local_address("::1", 80) == "http://[::1]:80/"
