"""The pages in a real browser: on a phone and a desk, in light and dark, without a network."""

import itertools
import json

import pytest

import ullage
from ullage import replay
from ullage.page import Line

from . import chromium
from .recorded_sessions import HOSTILE, record
from .test_page import contrast, readable
from .test_replay import long_session

pytestmark = pytest.mark.skipif(
    chromium.found() is None, reason=f"needs one of {', '.join(chromium.NAMES)} in PATH"
)

PHONE, DESK = 375, 1_280
SIZES = pytest.mark.parametrize("width", [PHONE, DESK], ids=["phone", "desk"])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])

# Everything that is drawn or written beside the page's width, but what scrolls by itself.
BESIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide, pre, svg svg')
  && e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map(e => e.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = chromium.Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    recorder = ullage.Recorder(name=HOSTILE, texts=True)
    store = ullage.FileStore(folder / "store")
    record(recorder, store)
    others = [Line("no management", "other", [2_000, 5_000, 12_000], is_cut_short=True)]
    page = folder / "report.html"
    page.write_text(recorder.html(folder=folder, beside=others), encoding="utf-8")
    return page, store


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    sweep = replay.Sweep(
        [replay.read_policy("default")], contexts=[4_000], baselines=True, cost_at=4_000
    )
    page = tmp_path_factory.mktemp("replay") / "replay.html"
    page.write_text(replay.html(replay.replay([long_session()], sweep)), encoding="utf-8")
    return page


@SIZES
@SCHEMES
@pytest.mark.parametrize("which", ["session", "replayed"])
def test_a_page_fits_asks_for_nothing_and_complains_of_nothing(
    browser, which, width, scheme, request
):
    given = request.getfixturevalue(which)
    page = given[0] if isinstance(given, tuple) else given
    browser.open(page, width=width, scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(BESIDE) == []
    if which == "session":
        scrolled = "[...document.querySelectorAll('.wide')].map(e => e.scrollWidth - e.clientWidth)"
        assert max(browser.run(scrolled)) <= 0, "no table has to be scrolled"
    assert browser.requests == [page.as_uri()]
    assert browser.complaints == []
    assert browser.run("document.scripts.length") == 0
    assert browser.run("document.title").startswith("ullage")


# Texts that are drawn over one another, in a figure or its keys.
COLLIDING = """[...document.querySelectorAll('figure')].flatMap(figure => {
  const boxes = [...figure.querySelectorAll('text, .key li, figcaption')]
    .filter(e => e.textContent && !e.closest('.key svg'))
    .map(e => [e.textContent, e.getBoundingClientRect()]);
  return boxes.flatMap(([a, one], at) => boxes.slice(at + 1).filter(([b, other]) =>
    one.left < other.right && other.left < one.right && one.top + 2 < other.bottom
    && other.top + 2 < one.bottom).map(([b]) => [a, b]));
})"""


@SIZES
def test_tiles_fill_their_rows_and_no_label_lies_on_another(browser, session, width):
    browser.open(session[0], width=width)
    rows = browser.run("""(() => {
      const all = document.querySelector('.tiles').getBoundingClientRect(), rows = {};
      for (const tile of document.querySelectorAll('.tiles div')) {
        const box = tile.getBoundingClientRect();
        rows[box.top] = Math.max(rows[box.top] ?? 0, box.right);
      }
      return Object.values(rows).map(right => Math.abs(right - all.right) < 1);
    })()""")
    assert len(rows) >= 2
    assert all(rows)
    assert browser.run(COLLIDING) == []


@SIZES
def test_both_texts_of_a_piece_are_side_by_side_where_there_is_room(browser, session, width):
    browser.open(session[0], width=width)
    browser.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    tops = browser.run("""[...document.querySelectorAll('.sides')].map(
      e => [...e.children].map(side => side.getBoundingClientRect().top))""")
    assert len(tops) > 3
    assert {original == instead for original, instead in tops} == {width == DESK}


@SCHEMES
def test_the_page_is_as_bright_as_its_reader_likes(browser, session, scheme):
    browser.open(session[0], width=PHONE, scheme=scheme)
    colours = browser.run("""['color', 'backgroundColor'].map(
      name => getComputedStyle(document.body)[name].match(/\\d+/g).map(Number))""")
    ink, paper = ("#" + "".join(f"{part:02x}" for part in colour) for colour in colours)
    assert contrast(ink, paper) >= 7
    assert (sum(colours[1]) > 384) == (scheme == "light")


@SIZES
def test_all_figures_are_there_and_can_be_seen(browser, session, width):
    browser.open(session[0], width=width)
    figures = browser.run("""Object.fromEntries([...document.querySelectorAll('figure')].map(f => {
      const svg = f.querySelector(':scope > svg'), box = svg.getBoundingClientRect();
      return [f.id, {width: box.width, height: box.height, drawn: svg.querySelectorAll('path').length,
        said: f.querySelector('figcaption').textContent, keys: f.querySelectorAll('.key li').length,
        labels: [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect().height)}]}))""")
    assert set(figures) == {"tokens", "cache", "cost"}
    for figure in figures.values():
        assert figure["width"] > 0.85 * min(width, 960)
        assert figure["height"] > 150
        assert figure["drawn"] >= 2
        assert figure["keys"] >= 2
        assert figure["said"]
        # Words keep their size where the drawing is pressed together.
        assert all(height == 0 or 10 < height < 30 for height in figure["labels"])
    assert "no management: over the window at request 3" in figures["tokens"]["said"]
    assert browser.run("document.querySelectorAll('#tokens circle.mark').length") > 3
    assert browser.run("document.querySelectorAll('.bar').length") >= 2


def test_a_screen_reader_is_told_what_the_figures_show(browser, session):
    browser.open(session[0], width=DESK)
    browser.run("document.querySelector('#figures').open = true")
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    told = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    images = [name for role, name in told if role == "image"]
    assert any("with ullage: at most" in name for name in images)
    assert all(name for name in images)
    roles = {role for role, _ in told}
    assert {"heading", "table", "columnheader", "rowheader", "main", "region"} <= roles
    assert [name for role, name in told if role == "columnheader" and name == "tokens"]
    levels = browser.run("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_a_piece_unfolds_by_a_click_to_what_is_stored(browser, session):
    page, store = session
    browser.open(page, width=PHONE)
    references = browser.run("[...document.querySelectorAll('.piece')].map(e => e.id)")
    assert set(references) == set(store.list())
    browser.run("document.querySelector('#arrivals').open = true")
    for reference in references[:5]:
        shown = browser.run(f"""(() => {{
          const piece = document.getElementById({json.dumps(reference)});
          if (piece.open || piece.querySelector('pre').checkVisibility()) return 'open before';
          piece.querySelector('summary').click();
          return piece.querySelector('pre').checkVisibility() && piece.querySelector('pre').textContent;
        }})()""")
        assert shown == readable(store, reference)
    assert browser.complaints == []


def test_a_piece_leads_to_its_file(browser, session):
    page, store = session
    browser.open(page, width=DESK)
    links = browser.run("[...document.querySelectorAll('.piece a')].map(e => e.href)")
    files = {store.path(reference).as_uri() for reference in store.list()}
    assert set(links) == files


def test_all_is_reached_and_unfolded_by_the_keyboard(browser, session):
    browser.open(session[0], width=DESK)
    focused = "document.activeElement.tagName + ' ' + document.activeElement.className"
    reached = []
    for _ in range(8):
        browser.press("Tab", 9)
        reached.append(browser.run(focused))
        if reached[-1].startswith("SUMMARY"):
            break
    assert "DIV wide" in reached
    assert reached[-1].startswith("SUMMARY")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert browser.run(outline) == "solid"
    is_open = "document.activeElement.parentElement.open"
    assert browser.run(is_open) is False
    browser.press("Enter", 13, "\r")
    assert browser.run(is_open) is True
    browser.press("Enter", 13, "\r")
    assert browser.run(is_open) is False


def test_no_text_of_a_session_becomes_a_part_of_the_page(browser, session):
    browser.open(session[0], width=DESK)
    assert browser.run("document.querySelectorAll('script, img, iframe, object, form').length") == 0
    assert browser.run("document.querySelectorAll('style').length") == 1
    assert browser.run("document.querySelectorAll('body > *').length") == 1
    unseen = "[\\u0000-\\u0008\\u000b-\\u001f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
    assert browser.run(f"/{unseen}/u.test(document.body.textContent)") is False


def test_what_runs_in_spite_of_all_is_forbidden(browser, session, tmp_path):
    """The policy in the page, should a text ever become markup."""
    page = tmp_path / "page.html"
    markup = (
        "<script>document.title = 'owned'</script>"
        "<img src='http://127.0.0.1:9/x' onerror=\"document.title = 'owned'\">"
    )
    page.write_text(session[0].read_text().replace("<main>", f"<main>{markup}"))
    browser.open(page, width=DESK)
    assert browser.run("document.title") != "owned"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


@SCHEMES
def test_the_picture_is_drawn_in_both_schemes(browser, tmp_path, scheme, project):
    picture = project / "docs" / "context.svg"
    assert picture.stat().st_size < 100_000
    browser.open(picture, width=DESK, scheme=scheme)
    assert browser.complaints == []
    fill = browser.run("getComputedStyle(document.querySelector('rect')).fill")
    assert fill == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 31)")
    assert browser.run("document.querySelectorAll('path').length") >= 4
    outside = """[...document.querySelectorAll('text')].filter(t => {
      const box = t.getBBox(), root = document.documentElement.getBoundingClientRect();
      return t.getBoundingClientRect().right > root.right }).length"""
    assert browser.run(outside) == 0
