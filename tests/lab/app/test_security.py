"""Requests of an attacker, to every address and every form, also those that are still to come."""

from __future__ import annotations

import bz2
import gzip
import html
import io
import lzma
import re
import zipfile
from html.parser import HTMLParser
from importlib.util import find_spec

import pytest

from skgpb.lab.experiments import Experiment

pytest.importorskip("flask")
pytest.importorskip("matplotlib")

from skgpb.lab.app.folder import make_folder_app
from skgpb.lab.app.guard import LONGEST_FORM, LONGEST_REQUEST
from skgpb.lab.app.pages import make_app
from skgpb.lab.app.uploads import MOST_UPLOADED

HOST = "127.0.0.1:8650"
HERE = {"Host": HOST, "Origin": f"http://{HOST}"}
GETS = ["/", "/correct/1", "/expect", "/change", "/add", "/map", "/report.html", "/results.csv"]
POSTS = ["/new", "/ask", "/tell/1", "/tell", "/correct/1", "/change", "/add", "/nothing"]
# A text that is a tag, ends an attribute and an element, and is a formula and a template.
EVIL = "=<img src=x onerror=alert(1)>'\"></title></textarea><script>alert(2)</script>{{7*191}}"


@pytest.fixture
def path(tmp_path):
    """An experiment with results, replicates, notes, and one to do, number 5."""
    run = Experiment.create(tmp_path / "run.skgpb", ["heat=20:90", "catalyst=A,B"], seed=3)
    for answer in (1.5, 2.5):
        run.tell(answer, run.ask()[0]["query"])
    run.tell(1.75, run.repeat(1)["query"])
    run.skip(run.ask()[0]["query"], note="no time")
    run.ask(another=True)
    return run.path


def addresses(path, method):
    """Every address of the app, with values for what varies in it."""
    values = {"number": 1, "x": 0, "y": 1, "kind": "slices", "panel": 0, "theme": "dark"}
    values["filename"] = "app.css"
    app = make_app(path)
    with app.test_request_context():
        for rule in app.url_map.iter_rules():
            if method in rule.methods:
                yield re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str(values[found[1]]), rule.rule)


FAR = {"REMOTE_ADDR": "192.168.0.7"}


@pytest.mark.slow
def test_only_this_computer_learns_the_folder(path):
    folder, own = str(path.parent), make_app(path).test_client()
    assert folder in own.get("/", headers=HERE).text
    damaged, new = path.with_name("damaged.skgpb"), path.with_name("new.skgpb")
    damaged.write_text("nothing")
    token = re.search(r'name="token" value="([^"]+)"', own.get("/", headers=HERE).text)
    for each in (path, damaged, new):
        client, app = make_app(each).test_client(), make_folder_app(each.parent).test_client()
        pages = [client.get(address, headers=HERE, environ_base=FAR) for address in GETS]
        form = {"token": token[1] if token else "", "n_sides": "1", "name-0": "x", "low-0": "0"}
        pages += [
            client.post(address, data=form, headers=HERE, environ_base=FAR) for address in POSTS
        ]
        pages += [
            app.get(f"/{name}", headers=HERE, environ_base=FAR) for name in ("", each.name + "/")
        ]
        for page in pages:
            assert folder not in html.unescape(page.get_data(as_text=True))
        assert any(each.name in html.unescape(page.text) for page in pages)
    # The name is shown, and so is the reason for which a file cannot be read.
    said = make_app(damaged).test_client().get("/", headers=HERE, environ_base=FAR).text
    assert "'damaged.skgpb' cannot be loaded" in html.unescape(said)


def test_addresses_are_found(path):
    assert {"/tell/1", "/change", "/add", "/new", "/repeat/1"} <= set(addresses(path, "POST"))
    assert {"/", "/expect", "/map/0-1-dark.svg", "/results.xlsx"} <= set(addresses(path, "GET"))


def test_no_form_is_taken_from_another_site_or_without_the_secret(path):
    client, before = make_app(path).test_client(), path.read_bytes()
    data = {"value": "1", "outcome": "value", "count": "1", "name0": "x", "low0": "0", "high0": "1"}
    for address in addresses(path, "POST"):
        for origin in (
            "http://evil.example",
            "null",
            "http://127.0.0.1:9999",
            "https://" + HOST[:-1],
        ):
            headers = {"Host": HOST, "Origin": origin}
            assert client.post(address, data=data, headers=headers).status_code == 403, address
        assert client.post(address, data=data, headers={"Host": HOST}).status_code == 403, address
        for token in ("", "wrong", "ü"):
            answer = client.post(address, data=data | {"token": token}, headers=HERE)
            # The page of a form that was made before a restart is shown again.
            assert answer.status_code == 409, address
    assert path.read_bytes() == before


@pytest.mark.slow
def test_no_form_is_sent_by_an_address(path):
    client, before = make_app(path).test_client(), path.read_bytes()
    both = set(addresses(path, "GET")) & set(addresses(path, "POST"))
    for address in set(addresses(path, "POST")) - both:
        assert client.get(address, headers={"Host": HOST}).status_code == 405, address
    for address in addresses(path, "GET"):
        client.get(
            f"{address}?value=1&outcome=value&count=3&high0=99&low0=1", headers={"Host": HOST}
        )
    assert path.read_bytes() == before


@pytest.mark.slow
def test_every_page_is_protected_and_for_those_who_know_its_name(path):
    client = make_app(path).test_client()
    for address in addresses(path, "GET"):
        answer = client.get(address, headers={"Host": HOST})
        without = address == "/results.xlsx" and find_spec("openpyxl") is None
        assert answer.status_code == (404 if without else 200), address
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"], address
        assert answer.headers["X-Content-Type-Options"] == "nosniff", address
        assert "no-" in answer.headers["Cache-Control"], address
        for host in ("rebound.example", "127.0.0.1.evil.example", "evil.example:8650", "[::1]x"):
            assert client.get(address, headers={"Host": host}).status_code in (400, 403), address


def test_no_form_is_longer_than_it_may_be(path):
    client, before = make_app(path).test_client(), path.read_bytes()
    for address in addresses(path, "POST"):
        for content in (
            {"data": "x" * (LONGEST_FORM + 1)},
            {"file": (io.BytesIO(bytes(LONGEST_REQUEST)), "t")},
        ):
            answer = client.post(address, data=content, headers=HERE)
            assert answer.status_code == 413, address
    assert path.read_bytes() == before


TYPED = {"data": "typed before", "name0": "heat", "low0": "1", "high0": "9"}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("address", ["/add", "/new"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x" * (MOST_UPLOADED + 1), "The file is too long: at most 1,000,000 bytes are accepted."),
        (b"PK\x03\x04", "The file is damaged or incomplete: copy it again, or save it anew"),
        (b"", "The file is empty."),
        (bytes(99), "The file is neither text nor Excel: save it as .xlsx or CSV."),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "of before 2007, or has a password: save it without"),
        (gzip.compress(b"a,b"), "The file is compressed: unpack it"),
    ],
    ids=["long", "damaged", "empty", "binary", "old Excel", "compressed"],
)
def test_a_bad_file_is_said_in_its_form_with_all_that_was_typed(path, address, content, said):
    """There is a way back from each: the form itself, or a link."""
    if address == "/new":
        path = path.with_name("new.skgpb")
    form, existed = Form(path), path.exists()
    more = {**TYPED, "file": (io.BytesIO(content), "results.xlsx"), "token": form.token}
    answer = form.client.post(address, data=more, headers=HERE)
    text = html.unescape(answer.get_data(as_text=True))
    error = re.search(r'<span class="error">(.*?)</span>\n', text)[1]
    assert answer.status_code == 422 and said in re.sub("<[^>]+>", "", error)
    assert "typed before" in text and "results.xlsx" not in text
    assert all(f'value="{each}"' in text for each in (["heat"] if address == "/new" else []))
    assert path.exists() == existed


class Elements(HTMLParser):
    """Elements that a browser finds in a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.sources = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.sources += [value for name, value in attrs if name == "src"]


def harmless(text):
    """Whether nothing that was typed is an element, leaves its attribute, or is carried out."""
    page = Elements()
    page.feed(text)
    assert "script" not in page.tags and "x" not in page.sources and str(7 * 191) not in text
    assert not [name for name in page.attributes if name.startswith("on")]
    assert page.tags.count("title") == 1
    assert EVIL in html.unescape(text)


@pytest.mark.slow
def test_what_was_typed_is_text_on_every_page(tmp_path):
    name = EVIL.replace("=", ":")  # not what the answer is called
    path = tmp_path / "run.skgpb"
    sides = {name: (0, 10), "two": (0, 10), "kind": [EVIL, "B"]}
    run = Experiment.create(path, sides, title=EVIL, answer=EVIL, unit=EVIL)
    for answer in (1.0, 2.0):
        run.tell(answer, run.ask()[0]["query"], note=EVIL, operator=EVIL, measured={EVIL: EVIL})
    run.tell(1.5, run.repeat(1)["query"])
    run.skip(run.ask()[0]["query"], note=EVIL)
    run.ask(another=True)
    table = tmp_path / "table.csv"
    quoted = ['"' + text.replace('"', '""') + '"' for text in (name, "two", "kind", EVIL, EVIL)]
    rows = [",".join(quoted[:4]), f"1,2,{quoted[4]},3", f"1,99,{quoted[4]},3"]
    table.write_text("\n".join(rows))
    with pytest.warns(UserWarning, match="left out"):
        run.add_table(table, EVIL, skip_outside=True)
    client = make_app(path).test_client()
    pages = [*addresses(path, "GET"), "/map?x=1&y=0", f"/expect?side0={EVIL}&side1=1&side2=B"]
    for address in pages:
        answer = client.get(address, headers={"Host": HOST})
        if answer.mimetype == "text/html":
            harmless(answer.get_data(as_text=True))
        elif answer.mimetype == "image/svg+xml":
            assert "<img" not in answer.get_data(as_text=True)
        elif answer.mimetype == "text/csv":
            # A spreadsheet takes none of the cells for a formula.
            assert not re.search(r'(^|[,;\n])"?[=+@]', answer.get_data(as_text=True)), address
    for address in addresses(path, "POST"):
        answer = client.post(address, data={"value": EVIL, "data": EVIL}, headers=HERE)
        harmless(answer.get_data(as_text=True))
    folder = make_folder_app(tmp_path).test_client()
    harmless(folder.get("/", headers={"Host": HOST}).get_data(as_text=True))
    text = folder.get("/", query_string={"name": EVIL}, headers={"Host": HOST})
    harmless(text.get_data(as_text=True))


class Form:
    """The page on which tables are added."""

    def __init__(self, path):
        self.client = make_app(path).test_client()
        page = "/add" if path.exists() else "/"
        text = self.client.get(page, headers={"Host": HOST}).get_data(as_text=True)
        self.token = re.search(r'name="token" value="([^"]+)"', text)[1]

    def upload(self, data, name):
        content = {"token": self.token, "file": (io.BytesIO(data), name)}
        answer = self.client.post("/add", data=content, headers=HERE)
        return answer.status_code, html.unescape(answer.get_data(as_text=True))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["bomb.csv", "bomb.xlsx", "../../bomb.csv.gz"])
def test_compressed_tables_are_not_unpacked(path, pack, name):
    status, text = Form(path).upload(pack(bytes(3_000_000)), name)
    assert status == 422 and "is compressed: unpack it" in text


def book(sheet, size=0):
    """Return an Excel file with a sheet, and ``size`` bytes of something else."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("pandas")
    out, packed = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(out)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        whole = zipfile.ZipFile(out)
        for name in whole.namelist():
            if sheet is not None and name == "xl/worksheets/sheet1.xml":
                archive.writestr(name, sheet)
            else:
                archive.writestr(name, whole.read(name))
        if size:
            archive.writestr("xl/media/image1.png", bytes(size))
    return packed.getvalue()


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</worksheet>'
)
CELL = '<row r="{1}"><c r="{0}{1}"><v>1</v></c></row>'


@pytest.mark.slow
def test_excel_files_that_unpack_to_too_much_are_refused(path):
    form = Form(path)
    status, text = form.upload(book(None, 30_000_000), "bomb.xlsx")
    assert status == 422 and "more than 20 MB" in text
    rows = "".join(CELL.format("XFD", i) for i in range(1, 1500))
    far = SHEET.format(f"<sheetData>{rows}</sheetData>")
    status, text = form.upload(book(far), "far.xlsx")
    assert status == 422 and "a cell far away" in text
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))
    laughs = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha">{entities}]>'
    cell = '<sheetData><row r="1"><c r="A1" t="str"><v>&e12;</v></c></row></sheetData>'
    status, text = form.upload(book(laughs + SHEET.format(cell)), "laughs.xlsx")
    assert status == 422 and "damaged" in text


def test_excel_files_read_nothing_else(path, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]>'
    cell = '<sheetData><row r="1"><c r="A1" t="str"><v>&e;</v></c></row></sheetData>'
    status, text = Form(path).upload(book(entity + SHEET.format(cell)), "entity.xlsx")
    assert status == 422 and ">secret<" not in text and "'secret'" not in text


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "part", ["[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"]
)
@pytest.mark.parametrize("end", [0, 100])
def test_damaged_excel_files_are_said_to_be_damaged(path, part, end):
    whole, packed = zipfile.ZipFile(io.BytesIO(book(None))), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in whole.namelist():
            archive.writestr(name, whole.read(name)[: end if name == part else None])
    form, before = Form(path), path.read_bytes()
    for data in (packed.getvalue(), packed.getvalue()[:-30], book(None)[:200]):
        status, text = form.upload(data, "table.xlsx")
        assert status == 422 and "Traceback" not in text and "/tmp" not in text.split("<footer>")[0]
    assert path.read_bytes() == before
