"""The report of a session: any text is only text, sizes are bounded, colours can be read."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.page import Line, session_page, session_picture
from ullage.page import pieces as pieces_of_a_page
from ullage.page.plot import Plot, columns
from ullage.page.style import DARK, LIGHT
from ullage.page.text import plain, safe
from ullage.report.recorded import SentRequest

from .recorded_sessions import HOSTILE, ask, record


def played(tmp_path, **options):
    recorder = ullage.Recorder(name=HOSTILE)
    store = ullage.FileStore(tmp_path / "stored here")
    record(recorder, store, **options)
    return recorder, store


def elements(page):
    """The elements that the page has; it is well-formed, or this raises."""
    return list(ET.fromstring(page).iter())


def test_a_page_of_any_text_is_well_formed_and_holds_no_script(tmp_path):
    recorder, _ = played(tmp_path)
    page = recorder.html(folder=tmp_path)
    found = elements(page)
    names = {element.tag for element in found}
    assert not names & {"script", "img", "iframe", "object", "embed", "link", "form", "base"}
    attributes = {name for element in found for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on")]
    links = [element.attrib["href"] for element in found if "href" in element.attrib]
    assert all(link.startswith(("#", "./")) for link in links)
    assert "://" not in page
    assert sum(element.tag == "style" for element in found) == 1
    page.encode("utf-8")


def test_a_piece_unfolds_to_all_that_was_stored(tmp_path):
    recorder, store = played(tmp_path)
    found = elements(recorder.html())
    shown = {
        element.attrib["id"]: "".join(element.find("pre").itertext()).removeprefix("\n")
        for element in found
        if element.attrib.get("class") == "piece"
    }
    assert set(shown) == set(store.list())
    for reference, text in shown.items():
        assert text == plain(store.get(reference).decode("utf-8", "surrogatepass"))


def test_every_change_says_why_and_leads_to_its_piece(tmp_path):
    recorder, _ = played(tmp_path)
    found = elements(recorder.html())
    pieces = {one.attrib["id"] for one in found if one.attrib.get("class") == "piece"}
    lists = [one for one in found if one.attrib.get("class") == "changes"]
    assert lists
    for item in (item for one in lists for item in one):
        text = "".join(item.itertext())
        assert re.match(r"\w+: messages? \d+.* → .* tokens \(.+\); ", text)
        assert item.find("a").attrib["href"].removeprefix("#") in pieces


def test_a_piece_is_linked_where_it_is(tmp_path):
    recorder, store = played(tmp_path)
    page = recorder.html(folder=tmp_path)
    links = [
        element.attrib["href"]
        for element in elements(page)
        if element.attrib.get("href", "").startswith("./")
    ]
    assert len(links) == len(store.list())
    assert all(link.startswith("./stored%20here/") for link in links)
    assert all((tmp_path / link.replace("%20", " ")).is_file() for link in links)
    assert 'href="./' not in recorder.html()


def test_a_page_is_bounded_whatever_is_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces_of_a_page, "MOST_OF_A_PIECE", 15_000)
    monkeypatch.setattr(pieces_of_a_page, "MOST_OF_ALL", 100)
    monkeypatch.setattr(pieces_of_a_page, "MOST_PIECES", 4)
    recorder, store = played(tmp_path, text="a piece of text " * 30)
    page = recorder.html(folder=tmp_path)
    pieces = [one for one in elements(page) if one.attrib.get("class") == "piece"]
    assert len(pieces) == 4
    more = len(store.list()) - 4
    assert more > 0
    counted = [int(n) for n in re.findall(r"and (\d+) more pieces?, which the store has", page)]
    assert sum(counted) == more
    assert "larger than the 15,000 bytes that a piece may take" in page
    monkeypatch.setattr(pieces_of_a_page, "MOST_OF_A_PIECE", 1_000_000)
    page = recorder.html(folder=tmp_path)
    assert page.count("the pieces above fill the 100 bytes for all of them") == 4
    assert len(page) < 60_000


class Awaited:
    def put(self, content, *, reference, tool=None):
        return reference

    async def get(self, reference):
        return b""


class Broken(Awaited):
    def get(self, reference):
        raise OSError("<b>gone</b>")


class Odd(Awaited):
    def get(self, reference):
        return 5


class Binary(Awaited):
    def get(self, reference):
        return b"\xff\xfe\x00"


@pytest.mark.parametrize(
    ("store", "says"),
    [
        (None, "No store was given"),
        (Awaited(), "has to be awaited"),
        (Broken(), "&lt;b&gt;gone&lt;/b&gt;"),
        (Odd(), "gave a int"),
        (Binary(), "Not text."),
    ],
)
def test_what_cannot_be_shown_says_why(store, says):
    recorder = ullage.Recorder()
    record(recorder, ullage.MemoryStore(), requests=30)
    recorder.store = None
    page = session_page(recorder, store=store)
    elements(page)
    assert says in page


def test_a_session_without_requests_and_one_of_a_single_request_are_pages():
    recorder = ullage.Recorder()
    assert "No request was recorded" in recorder.html()
    recorder.request([ask("a")])
    elements(recorder.html())
    recorder = ullage.Recorder()
    recorder.request([])
    elements(recorder.html())


def test_a_long_session_is_a_page_of_bounded_size():
    recorder = ullage.Recorder()
    recorder.window = 100_000
    recorder._entries = [
        SentRequest(number, number % 90_000, number % 70_000, 0, reported=False)
        for number in range(50_000)
    ]
    page = recorder.html()
    elements(page)
    assert len(page) < 200_000
    assert "every 100th request" in page


def test_the_same_session_gives_the_same_page_and_picture(tmp_path):
    recorder, _ = played(tmp_path)
    assert recorder.html() == recorder.html()
    assert session_picture(recorder, HOSTILE) == session_picture(recorder, HOSTILE)


def test_a_picture_is_well_formed_and_needs_nothing_else(tmp_path):
    recorder, _ = played(tmp_path)
    other = Line("no <management>", "other", [100, 9_000], is_cut_short=True)
    picture = session_picture(recorder, HOSTILE, beside=[other])
    names = {element.tag.split("}")[1] for element in elements(picture)}
    assert not names & {"script", "image", "foreignObject", "use", "a"}
    assert "prefers-color-scheme: dark" in picture
    assert "no &lt;management&gt;: over the window at request 2" in picture
    assert picture.count("://") == 1  # the namespace


@given(st.text(alphabet=st.characters()))
def test_any_text_is_safe_in_markup_and_attributes(text):
    page = f'<a title="{safe(text)}">{safe(text)}</a>'
    element = ET.fromstring(page)
    assert not list(element)
    assert element.text in (plain(text), None if not text else plain(text))
    page.encode("utf-8")


def test_text_that_is_only_letters_stays_as_it_is():
    text = "a\tb\n\u05d0\u05d1 \U0001f468\u200d\U0001f469 \u00ad \u4e2d e\u0301"
    assert plain(text) == text


@given(st.lists(st.integers(0, 10**12), max_size=2_000))
def test_plots_of_any_values_are_well_formed(values):
    plot = Plot([Line("a", "with", values), Line("b", "other", values[::2])], ("window", 9))
    assert "nan" not in plot.drawn()
    ET.fromstring(f"<svg>{plot.drawn()}</svg>")
    drawn, top = columns([("read", values), ("new", values)])
    ET.fromstring(drawn)
    assert top >= 0


def test_the_peaks_of_a_long_line_are_drawn():
    values = [100] * 10_000
    values[4_321], values[7_000] = 900, 5
    drawn = Plot([Line("a", "with", values)]).drawn()
    assert "L432.1 0.0L" in drawn


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_words_and_lines_stand_out_from_the_paper(colours):
    for name in ("ink", "dim", "link", "limit"):
        for paper in ("paper", "card"):
            assert contrast(colours[name], colours[paper]) >= 4.5, (name, paper)
    for name in set(colours) - {"ink", "dim", "link", "paper", "card", "rule"}:
        assert contrast(colours[name], colours["paper"]) >= 3, name
