"""Interactive tables and networks: their data in the page, and their behaviour in a browser."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from browser import CHROMIUM, MISSING, Browser
from iokr.apps.report import LiveNetwork, LiveTable, Report, Spread, Table, draw_network, layout

N_NODES, N_ROWS = 300, 1000
NAMES = [f"node {i:03d}" for i in range(N_NODES - 2)] + ["<b>odd</b>", "=1+2"]


def links_page(n_nodes=N_NODES, n_rows=N_ROWS, names=NAMES) -> Report:
    """Predicted links of a made-up network, in a table with details and in a picture."""
    rng = np.random.default_rng(0)
    ends = rng.permutation(n_nodes * (n_nodes - 1))[: 2 * n_rows]
    pairs = np.column_stack([ends // (n_nodes - 1), ends % (n_nodes - 1)])
    pairs[:, 1] += pairs[:, 1] >= pairs[:, 0]
    predicted, known = pairs[:n_rows], pairs[n_rows:]
    rows = [
        {
            "rank": r + 1,
            "source": names[i],
            "target": names[j],
            "score": float(1 - r / n_rows),
            "pair": ("new–new", "labelled–new")[r % 2],
            "shared": None if r % 7 == 0 else int(r % 5),
        }
        for r, (i, j) in enumerate(predicted)
    ]
    details = [
        (Table("Evidence", [{"nodes": names[i], "share": 0.25}]), f"Row {r}.") for r, (i, _) in enumerate(predicted)
    ]
    table = LiveTable(Table("predicted links", rows), details, names=("source", "target"), file="edges.tsv")
    places = layout(n_nodes, known, n_iter=5)
    still = draw_network(places, {"known": known[:50]}, caption="Without script.")
    groups = {"groups": ("labelled", "new"), "group": np.arange(n_nodes) % 2}
    network = LiveNetwork(names, places, known, table, predicted, still, weights=np.arange(len(known)) + 1.0, **groups)
    return Report("A network", "Made up.", (network, table))


class Scripts(HTMLParser):
    """The JSON of a page, by id."""

    def __init__(self, page):
        super().__init__()
        self.current, self.found = None, {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.current = dict(attrs).get("id") if tag == "script" else None

    def handle_data(self, data):
        if self.current:
            self.found[self.current] = self.found.get(self.current, "") + data


def test_data_survives_the_page():
    data = {name: json.loads(text) for name, text in Scripts(links_page().html()).found.items()}
    network, table = data["live0-data"], data["live1-data"]
    assert network["names"] == NAMES and network["table"] == "live1"
    columns = {column["name"]: column for column in table["columns"]}
    assert columns["score"]["values"][:2] == [1.0, 0.999] and columns["score"]["kind"] == "number"
    assert columns["shared"]["values"][:2] == [None, 1]
    assert table["blocks"][table["details"][3][0][0]]["title"] == "Evidence"
    assert table["details"][3][1][1] == "Row 3."


def test_columns_know_their_kind():
    rows = [
        {"a": Spread(2.0, 0.5), "b": True, "c": 1e-9, "d": np.int64(3)},
        {"a": None, "b": False, "c": 2.0, "d": None},
    ]
    columns = json.loads(LiveTable(Table("t", rows)).data())["columns"]
    assert [column["kind"] for column in columns] == ["number", "text", "number", "number"]
    assert columns[0]["values"] == [2.0, None] and columns[0]["texts"] == ["2.0000 ± 0.5000", "–"]
    assert columns[1]["values"] == ["yes", "no"]
    assert columns[2]["places"] == 4 and columns[3]["whole"]
    for values, places in (
        ([0.3, 0.0007692307], 4),
        ([1e-9, 1e-5], None),
        ([12345.6], None),
        ([0.5, 0.25], 2),
        ([], 0),
    ):
        [column] = json.loads(LiveTable(Table("t", [{"a": v} for v in values] or [{"a": 1}])).data())["columns"]
        assert column["places"] == places


def test_details_have_an_entry_for_every_row():
    with pytest.raises(ValueError, match="`details` has 1 entries for 2 rows"):
        LiveTable(Table("t", [{"a": 1}, {"a": 2}]), [("x",)]).data()


def test_without_script_the_first_rows_and_the_file_stand_there():
    page = links_page().html()
    assert page.count("<tr") == 101 and "The first 100 of 1000 rows; all are in <code>edges.tsv</code>." in page
    assert "Without script." in page and "<b>odd</b>" not in page


def test_pages_may_ask_nobody():
    page = links_page().html()
    assert "default-src 'none'" in page and not re.search(r"https?://(?!www\.w3\.org)", page)
    plain = Report("t", "s", (Table("t", [{"a": 1}]),)).html()
    assert "<script" not in plain and "script-src" not in plain


# ------------------------------------------------------------------------------------------------------------- browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip(MISSING)
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(links_page().html(), encoding="utf-8")
    return path


def cells(browser, column):
    """What stands in a column of the page of the table."""
    rows = "[...document.querySelectorAll('table.live > tbody > tr[data-row]')]"
    return browser.read(f"{rows}.map(row => row.cells[{column}].innerText.replace(/[▸▾]/, '').trim())")


def rows_of(path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def saved(browser, selector):
    """The file that a button saves."""
    for old in browser.downloads.iterdir():
        old.unlink()
    browser.click(selector)
    for step in range(600):  # a busy machine takes its time to make a picture
        if step == 200:
            browser.click(selector)  # the page may have moved under the first
        kinds = (".tsv", ".csv", ".png")  # while it is being written it has another name, or is empty
        found = [path for path in browser.downloads.iterdir() if path.suffix in kinds and path.stat().st_size]
        if found:
            return found[0]
        browser.wait(0.05)
    raise AssertionError("nothing was saved")


def test_a_reader_sorts_searches_filters_and_saves(browser, page):
    browser.open(page)
    assert cells(browser, 0) == [str(r) for r in range(1, 26)]
    browser.click("th:nth-child(4) button")  # score, largest first
    browser.click("th:nth-child(4) button")  # smallest first
    assert cells(browser, 0)[:3] == ["1000", "999", "998"]
    assert browser.read("document.querySelector('th:nth-child(4)').ariaSort") == "ascending"
    browser.click("th:nth-child(2) button")
    names = cells(browser, 1)
    assert names == sorted(names)
    browser.click(".table input.search")
    browser.type("NODE 011")
    found = list(zip(cells(browser, 1), cells(browser, 2), strict=True))
    assert found and all("node 011" in pair for pair in found)
    assert re.match(rf"{len(found)} of 1000 rows", browser.read("document.querySelector('.count').innerText"))
    browser.click(".table .tools button")
    browser.click(".filters summary")
    browser.click("[aria-label='rank, at most']")
    browser.type("40")
    browser.read(
        "(s => { s.value = 'new–new'; s.dispatchEvent(new Event('change')); })"
        "(document.querySelector('[aria-label=pair]'))"
    )
    assert cells(browser, 0)[:3] and len(cells(browser, 0)) == 20
    browser.click("th:nth-child(1) button")
    header, *rows = rows_of(saved(browser, ".save-tsv"))
    assert header == ["rank", "source", "target", "score", "pair", "shared"]
    assert [row[0] for row in rows] == [str(r) for r in range(39, 0, -2)]
    assert rows[-1][3] == "1" and rows[-1][5] == "", "numbers as numbers, nothing for what there is not"
    assert browser.errors == [] and browser.requests == [page.as_uri()]


def test_a_reader_turns_pages_and_opens_a_row_by_keyboard(browser, page):
    browser.open(page)
    browser.click("[aria-label='Last page']")
    assert cells(browser, 0)[-1] == "1000"
    browser.read("document.querySelector('button.more').focus()")
    browser.key("Enter")
    assert "Evidence" in browser.read("document.querySelector('tr.detail').innerText")
    assert browser.read("document.activeElement.ariaExpanded") == "true"
    browser.key("Enter")
    assert browser.read("document.querySelector('tr.detail')") is None


def test_a_reader_finds_a_node_and_reads_its_partners(browser, page):
    report = links_page()
    network = report.items[0]
    browser.open(page)
    browser.click("[role=combobox]")
    browser.type("odd")
    browser.key("Enter")
    panel = "document.querySelector('.panel')"
    assert browser.read(f"{panel}.querySelector('h3').innerText") == "<b>odd</b>", "a name is text, never markup"
    node = NAMES.index("<b>odd</b>")
    partners = [NAMES[a + b - node] for a, b in network.predicted if node in (a, b)]
    listed = (
        f"[...{panel}.querySelectorAll('.partners')].map(l => [...l.querySelectorAll('.name')].map(b => b.innerText))"
    )
    predicted, known = browser.read(listed)
    assert predicted == partners
    assert set(known) == {NAMES[a + b - node] for a, b in network.known if node in (a, b)}
    browser.click(".panel .why summary")
    browser.wait()
    told = browser.read(f"{panel}.querySelector('details[open]').innerText")
    assert "Evidence" in told and ("in common" in told or "Known partners in common" in told)
    browser.click(".panel .partners .name")
    assert browser.read(f"{panel}.querySelector('h3').innerText") == partners[0]


def test_a_reader_clicks_zooms_and_drags_the_network(browser, page):
    browser.open(page)
    browser.wait(0.5)
    browser.box("canvas")
    browser.wait()
    where = "((i, v = iokr.networks[0], r = v.canvas.getBoundingClientRect()) => [r.x + v.px(i), r.y + v.py(i)])"
    node = browser.read("iokr.networks[0].byDegree[0]")
    x, y = browser.still(f"{where}({node})")
    browser.press(x, y)
    chosen = browser.until("iokr.networks[0].selected", lambda value: value is not None)
    assert np.hypot(*(np.array(browser.read(f"{where}({chosen})")) - (x, y))) < 8
    assert browser.read("document.querySelector('.panel h3').innerText") == NAMES[chosen]
    before = browser.read("iokr.networks[0].scale")
    browser.key("+")
    assert browser.until("iokr.networks[0].scale", lambda value: value > before) > before
    browser.key("Escape")
    assert browser.until("iokr.networks[0].selected", lambda value: value is None) is None
    browser.key("0")
    browser.until("iokr.networks[0].scale", lambda value: value <= before)
    x, y = browser.still(f"{where}({chosen})")
    browser.press(x, y, to=(x + 40, y + 30))
    there = (x + 40, y + 30)
    assert np.allclose(browser.until(f"{where}({chosen})", lambda at: np.allclose(at, there, atol=1)), there, atol=1)
    assert saved(browser, "[title='Save the current view']").read_bytes()[:4] == b"\x89PNG"


def test_the_table_and_the_network_follow_each_other(browser, page):
    browser.open(page)
    browser.click(".table input.search")
    browser.type("node 011")
    shown = browser.read("iokr.tables[0].shown.length")
    assert browser.read("iokr.networks[0].passing.reduce((a, b) => a + b)") == shown > 0
    browser.click("table.live button.name")
    name = browser.read("document.querySelector('table.live button.name').innerText")
    assert browser.read("document.querySelector('.panel h3').innerText") == name


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_cut_and_the_page_follows_light_and_dark(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    browser.read("iokr.networks[0].select(0)")
    browser.read("document.querySelector('button.more').click()")
    browser.read("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    wider = "(part => part.scrollWidth - part.clientWidth)"
    size = f"[document.documentElement, ...document.querySelectorAll('.table')].map({wider})"
    assert browser.read(size) == [0, 0]
    colour = browser.read("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(20, 25, 27)" if dark else "rgb(253, 253, 251)")


def test_without_script_the_page_is_readable(browser, page):
    browser.open(page, script=False)
    text = browser.call("Runtime.evaluate", expression="1")  # the page does not run, the protocol does
    assert text["result"]["value"] == 1
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.read("document.querySelectorAll('tbody tr').length") == 100
    assert "Without script." in browser.read("document.body.innerText")
    assert browser.read("document.querySelector('.tools')") is None


TIMED = """(async () => {
    const start = performance.now();
    %s;
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - start;
})()"""


@pytest.mark.slow
def test_a_large_network_answers_at_once(browser, tmp_path):
    """5000 nodes, 10 000 predicted links: the median of a few answers, each with the picture drawn."""
    names = [f"n{i}" for i in range(5000)]
    path = tmp_path / "report.html"
    path.write_text(links_page(5000, 10_000, names).html(), encoding="utf-8")
    browser.open(path)
    search = "(s => { s.value = 'n12'; s.dispatchEvent(new Event('input')); })(iokr.tables[0].search)"
    acts = (
        "iokr.tables[0].sort(1)",
        "iokr.tables[0].sort(3)",
        search,
        "iokr.networks[0].select(7)",
        "iokr.networks[0].zoom(1.5)",
    )
    for act in acts:
        seconds = [browser.read(TIMED % act) for _ in range(3)]
        assert np.median(seconds) < 200, f"{act}: {seconds} ms"


def test_small_numbers_are_not_shown_as_nothing(browser, tmp_path):
    rows = [{"p": 0.3}, {"p": 0.00076923}, {"p": 1.5e-9}, {"p": 0.0}]
    path = tmp_path / "report.html"
    path.write_text(Report("t", "s", (LiveTable(Table("t", rows)),)).html(), encoding="utf-8")
    browser.open(path)
    assert cells(browser, 0) == ["0.3000", "0.0008", "1.5e-9", "0.0000"]


def test_as_many_predicted_links_are_drawn_as_are_asked_for(browser, tmp_path):
    """The first rows of the table as it stands; of a selected node, all."""
    page = links_page()
    network = replace(page.items[0], drawn=30)
    path = tmp_path / "report.html"
    path.write_text(replace(page, items=(network, *page.items[1:])).html(), encoding="utf-8")
    browser.open(path)
    drawn = "[...iokr.networks[0].drawn.keys()].filter(r => iokr.networks[0].drawn[r])"
    assert browser.read(drawn) == list(range(30))
    browser.read("document.querySelector('input.most').value = ''")
    browser.click("input.most")
    browser.type("7")
    assert browser.read(drawn) == list(range(7))
    browser.read("iokr.tables[0].sort(3); iokr.tables[0].sort(3)")  # the smallest score first
    assert browser.read(drawn) == list(range(993, 1000))


def test_crowded_groups_stay_wide():
    """Twenty nodes that are all linked, and a chain: the group has a share of the page that can be seen."""
    crowd = [(i, j) for i in range(20) for j in range(i)]
    chain = [(i, i + 1) for i in range(19, 60)]
    places = layout(61, crowd + chain)
    assert np.ptp(places[:20], axis=0).min() > 0.15
