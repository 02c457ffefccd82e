"""`lodestone mcp` through the protocol's official client library."""

import asyncio
from pathlib import Path

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from lodestone import binary

MODELS = Path(__file__).parents[2] / "examples" / "models"
ORDERS = MODELS / "m03-order-management.yaml"
WITHIN_SECONDS = 120


def run(use):
    async def within():
        async with stdio_client(StdioServerParameters(command=binary(), args=["mcp"])) as (read, write):
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
        commands = "check plan prove cost heat design diff import export code explain init schema".split()
        assert names == {f"model_{command}" for command in commands}
        assert all(tool.description for tool in tools)

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
        priced, text, _ = await call(session, "model_cost", text=ORDERS.read_text(), region="eu-west-1")
        assert priced["region"] == "eu-west-1" and priced["total"] > 0 and "a month" in text
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
