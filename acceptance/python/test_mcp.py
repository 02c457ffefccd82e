"""`lodestone mcp` through the protocol's official client library."""

import asyncio
from pathlib import Path

import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from lodestone import binary

MODELS = Path(__file__).parents[2] / "examples" / "models"
ORDERS = MODELS / "m03-order-management.yaml"
WITHIN_SECONDS = 120


def run(use, *options):
    async def within():
        server = StdioServerParameters(command=binary(), args=["mcp", *options])
        async with stdio_client(server) as (read, write):
            async with ClientSession(read, write) as session:
                session.server = await session.initialize()
                await use(session)

    asyncio.run(asyncio.wait_for(within(), WITHIN_SECONDS))


async def call(session, tool, **arguments):
    done = await session.call_tool(tool, arguments)
    [content] = done.content
    assert content.text, tool
    return done.structured_content, content.text, done.is_error


def test_every_tool_says_what_it_takes():
    async def use(session):
        tools = (await session.list_tools()).tools
        names = {tool.name for tool in tools}
        commands = "check plan prove cost heat simulate design diff import export code explain init schema".split()
        of_database = {"table_list", "table_describe", "item_get", "item_query"}
        assert names == {f"model_{command}" for command in commands} | of_database
        assert all(tool.description and tool.output_schema for tool in tools)
        assert all(tool.annotations.read_only_hint for tool in tools)

    run(use)


def test_a_client_of_a_newer_version_agrees_on_an_older_one():
    async def use():
        async with Client(StdioServerParameters(command=binary(), args=["mcp"])) as client:
            page = await client.call_tool("model_explain", {"rule": "R14"})
            assert page.content[0].text.startswith("# R14") and not page.is_error

    asyncio.run(asyncio.wait_for(use(), WITHIN_SECONDS))


def test_a_model_is_checked_planned_priced_and_proven():
    async def use(session):
        checked, text, failed = await call(session, "model_check", path=str(ORDERS))
        assert not failed and checked["readable"] and text.startswith("0 errors")
        planned, _, _ = await call(session, "model_plan", path=str(ORDERS))
        assert all(pattern["operation"] for pattern in planned["patterns"])
        priced, text, _ = await call(session, "model_cost", text=ORDERS.read_text(), region="us-east-1")
        assert priced["region"] == "us-east-1" and priced["total"] > 0 and "a month as declared" in text
        priced, text, _ = await call(session, "model_cost", text=ORDERS.read_text(), region="eu-west-1")
        assert priced["total"] is None and priced["declared"]["known"] > 0
        assert "without point-in-time recovery in eu-west-1, of which no price is known" in text
        heat, _, _ = await call(session, "model_heat", path=str(ORDERS))
        assert heat["heat"]
        proven, text, _ = await call(session, "model_prove", path=str(ORDERS))
        assert proven["proven"] and text == f"{len(proven['patterns'])} of {len(proven['patterns'])} patterns are proven"
        code, _, _ = await call(session, "model_code", path=str(ORDERS))
        assert "aws dynamodb" in code["cli"]

    run(use)


def test_problems_are_told_so_that_they_can_be_cured():
    async def use(session):
        checked, text, failed = await call(session, "model_check", text="model: x\nentitties: {}\n")
        assert not failed and not checked["readable"] and "did you mean `entities`" in text
        _, text, failed = await call(session, "model_prove", text="model: x\nentitties: {}\n")
        assert failed and "did you mean `entities`" in text
        _, text, failed = await call(session, "model_check", path="/nowhere/model.yaml")
        assert failed and "/nowhere/model.yaml" in text
        page, _, _ = await call(session, "model_explain", rule="R14")
        assert page["title"]

    run(use)


def test_the_example_designs_itself_and_what_is_exported_comes_back():
    async def use(session):
        started, _, _ = await call(session, "model_init")
        exported, _, _ = await call(session, "model_export", text=started["model"], to="cloudformation")
        imported, _, _ = await call(session, "model_import", text=exported["text"])
        assert imported["format"] == "cloudformation"
        designed, text, failed = await call(session, "model_design", text=started["model"])
        assert not failed and designed["model"] in text
        migration, _, _ = await call(session, "model_diff", old=started["model"], new=designed["model"])
        assert "steps" in migration
        schema, _, _ = await call(session, "model_schema")
        assert schema["title"] == "Lodestone model"

    run(use)


def test_an_argument_that_a_tool_does_not_have_is_refused():
    async def use(session):
        _, text, failed = await call(session, "model_check", path=str(ORDERS), strict=True)
        assert failed and "`strict`" in text and "text, path" in text
        _, text, failed = await call(session, "model_explain")
        assert failed and "`rule`" in text

    run(use)


def test_a_day_is_simulated():
    async def use(session):
        started, _, _ = await call(session, "model_init")
        played, text, failed = await call(
            session, "model_simulate", text=started["model"], traffic="spike", compare=["on-demand"]
        )
        assert not failed and [way["way"] for way in played["ways"]] == ["on-demand"]
        assert played["version"] == 1 and "units consumed" in text
        _, text, failed = await call(session, "model_simulate", path=str(ORDERS), traffic="noon")
        assert failed and "spike" in text

    run(use)


def test_tables_and_items_of_a_server_are_read(server, new_table):
    songs = with_songs(new_table)

    async def use(session):
        listed, _, _ = await call(session, "table_list")
        assert songs in listed["TableNames"]
        described, _, _ = await call(session, "table_describe", table=songs)
        assert described["Table"]["KeySchema"][0] == {"AttributeName": "artist", "KeyType": "HASH"}
        got, _, _ = await call(session, "item_get", table=songs, key={"artist": {"S": "Nina"}, "song": {"S": "b"}})
        assert got["Item"]["plays"] == {"N": "2"}
        found, _, failed = await call(
            session,
            "item_query",
            table=songs,
            key_condition="artist = :artist",
            values={":artist": {"S": "Nina"}},
            forward=False,
            limit=2,
        )
        assert not failed and [item["song"]["S"] for item in found["Items"]] == ["c", "b"]
        assert found["LastEvaluatedKey"] == {"artist": {"S": "Nina"}, "song": {"S": "b"}}
        _, text, failed = await call(session, "table_describe", table="nowhere")
        assert failed and "not found" in text

    run(use, "--endpoint-url", server.endpoint)


def test_an_item_is_written_only_if_that_is_allowed_and_its_condition_holds(server, new_table):
    songs = with_songs(new_table)
    item = {"artist": {"S": "Nina"}, "song": {"S": "d"}}
    new = {"table": songs, "item": item, "condition": "attribute_not_exists(artist)"}

    async def refused(session):
        with pytest.raises(MCPError, match="--allow-writes"):
            await session.call_tool("item_put", new)

    async def allowed(session):
        _, _, failed = await call(session, "item_put", **new)
        assert not failed
        _, text, failed = await call(session, "item_put", **new)
        assert failed and text.startswith("The conditional request failed")

    run(refused, "--endpoint-url", server.endpoint)
    run(allowed, "--endpoint-url", server.endpoint, "--allow-writes")


def with_songs(new_table):
    table = new_table(artist="S", song="S")
    for plays, song in enumerate("abc", start=1):
        table.put_item(Item={"artist": "Nina", "song": song, "plays": plays})
    return table.name
