"""What is repeated of the address of a database: nothing that may be a password."""

from __future__ import annotations

import pytest

from skgpb.exceptions import DatabaseError
from skgpb.lab.cli import main
from skgpb.lab.datasets.credentials import (
    check_address,
    find_secrets,
    mask_addresses,
    safe_address,
    safe_name,
)
from skgpb.lab.datasets.table import TableFile
from skgpb.lab.experiments import Experiment

PASSWORD = "S3cr3t"
WELL_FORMED = [
    "postgresql://ann:S3cr3t@db.example:5432/shop",
    "snowflake://ann:S3cr3t@account/db/schema?warehouse=w&password=S3cr3t",
    "mysql://ann:S3cr3t@[::1]:3306/shop",
    "duckdb:///sales.db?motherduck_token=S3cr3t",
]
MALFORMED = [
    "postgresql:/ann:S3cr3t@host/shop",
    "postgresql:ann:S3cr3t@host/shop",
    "postgresql//ann:S3cr3t@host/shop",
    "postgresql;//ann:S3cr3t@host/shop",
    "ann:S3cr3t@host/shop",
    "md:sales?motherduck_token=S3cr3t",
    "host=db user=ann password=S3cr3t",
    "Server=db;Uid=ann;Pwd=S3cr3t",
    "ann:S3cr3t@postgresql://host/shop",
    "post gresql:S3cr3t://ann@host/shop",
    "postgresql:///ann:S3cr3t@host/shop",
    "postgresql://ann/S3cr3t@host/shop",
    "postgresql://ann@S3cr3t:host/shop",
    "postgresql://host/shop;password=S3cr3t",
    "postgresql://host/ann:S3cr3t",
    "duckdb://ann:S3cr3t@host/shop",
    "duckdb:///md:sales;motherduck_token=S3cr3t",
]


@pytest.mark.parametrize("address", WELL_FORMED + MALFORMED)
def test_no_part_of_an_address_that_may_be_a_password_is_shown(address):
    assert PASSWORD not in safe_address(address)
    assert PASSWORD not in safe_name(address)
    assert PASSWORD not in mask_addresses(f"there is no {address}, or --a={address}")
    said = ""
    try:
        check_address(address)
    except DatabaseError as error:
        said = str(error)
    assert PASSWORD not in said


def test_what_is_no_password_is_shown(tmp_path):
    names = ["postgresql://db.example:5432/shop", "snowflake://account/db/schema"]
    names += ["mysql://[::1]:3306/shop", "duckdb:///sales.db"]
    assert [safe_address(address) for address in WELL_FORMED] == names
    for name in ("sales.parqet", "parts/*.parquet", r"C:\data\sales.parquet", "two words"):
        assert safe_name(name) == safe_address(name) == name
    odd = tmp_path / "a=b@c.parquet"
    odd.touch()
    assert safe_name(str(odd)) == str(odd)
    assert mask_addresses("where x = 1, got 'a: b'") == "where x = 1, got 'a: b'"


@pytest.mark.parametrize("address", [*WELL_FORMED, *MALFORMED[-7:]])
def test_a_driver_that_repeats_a_part_of_an_address_does_not_tell_the_password(address):
    said = f"cannot find {address.rpartition('://')[2]} of S3cr3t%40"
    for secret in find_secrets(address):
        said = said.replace(secret, "***")
    if address != "postgresql://ann@S3cr3t:host/shop":  # there it is the host
        assert PASSWORD not in said


COLUMNS = ["--features", "a", "--target", "b"]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("address", WELL_FORMED + MALFORMED)
@pytest.mark.parametrize(
    "command",
    [
        ["search", "{}", *COLUMNS],
        ["search", "table.csv", *COLUMNS, "--sqll", "{}"],
        ["search", "table.csv", *COLUMNS, "--sql", "{}"],
        ["search", "{}", *COLUMNS, "--sql", "sales.parquet"],
        ["new", "run.skgpb", "--bounds", "x=0:1", "--data", "{}"],
        ["{}"],
    ],
)
def test_an_address_in_the_wrong_place_is_not_repeated(
    address, command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main([word.format(address) for word in command]) == 2
    out, err = capsys.readouterr()
    assert PASSWORD not in out + err
    assert err.startswith("skgpb: error: ") and err.count("\n") == 1


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    "command",
    [
        *[[name, "{}"] for name in ("ask", "undo", "show", "history", "best", "plot", "list")],
        ["app", "{}/a.skgpb"],
        ["tell", "{}", "1"],
        ["tell", "a.skgpb", "{}"],
        ["tell", "a.skgpb", "1", "--query", "{}"],
        ["expect", "a.skgpb", "{}"],
        ["note", "{}", "1", "warm"],
        ["change", "a.skgpb", "--range", "{}"],
        ["change", "a.skgpb", "--add-data", "{}"],
        ["export", "{}", "a.csv"],
        ["export", "a.skgpb", "{}/a.csv"],
        ["plot", "a.skgpb", "--output", "{}/a.png"],
        ["new", "{}/a.skgpb", "--bounds", "x=0:1"],
        ["new", "run.skgpb", "--bounds", "{}"],
        ["budget", "new", "run.skgpb", "--campaign", "{}"],
        ["budget", "ask", "{}"],
        ["budget", "tell", "{}", "1"],
    ],
)
def test_no_command_repeats_an_address(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Experiment.create("a.skgpb", ["x=0:1"]).ask()
    for address in (*WELL_FORMED[:2], MALFORMED[0], *MALFORMED[4:8], MALFORMED[9], MALFORMED[-1]):
        assert main([word.format(address) for word in command]) == 2
        out, err = capsys.readouterr()
        assert PASSWORD not in out + err
        assert err.startswith("skgpb: error: ") and err.count("\n") == 1


def test_an_address_instead_of_a_file_is_not_repeated_in_python():
    with pytest.raises(ValueError, match="may hold a password") as caught:
        TableFile(WELL_FORMED[0])
    assert PASSWORD not in str(caught.value)
