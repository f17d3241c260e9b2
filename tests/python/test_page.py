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
from ullage.report.timeline import Timeline
from ullage.stores.readable import transcript_as_text

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


def text_in(element):
    return "".join(element.itertext()).removeprefix("\n")


def readable(store, reference):
    content = store.get(reference)
    content = transcript_as_text(content) if "transcript-" in reference else content
    return plain(content.decode("utf-8", "surrogatepass"))


def test_a_piece_unfolds_to_all_that_was_stored(tmp_path):
    recorder, store = played(tmp_path)
    found = elements(recorder.html())
    shown = {
        element.attrib["id"]: text_in(element.find(".//pre"))
        for element in found
        if element.attrib.get("class") == "piece"
    }
    assert set(shown) == set(store.list())
    for reference, text in shown.items():
        assert text == readable(store, reference)


def sides(page):
    """Returns the action, the reference, and the heads and texts of each piece with two sides."""
    for piece in elements(page):
        if piece.attrib.get("class") == "piece" and piece.find("div") is not None:
            parts = piece.find("div")
            assert [text_in(part.find("h4")) for part in parts] == [
                "The original", "What the model sees instead",
            ]  # fmt: skip
            texts = [part.find("pre") for part in parts]
            shown = [None if text is None else text_in(text) for text in texts]
            yield text_in(piece.find("summary")), piece.attrib.get("id"), *shown


def test_every_change_shows_the_original_and_what_the_model_sees(tmp_path):
    recorder = ullage.Recorder(tmp_path / "run.jsonl", texts=True)
    store = ullage.FileStore(tmp_path / "store")
    messages = record(recorder, store, text="a line of a log " * 40, window=8_000)
    page = recorder.html()
    changed = [found for found in sides(page) if " tokens " in found[0] and ": " in found[0]]
    removed = [found for found in changed if " removed, " in found[0]]
    assert removed
    for summary, reference, original, instead in removed:
        assert re.match(r"messages? \d+.* → .* tokens \w+: .+; [\d,]+ bytes", summary)
        assert original == readable(store, reference)
        assert reference in instead
        assert original != instead
    # The newest note is the one that the agent has.
    assert removed[-1][3] in str(messages).replace("\\n", "\n")
    (arrived,) = (found for found in sides(page) if found[0].startswith("look: "))
    assert arrived[2] == readable(store, arrived[1])
    assert arrived[1] in arrived[3]
    # A page that is drawn from the file is the same.
    again = ullage.Recorder(tmp_path / "run.jsonl").html(store=store)
    assert again == page


def test_compactions_come_first_and_arrivals_are_folded(tmp_path):
    recorder, _ = played(tmp_path)
    page = recorder.html()
    assert page.index('id="compaction-1"') < page.index('id="arrivals"')
    (arrivals,) = (one for one in elements(page) if one.attrib.get("id") == "arrivals")
    assert arrivals.tag == "details"
    assert "open" not in arrivals.attrib
    assert re.search(r"1 result, [\d,]+ tokens saved", text_in(arrivals.find("summary")))


def test_a_recording_has_no_text_of_a_message_unless_that_is_asked_for(tmp_path):
    secret = "the secret of this line"
    for texts in (False, True):
        file = tmp_path / f"{texts}.jsonl"
        recorder = ullage.Recorder(file, texts=texts)
        record(recorder, ullage.MemoryStore(), text=f"{secret} " * 8, window=2_000)
        assert (secret in file.read_text()) is texts
        assert ("give the Recorder texts=True" in recorder.html()) is not texts


def test_savings_are_compared_with_what_could_have_been_sent():
    recorder = ullage.Recorder()
    record(recorder, ullage.MemoryStore(), text="a line of a log " * 8)
    line = Timeline.of(recorder.entries, ullage.Economics())
    window = recorder.window or 0
    sent = sum(step.prompt for step in line.steps)
    could = sum(min(step.without, window) for step in line.steps)
    assert could < sum(step.without for step in line.steps), "the history outgrows the window"
    page = recorder.html()
    assert f"{1 - sent / could:.1%}<small>of {could:,} that fit the window" in page
    refused = next(n for n, step in enumerate(line.steps, 1) if step.without > window)
    assert f"without ullage, request {refused} is refused" in page


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
    assert "larger than 15,000 bytes, the limit for a piece" in page
    monkeypatch.setattr(pieces_of_a_page, "MOST_OF_A_PIECE", 1_000_000)
    page = recorder.html(folder=tmp_path)
    assert page.count("the pieces above take 100 bytes, the limit") == 4
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
        (Awaited(), "The store is async"),
        (Broken(), "&lt;b&gt;gone&lt;/b&gt;"),
        (Odd(), "returned an int, not bytes"),
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
