"""`lodestone model code --language java`: a class with records, key builders and methods with parameters.

The classes of all example models, and of two that are made for it, are compiled with the program of `acceptance/java`. Each
method is called with values of the example data: it must send exactly the requests that `prove` proves, and return and leave
what the pattern means.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from library_caller import Caller, check_every_function
from test_model_code import MODELS, filled, model  # noqa: F401
from test_model_library import EVERY_KIND, EXAMPLES

PROGRAM = Path(__file__).parents[1] / "java"


def jars():
    """`cargo xtask acceptance` installs the SDK, and says where it is."""
    return f"{os.environ['JAVA_SDK']}/*"


def write_class(folder, text):
    """Writes a class where its package has it, and returns the class's full name."""
    package = re.search(r"^package (\w+);", text, re.M)[1]
    name = re.search(r"^(?:public )?final class (\w+)", text, re.M)[1]
    (folder / package).mkdir(exist_ok=True)
    (folder / package / f"{name}.java").write_text(text)
    return f"{package}.{name}"


def models_class(entries):
    """The class by which the program finds the models."""
    cases = "".join(
        f'            case "{name}" -> Caller.bind({library}Calls.calls(), new {library}(client));\n'
        for name, library in entries.items()
    )
    return (
        "package caller;\n\n"
        "import java.util.Map;\n"
        "import java.util.function.Supplier;\n"
        "import software.amazon.awssdk.services.dynamodb.DynamoDbClient;\n\n"
        "final class Models {\n"
        "    private Models() {}\n\n"
        "    static Map<String, Supplier<Object>> of(String name, DynamoDbClient client) {\n"
        "        return switch (name) {\n"
        f"{cases}"
        '            default -> throw new IllegalArgumentException("there is no model " + name);\n'
        "        };\n"
        "    }\n"
        "}\n"
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The command that runs the program. No part of it has a warning."""
    folder = tmp_path_factory.mktemp("java")
    sources = folder / "sources"
    sources.mkdir()
    entries = {}
    for path in EXAMPLES:
        entries[path.stem] = write_class(sources, model("code", path, "--language", "java"))
        write_class(sources, model("code", path, "--language", "java", "--calls"))
    for path in PROGRAM.glob("*.java"):
        write_class(sources, path.read_text())
    write_class(sources, models_class(entries))
    # Comments must be well-formed, but not everything needs one.
    lint = ["-Xlint:all", "-Werror", "-Xdoclint:all,-missing", "-implicit:none", "--release", "17"]
    files = sorted(str(path) for path in sources.rglob("*.java"))
    compiled = subprocess.run(
        ["javac", *lint, "-cp", jars(), "-d", str(folder / "classes"), *files],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    # It runs for a moment, so that there is no time to win by compiling it well.
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder / 'classes'}:{jars()}", "caller.Caller"]


@pytest.fixture
def caller(program):
    """Starts the program for a model."""
    started = []

    def start(server, name):
        started.append(Caller([*program, name], server))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_method_sends_what_was_proven_and_returns_what_is_meant(filled, caller, path):  # noqa: F811
    server, client = filled(path)
    check_every_function(path, client, caller(server, path.stem))


def test_a_page_begins_where_the_last_one_ended(filled, caller):  # noqa: F811
    server, _ = filled(MODELS / "m16-comments.yaml")
    found, _ = caller(server, "application").call("pages")
    assert [[time[-3:] for time in page] for page in found] == [["04Z", "03Z", "02Z"], ["01Z", "00Z"]]


def test_no_item_is_empty_and_a_condition_that_fails_is_an_exception_of_the_sdk(filled, caller):  # noqa: F811
    server, _ = filled(MODELS / "m16-comments.yaml")
    assert caller(server, "application").call("missing")[0] is True


def test_batches_are_cut_and_numbers_keep_all_their_digits(filled, caller):  # noqa: F811
    server, _ = filled(EVERY_KIND)
    found, sent = caller(server, "application").call("digits")
    assert found == 60
    assert [len(request["RequestItems"]["measured"]) for request in sent[:3]] == [25, 25, 10]


def test_what_a_batch_left_unprocessed_is_sent_again(filled, caller):  # noqa: F811
    server, _ = filled(EVERY_KIND)
    found, sent = caller(server, "application").call("unprocessed")
    assert found == 3
    writes = [request["RequestItems"]["measured"] for request in sent if "measured" in request.get("RequestItems", {})]
    assert [len(write) for write in writes] == [3, 2, 1]


def test_a_text_that_is_null_is_refused_before_it_gets_into_a_key(filled, caller):  # noqa: F811
    server, _ = filled(MODELS / "m16-comments.yaml")
    found, sent = caller(server, "application").call("nulls")
    assert found == ["postId", "title"]
    assert sent == []
