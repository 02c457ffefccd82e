"""A tree of categories: the path is the sort key, so a subtree is a prefix (B42)."""

import pytest
from model import Model, keys_of

PATHS = [
    "Books#Travel",
    "Electronics",
    "Electronics#Audio",
    "Electronics#Audio#Headphones",
    "Electronics#Audio#Headphones#Wireless",
    "Electronics#Audio#Speakers",
    "Electronics#Audiobooks",
    "Electronics#Video",
    "Garden",
]


@pytest.fixture
def catalogue(new_table, sent):
    items = [{"PK": "CATALOGUE", "SK": f"CATEGORY#{path}"} for path in reversed(PATHS)]
    return Model(new_table(PK="S", SK="S"), sent).load(items)


def subtree(catalogue, prefix):
    found = catalogue.query("PK = :pk AND begins_with(SK, :prefix)", pk="CATALOGUE", prefix=f"CATEGORY#{prefix}")
    return [key.removeprefix("CATEGORY#") for key in keys_of(found, "SK")]


def test_a_category_is_one_get(catalogue):
    key = {"PK": "CATALOGUE", "SK": "CATEGORY#Electronics#Audio#Headphones"}
    assert catalogue.get(**key) == key


@pytest.mark.parametrize("root", ["", "Electronics", "Electronics#Audio", "Electronics#Audio#Headphones", "Toys"])
def test_a_prefix_returns_a_whole_subtree(catalogue, root):
    """B42: the category, everything under it, and names that merely begin alike."""
    assert subtree(catalogue, root) == [path for path in PATHS if path.startswith(root)]


def test_a_prefix_with_its_delimiter_returns_descendants_alone(catalogue):
    assert subtree(catalogue, "Electronics#Audio#") == [
        "Electronics#Audio#Headphones", "Electronics#Audio#Headphones#Wireless", "Electronics#Audio#Speakers",
    ]
