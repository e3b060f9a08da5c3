"""The interface of the shell: commands, options, defaults, and which values options accept."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys

import pytest

import skgpb
from skgpb.lab.cli import commands, main
from skgpb.lab.cli.arguments import add_common

#: Options between brackets may be left out; + takes several values, * may be repeated.
INTERFACE = """
search [data] --features+ --target+* [--minimize] [--budget] [--noise] [--alpha]
    [--min-rows/--min-members] [--save-rows] [--report] [--stop-within] [--confidence] [--seed]
    [--output] [--plot] [--separator] [--decimal] [--encoding] [--dates] [--sheet] [--skip-lines]
    [--header] [--unreadable] [--where] [--drop-missing] [--one-hot+] [--group] [--groups+]
    [--epsilon] [--delta] [--target-range2] [--ledger] [--sql] [--table] [--sample] [--max-scans]
demo [--budget=80] [--noise=0.05] [--stop-within] [--confidence] [--seed=0]
    [--output=skgpb_demo.json] [--plot=skgpb_demo.png]
new run_file [--json] --bounds+ [--constraint*] [--limit*] [--cost*] [--block] [--answer-range]
    [--maximize] [--goal*] [--minimize=maximize] [--noise] [--regions] [--data] [--skip-outside]
    [--earlier-campaign*] [--answer]
    [--unit] [--title] [--seed=0]
ask run_file [--json] [-n/--number=1] [--another] [--repeat] [--fixed+] [--shared+]
    [--why]
tell run_file [--json] [answer] [--query] [--failed] [--skip] [--correct] [--at+] [--noise] [--data]
    [--skip-outside] [--note] [--operator] [--date] [--measured+] [--by]
undo run_file [--json] [--by]
show run_file [--json]
history run_file [--json] [--changes]
best run_file [--json] [--stop-within] [--confidence] [--side+]
expect run_file [--json] --at+
note run_file [--json] --query [--note] [--operator] [--date] [--measured+] [--by]
change run_file [--json] [--bounds+] [--earlier+] [--drop+] [--constraint*] [--limit*] [--cost*]
    [--block] [--answer-range] [--maximize] [--by]
export run_file [--json] table [--decimal-comma]
list [run_file=.] [--json]
plot run_file [--json] [--output]
budget new run_file [--json] --campaigns+ --budget [--answer] [--seed=0]
budget ask run_file [--json] [--budget]
budget tell run_file [--json] answers+ [--spent+]
budget undo run_file [--json]
budget show run_file [--json]
app file [--host=127.0.0.1] [--port] [--no-browser]
"""
# Defaults of the options of search, which it sets itself; all others are None.
OF_SEARCH = {
    "minimize": False,
    "noise": 0.0,
    "skip_lines": 0,
    "header": 1,
    "unreadable": "error",
    "drop_missing": False,
    "one_hot": [],
    "groups": [],
    "seed": None,
}
# Values that are accepted at the ends of what an option takes, and the next ones that are not.
ENDS = {
    "search --budget": ("1 | 999999", "0 | -1 | 1.5 | x"),
    "search --noise": ("0 | 1e150", "-1e-9 | nan | inf | 1e155"),
    "search --alpha": ("0 | 2.5", "-1 | inf | x"),
    "search --min-rows": ("1 | 12 | 100% | 0.1% | 5 %", "0 | 0% | 100.1% | 1.5 | -1 | x% | nan%"),
    "search --stop-within": ("1e-9 | 3", "0 | -1 | inf | nan"),
    "search --confidence": ("0.001 | 0.999", "0 | 1 | nan | 95"),
    "search --seed": ("0 | 4294967295", "-1 | 4294967296 | 0.5"),
    "search --skip-lines": ("0 | 9", "-1 | x"),
    "search --header": ("0 | 20", "-1 | 21"),
    "search --epsilon": ("1e-9 | 1e9", "0 | inf | -1"),
    "search --delta": ("0 | 1e-9", "-1e-9 | nan"),
    "search --target-range": ("-5 | 1e9", "x"),
    "search --sample": ("1 | 100% | 5%", "0 | 0% | 101%"),
    "search --max-scans": ("1 | 99", "0 | -1"),
    "demo --budget": ("1", "0"),
    "demo --noise": ("0", "-1"),
    "demo --stop-within": ("0.1", "0"),
    "demo --confidence": ("0.5", "1"),
    "demo --seed": ("0 | 4294967295", "-1 | 4294967296"),
    "new --seed": ("0 | 4294967295", "-1 | 4294967296"),
    "ask --number": ("1", "0 | 1.5"),
    "ask --repeat": ("1", "0"),
    "tell --query": ("1", "0"),
    "note --query": ("1", "0"),
    "best --stop-within": ("0.1", "0"),
    "best --confidence": ("0.5", "0 | 1"),
    "budget new --seed": ("0", "-1"),
    "app --port": ("0 | 65535", "-1 | 65536 | x"),
}


def parsers(parser=None, name=""):
    """Yield the name and the parser of every command."""
    parser = commands._parser([]) if parser is None else parser
    inner = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not inner:
        yield name, parser
    for choices in inner:
        assert choices.required
        for word, own in choices.choices.items():
            yield from parsers(own, f"{name} {word}".strip())


def written(action):
    """Write an option as in the table."""
    text = "/".join(action.option_strings) or action.dest
    text += action.nargs.replace("?", "") if isinstance(action.nargs, str) else ""
    text += str(action.nargs) if action.nargs == 2 else ""
    text += "*" if isinstance(action, argparse._AppendAction) else ""
    default = action.default
    if default is not False and default not in (None, "", [], argparse.SUPPRESS):
        text += f"={default}"
    return text if action.required else f"[{text}]"


def options():
    return {
        name: [each for each in parser._actions if each.dest not in ("help", "version")]
        for name, parser in parsers()
    }


def test_every_command_has_its_options_and_defaults():
    said = [line.replace("\n   ", "") for line in re.split(r"\n(?! )", INTERFACE.strip())]
    assert [" ".join([name, *map(written, own)]) for name, own in options().items()] == said


def test_every_option_says_what_it_is_for():
    for name, own in options().items():
        for action in own:
            assert action.help or action.dest == "table", (name, action.dest)


def test_the_help_of_search_has_its_groups(capsys):
    assert main(["search", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["positional arguments:", "options:", "table:", "privacy:", "database:"]


def test_search_sets_the_defaults_of_the_options_that_are_not_given():
    arguments = commands._parser([]).parse_args(["search", "t", "--features", "x", "--target", "y"])
    given = {name for name in vars(arguments) if name not in ("command", "run")}
    assert given == {"data", "features", "target"}
    routed = arguments.run.keywords["options"]
    routed.choose_route(arguments)
    for name, default in routed.defaults.items():
        expected = {"features": ["x"], "target": [["y"]]}.get(name, OF_SEARCH.get(name))
        assert getattr(arguments, name) == expected, name
        assert name in given or default == expected


def test_options_accept_values_up_to_their_ends():
    converters = {
        f"{name} {option}": action.type
        for name, own in options().items()
        for action in own
        for option in action.option_strings[-1:]
        if action.type is not None
    }
    converters["search --min-rows"] = converters.pop("search --min-members")
    assert converters.pop("new --noise")("unknown") is None
    assert converters.keys() == ENDS.keys()
    for name, (accepted, refused) in ENDS.items():
        for text in accepted.split(" | "):
            value = converters[name](text)
            share = text.rstrip(" %")
            assert value == (float(share) / 100 if "%" in text else float(text)), (name, text)
        for text in refused.split(" | "):
            with pytest.raises((argparse.ArgumentTypeError, ValueError), match=re.escape(text)):
                converters[name](text)


def test_the_help_of_an_option_has_its_default():
    parser = argparse.ArgumentParser()
    add_common(parser, "found.json", None)
    text = " ".join(parser.format_help().split())
    assert "write the result as JSON (default: found.json)" in text
    assert text.endswith("draw a map, e.g. map.png")


def test_arguments_are_those_of_the_process_without_its_name(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["skgpb", "ask"])
    assert main() == 2
    assert "the following arguments are required: RUN (see skgpb ask --help)" in (
        capsys.readouterr().err
    )


def test_streams_that_are_closed_do_not_hide_the_status(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["show", str(tmp_path / "none")]) == 2
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["new", str(tmp_path / "run.skgpb"), "--bounds", "x=0:1"]) == 0
    assert (tmp_path / "run.skgpb").exists()


class Broken(io.StringIO):
    """A stream that cannot be written, with a file of its own."""

    def __init__(self, path, error, on="write"):
        super().__init__()
        self._file, self._error, self._on = path.open("w"), error, on

    def fileno(self):
        return self._file.fileno()

    def write(self, text):
        if self._on == "write":
            raise self._error
        return super().write(text)

    def flush(self):
        if self._on == "flush" and not self.closed:
            raise self._error

    @property
    def leads_nowhere(self):
        return os.fstat(self.fileno()).st_rdev == os.stat(os.devnull).st_rdev


@pytest.mark.skipif(os.name != "posix", reason="needs files as POSIX has them")
@pytest.mark.parametrize("on", ["write", "flush"])
@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (OSError(28, "No space left"), 2, "skgpb: error: cannot write the report: No space left\n"),
    ],
)
def test_a_report_that_cannot_be_written_has_a_status(
    tmp_path, monkeypatch, capsys, on, error, status, said
):
    out = Broken(tmp_path / "out", error, on)
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["--version"]) == status
    assert capsys.readouterr().err == said and out.leads_nowhere
    err = Broken(tmp_path / "err", error, on)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", err)
    assert main(["seek"]) == 2 and err.leads_nowhere


def test_letters_that_a_terminal_lacks_are_written_as_codes(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    monkeypatch.setattr(skgpb, "__version__", "1 \xb5")
    assert main(["--version"]) == 0
    assert raw.getvalue() == b"skgpb 1 \\xb5\n"  # and nothing stays in the buffer


def test_the_version_needs_no_command():
    assert commands.import_commands(["--version"]) == []
    assert len(commands.import_commands(["--help"])) == 5
