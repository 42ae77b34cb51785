"""The ledger as a page: its picture, and what it says when entries do not fit together."""

import sqlite3

from gibbsafe.service.web.bars import bars, spent


def test_the_picture_adds_up():
    found = spent([("ana", 0.2), ("bo", 0.3), ("ana", 0.1)])
    assert [(round(piece.start), round(piece.width), piece.colour) for piece in found.pieces] == [
        (0, 20, 0),
        (20, 30, 1),
        (50, 10, 0),
    ]
    assert abs(found.left - 0.4) < 1e-12
    assert spent([]).left == 1.0
    assert {piece.colour for piece in spent([(str(k), 0.01) for k in range(9)]).pieces} == set(range(6))


def test_bars_stay_on_their_scale():
    wide = bars([(1e9, 2e9, 3e9), (-1.0, 0.0, 1.0), (5.0, 5.0, 5.0)])
    assert all(0 <= end <= 100 for bar in wide for end in (bar.low, bar.middle, bar.high))
    assert [bar.apart for bar in wide] == [True, False, True]
    assert bars([]) == []


def test_the_ledger_says_who_spent_what_for_what(filled, visit):
    page = visit("uma").get(f"/datasets/{filled.ids['dataset of olga']}/ledger").text
    assert "Verified just now." in page
    assert "Spent of the budget: ana" in page
    assert ">to see</a>" in page
    assert "Why there is no “ε spent so far”" in page


def test_a_ledger_that_was_edited_is_shown_as_such(world, visit):
    with sqlite3.connect(world.folder / "ledger.db") as connection:
        changed = connection.execute("update gibbsafe_entries set body = replace(body, '\"ana\"', '\"bob\"')").rowcount
        assert changed
    connection.close()
    page = visit("uma").get(f"/datasets/{world.ids['dataset of olga']}/ledger").text
    assert "Does not fit together." in page
    assert "Verified just now." not in page
