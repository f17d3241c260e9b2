"""`ullage replay`: its table, its JSON, its exit codes and its errors."""

import json
from functools import partial
from xml.etree import ElementTree as ET

import pytest

from .commands import bare, inside
from .test_replay import long_session

run = partial(inside, "replay")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sessions") / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, long_session().messages)))
    return path


def test_json_has_rows_cuts_and_costs(file):
    code, out, err = run(
        file, "--context", "4000", "--budget", "1,.5", "--baselines", "--cost", "3000", "--json"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [row["policy"] for row in found["rows"]] == ["window", "line-cover", "default"] * 2
    assert found["rows"][0]["retention"]["anchors"] == found["rows"][0]["retention"]["needed"] > 0
    assert found["costs"][0]["cost"] < found["costs"][0]["append_only"]
    assert found["rows"][2]["cost"] == pytest.approx(
        found["costs"][0]["cost"] / found["costs"][0]["append_only"]
    )
    assert {cut["session"] for cut in found["cuts"]} == {str(file)}


def test_policies_and_grids_stand_side_by_side(file, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text('{"stages": ["window"]}')
    code, out, _ = run(
        file, "--context", "4000", "--budget", ".5", "--json",
        "--policy", "default", "--policy", mine, "--grid", "high=0.6,0.8", "low=0.3",
    )  # fmt: skip
    assert code == 0
    assert [row["policy"] for row in json.loads(out)["rows"]] == [
        f"{name} high={high} low=0.3" for name in ("default", "mine") for high in (0.6, 0.8)
    ]


def test_the_table_names_what_it_shows(file):
    pytest.importorskip("rich")
    code, out, err = run(file, "--context", "4000", "--cost")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split()[:6] == ["policy", "context", "budget", "cuts", "anchors", "lines"]
    assert lines[1].split()[:3] == ["default", "4,000", "25.0%"]


def test_the_page_is_one_file_that_names_what_it_shows(file, tmp_path):
    page = tmp_path / "page.html"
    mine = tmp_path / "<mine>.json"
    mine.write_text("{}")
    arguments = (file, "--context", "4000", "--policy", mine, "--baselines", "--cost")
    assert run(*arguments, "--html", page) == (0, "", "")
    text = page.read_text()
    ET.fromstring(text)
    assert "&lt;mine&gt;" in text
    assert "<mine>" not in text
    assert "line-cover" in text
    assert "://" not in text
    assert "<script" not in text
    code, _, err = run(*arguments, "--html", tmp_path)
    assert code == 2
    assert "cannot write the page" in err


def test_without_the_extra_the_table_and_json_work(file):
    command = ["replay", file, "--context", "4000"]
    table, in_json = bare([command, [*command, "--json"]])
    assert table[0] == in_json[0] == 0
    assert "default" in table[1]
    assert json.loads(in_json[1])["rows"]


def test_a_budget_that_cannot_be_kept_is_found(file):
    code, out, _ = run(file, "--context", "4000", "--budget", "0.0001", "--json")
    assert code == 1
    assert json.loads(out)["rows"][0]["failed"] > 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--context", "80000"], "no session has 80,000 tokens"),
        (["--policy", "unheard-of"], "there is no preset 'unheard-of'"),
        (["--grid", "high"], "setting=value"),
        (["--grid", "hihg=1"], "hihg"),
        (["--budget", "1.5"], "at most 1"),
        (["--budget", "x"], "list of numbers"),
        (["--context", "0"], "above 0"),
    ],
)
def test_what_is_wrong_is_said(arguments, says, file):
    code, _, err = run(file, *arguments, "--json")
    assert code == 2
    assert says in err


@pytest.mark.parametrize("option", ["--jobs", "--cost"])
@pytest.mark.parametrize("number", ["-1", "0", "many"])
def test_a_number_that_makes_no_sense_is_wrong_usage(file, option, number):
    code, out, err = run(file, option, number)
    assert (code, out) == (2, "")
    assert f"argument {option}" in err
