"""`lodestone model code --language go`: a package with types, key builders and functions with parameters.

The packages of all example models, and of two that are made for it, are built into the program of
`acceptance/go`. Each function is called with values of the example data: it must send exactly the requests that `prove`
proves, and return and leave what the pattern means.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from library_caller import Caller, check_every_function
from test_model_code import MODELS, filled, model  # noqa: F401
from test_model_library import EVERY_KIND, EXAMPLES

PROGRAM = Path(__file__).parents[1] / "go"
# Where Debian's packages have the SDK.
SDK = "/usr/share/gocode"


def package_name(text):
    return re.search(r"^package (\w+)$", text, re.M)[1]


def go(folder, *arguments):
    """Go without the network: `cargo xtask acceptance` installs it, and says where it caches what it builds."""
    settings = {
        "GO111MODULE": "off",
        "GOPATH": f"{folder}:{SDK}",
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
    }
    done = subprocess.run(
        arguments, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The packages of all models, and the program that has them."""
    folder = tmp_path_factory.mktemp("go")
    names = {}
    for path in EXAMPLES:
        library = model("code", path, "--language", "go")
        names[path.stem] = package_name(library)
        package = folder / "src" / "models" / names[path.stem]
        package.mkdir(parents=True)
        (package / "library.go").write_text(library)
        (package / "calls.go").write_text(model("code", path, "--language", "go", "--calls"))
    imports = "".join(f'\t"models/{name}"\n' for name in sorted(names.values()))
    entries = "".join(f'\t"{stem}": {name}.Calls,\n' for stem, name in names.items())
    program = folder / "src" / "caller"
    shutil.copytree(PROGRAM, program)
    (program / "models.go").write_text(
        'package main\n\nimport (\n\t"context"\n\n\t"github.com/aws/aws-sdk-go-v2/service/dynamodb"\n'
        f"\n{imports})\n\n"
        "var models = map[string]map[string]func(ctx context.Context, client *dynamodb.Client) (any, error){\n"
        f"{entries}}}\n"
    )
    return folder


@pytest.fixture(scope="module")
def program(sources):
    go(sources, "go", "build", "-o", "caller", "caller")
    return sources / "caller"


@pytest.fixture
def caller(program):
    """Starts the program for a model."""
    started = []

    def start(server, name):
        started.append(Caller([program, name], server))
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_gofmt_and_vet_find_nothing_wrong_with_any_of_the_packages(sources):
    assert go(sources, "gofmt", "-l", "src/models", str(PROGRAM)) == ""
    go(sources, "go", "vet", "models/...")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_function_sends_what_was_proven_and_returns_what_is_meant(filled, caller, path):  # noqa: F811
    server, client = filled(path)
    check_every_function(path, client, caller(server, path.stem))


def test_a_page_begins_where_the_last_one_ended(filled, caller):  # noqa: F811
    server, _ = filled(MODELS / "m16-comments.yaml")
    found, _ = caller(server, "application").call("pages")
    assert [[time[-3:] for time in page] for page in found] == [["04Z", "03Z", "02Z"], ["01Z", "00Z"]]


def test_no_item_is_nil_and_a_condition_that_fails_is_an_error_of_the_sdk(filled, caller):  # noqa: F811
    server, _ = filled(MODELS / "m16-comments.yaml")
    assert caller(server, "application").call("missing")[0] is True


def test_batches_are_cut_and_numbers_keep_all_their_digits(filled, caller):  # noqa: F811
    server, _ = filled(EVERY_KIND)
    found, sent = caller(server, "application").call("digits")
    assert found == 60
    assert [len(request["RequestItems"]["measured"]) for request in sent[:3]] == [25, 25, 10]
