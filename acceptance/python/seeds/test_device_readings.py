"""Readings of devices: a partition a device, times in the sort key."""

import pytest
from model import Model, keys_of

TIMES = [f"2026-04-{day:02}T{hour:02}:00:00Z" for day in (20, 21, 22) for hour in (0, 9, 18)]


def reading(device, time):
    return {"PK": f"DEVICE#{device}", "SK": f"READING#{time}", "celsius": TIMES.index(time) * 2}


@pytest.fixture
def readings(new_table, sent):
    """Written out of order, and beside devices whose numbers begin alike."""
    items = [reading(device, time) for time in TIMES[::2] + TIMES[1::2] for device in (42, 4, 420)]
    return Model(new_table(PK="S", SK="S"), sent).load(items)


def times(items):
    return [key.removeprefix("READING#") for key in keys_of(items, "SK")]


def test_get_the_reading_of_a_moment(readings):
    wanted = reading(42, "2026-04-21T09:00:00Z")
    assert readings.get(PK=wanted["PK"], SK=wanted["SK"]) == wanted


def test_all_readings_of_a_device_are_in_order_of_time(readings):
    assert readings.query("PK = :device", device="DEVICE#42") == [reading(42, time) for time in TIMES]


def test_the_latest_reading_is_the_first_backwards(readings):
    found = readings.query(
        "PK = :device AND begins_with(SK, :reading)",
        device="DEVICE#42", reading="READING#", newest_first=True, limit=1,
    )
    assert found == [reading(42, TIMES[-1])]


def test_the_readings_of_a_day_are_a_prefix(readings):
    found = readings.query(
        "PK = :device AND begins_with(SK, :day)", device="DEVICE#42", day="READING#2026-04-21"
    )
    assert times(found) == TIMES[3:6]


def test_the_readings_between_two_moments_include_both(readings):
    found = readings.query(
        "PK = :device AND SK BETWEEN :first AND :last",
        device="DEVICE#42", first=f"READING#{TIMES[2]}", last=f"READING#{TIMES[6]}",
    )
    assert times(found) == TIMES[2:7]


def test_the_readings_since_a_moment_leave_it_out(readings):
    found = readings.query("PK = :device AND SK > :since", device="DEVICE#42", since=f"READING#{TIMES[6]}")
    assert times(found) == TIMES[7:]
