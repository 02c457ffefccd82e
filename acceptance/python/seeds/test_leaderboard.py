"""Players, their matches, a season's ranking and public handles. The table's keys and the indexes' keys
have names of the model's own; ratings in sort keys are padded, because text is ordered as text (B36).
"""

import pytest
from model import Model, keys_of
from schema import Index


def player(number, handle, rating, season="2026-Q2"):
    return {
        "partitionId": f"PLAYER#{number}", "rangeId": "PROFILE", "handle": handle, "region": "eu",
        "gsiPartition": f"SEASON#{season}", "gsiSort": f"RATING#{rating:05}",
        "handlePartition": f"HANDLE#{handle}", "handleSort": f"PLAYER#{number}",
    }


def match(time, result, delta):
    return {
        "partitionId": "PLAYER#u8231", "rangeId": f"MATCH#{time}", "result": result, "ratingDelta": delta,
        "mapId": "harbour",
    }


NIGHTHAWK = player("u8231", "nighthawk", 1842)
NOVICE = player("u9000", "novice", 9)
CHAMPION = player("u1", "champion", 12007)
AVERAGE = player("u77", "average", 1000)
RETIRED = player("u2", "retired", 2500, season="2026-Q1")
MATCHES = [match("2026-06-22T20", "win", 7), match("2026-06-23T11", "loss", -15), match("2026-06-23T14", "win", 18)]
ITEMS = [MATCHES[2], NOVICE, CHAMPION, MATCHES[0], RETIRED, NIGHTHAWK, AVERAGE, MATCHES[1]]
INDEXES = [
    Index("season", gsiPartition="S", gsiSort="S"),
    Index("handle", "KEYS_ONLY", handlePartition="S", handleSort="S"),
]


@pytest.fixture
def game(new_table, sent):
    return Model(new_table(indexes=INDEXES, partitionId="S", rangeId="S"), sent).load(ITEMS)


def test_fetch_a_players_profile(game):
    assert game.get(partitionId="PLAYER#u8231", rangeId="PROFILE") == NIGHTHAWK


def test_fetch_a_profile_with_all_its_matches(game):
    assert game.query("partitionId = :player", player="PLAYER#u8231") == [*MATCHES, NIGHTHAWK]


def test_list_a_players_recent_matches_newest_first(game):
    found = game.query(
        "partitionId = :player AND begins_with(rangeId, :match)",
        player="PLAYER#u8231", match="MATCH#", newest_first=True,
    )
    assert found == MATCHES[::-1]


def test_show_the_top_players_of_a_season(game):
    found = game.query(
        "gsiPartition = :season", index="season", season="SEASON#2026-Q2", newest_first=True, limit=3
    )
    assert found == [CHAMPION, NIGHTHAWK, AVERAGE]


def test_the_whole_ranking_is_in_order_of_rating(game):
    found = game.query("gsiPartition = :season", index="season", season="SEASON#2026-Q2", newest_first=True)
    assert keys_of(found, "handle") == ["champion", "nighthawk", "average", "novice"]


def test_look_up_a_player_by_handle(game):
    [found] = game.query("handlePartition = :handle", index="handle", handle="HANDLE#nighthawk")
    assert found["handleSort"] == "PLAYER#u8231"


def test_ratings_without_padding_are_ranked_as_text(game):
    """B36: 9 ranks above 1000 unless numbers are padded."""
    game.load(
        {"partitionId": "PLAIN", "rangeId": str(rating), "gsiPartition": "PLAIN", "gsiSort": f"RATING#{rating}"}
        for rating in (1000, 9, 250)
    )
    found = game.query("gsiPartition = :season", index="season", season="PLAIN", newest_first=True)
    assert keys_of(found, "gsiSort") == ["RATING#9", "RATING#250", "RATING#1000"]
