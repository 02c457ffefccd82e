"""`lodestone lsp` through a client library of the Language Server Protocol (pygls).

What the answers say about a position is tested beside `model::editor`; here is what an editor sends and gets.
"""

import asyncio
import contextlib
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from lodestone import binary

MODELS = Path(__file__).parents[2] / "examples" / "models"
URI = "file:///shop/model.yaml"
WITHIN_SECONDS = 60

MODEL = """model: shop
table: { name: app, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Customer:
    description: A buyer, as in Zoë 😀
    key: { PK: "CUST#{customerId}", SK: PROFILE }
    attributes: { name: string }
    count: 1M
    size: 600 B
patterns:
  A1: { get: Customer, by: customerId, rate: 800/s }
"""


class Editor(LanguageClient):
    """An editor that keeps the findings of each version of its file."""

    def __init__(self):
        super().__init__("acceptance", "1")
        self.findings = asyncio.Queue()

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def keep(published):
            self.findings.put_nowait(published)

    async def opened(self, text, uri=URI):
        item = lsp.TextDocumentItem(uri=uri, language_id="yaml", version=1, text=text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
        return await self.findings_of(1)

    async def changed(self, version, text):
        document = lsp.VersionedTextDocumentIdentifier(uri=URI, version=version)
        change = lsp.TextDocumentContentChangeWholeDocument(text=text)
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(text_document=document, content_changes=[change])
        )
        return await self.findings_of(version)

    async def findings_of(self, version):
        while True:
            published = await asyncio.wait_for(self.findings.get(), WITHIN_SECONDS)
            if published.version == version:
                return list(published.diagnostics)


@contextlib.asynccontextmanager
async def editor(*options):
    client = Editor()
    await client.start_io(binary(), "lsp", *options)
    capabilities = lsp.ClientCapabilities()
    client.server = await client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
    client.initialized(lsp.InitializedParams())
    yield client
    await client.shutdown_async(None)
    client.exit(None)
    await asyncio.wait_for(client.stop(), WITHIN_SECONDS)


def run(session, *options):
    async def within():
        async with editor(*options) as client:
            await asyncio.wait_for(session(client), WITHIN_SECONDS)

    asyncio.run(within())


def at(text, part, offset=0):
    """The position of a part of the text, in UTF-16 units as the protocol counts."""
    before = text[: text.index(part) + offset]
    line = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


def here(position):
    return {"text_document": lsp.TextDocumentIdentifier(URI), "position": position}


def test_findings_come_as_one_types_and_go_when_they_are_cured():
    async def session(client):
        assert client.server.server_info.name == "lodestone"
        assert await client.opened(MODEL) == []
        wrong = MODEL.replace("get: Customer", "get: Custmer")
        [finding] = await client.changed(2, wrong)
        assert finding.severity == lsp.DiagnosticSeverity.Error
        assert "Custmer" in finding.message and "did you mean `Customer`" in finding.message
        assert finding.range.start == at(wrong, "Custmer")
        [rule] = await client.changed(3, MODEL.replace("pitr: true, ", ""))
        assert (rule.code, rule.source) == ("R33", "lodestone")
        assert rule.code_description.href == "https://example.com/rules/R33.md"
        assert await client.changed(4, MODEL) == []

    run(session, "--rule-pages", "https://example.com/rules/")


def test_only_the_last_of_many_quick_changes_need_be_checked():
    async def session(client):
        await client.opened(MODEL)
        for version in range(2, 100):
            document = lsp.VersionedTextDocumentIdentifier(uri=URI, version=version)
            change = lsp.TextDocumentContentChangeWholeDocument(text=MODEL[:-version])
            client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        assert await client.changed(100, MODEL) == []

    run(session)


def test_a_pattern_shows_its_plan_and_cost():
    async def session(client):
        await client.opened(MODEL)
        hover = await client.text_document_hover_async(lsp.HoverParams(**here(at(MODEL, "A1:", 1))))
        assert "`GetItem` on `app`" in hover.contents.value
        assert "a month" in hover.contents.value
        member = await client.text_document_hover_async(lsp.HoverParams(**here(at(MODEL, "count:"))))
        assert member.contents.value.startswith("How many there are")
        assert await client.text_document_hover_async(lsp.HoverParams(**here(lsp.Position(900, 1)))) is None

    run(session)


def test_members_and_names_are_completed_in_a_text_that_is_no_yaml_yet():
    async def session(client):
        typed = MODEL.replace("get: Customer, by: customerId, rate: 800/s }", "get: Cu")
        [broken] = await client.opened(typed)
        assert "not YAML" in broken.message
        offered = await client.text_document_completion_async(lsp.CompletionParams(**here(at(typed, "get: Cu", 7))))
        assert [item.label for item in offered] == ["Customer"]
        [item] = offered
        assert item.text_edit.range == lsp.Range(at(typed, "get: Cu", 5), at(typed, "get: Cu", 7))
        await client.changed(2, MODEL)
        inside = here(at(MODEL, "rate: 800/s"))
        offered = await client.text_document_completion_async(lsp.CompletionParams(**inside))
        assert {"limit", "consistency"} <= {item.label for item in offered}

    run(session)


def test_a_name_leads_to_its_declaration_and_the_file_has_an_outline():
    async def session(client):
        await client.opened(MODEL)
        found = await client.text_document_definition_async(
            lsp.DefinitionParams(**here(at(MODEL, "get: Customer", 7)))
        )
        assert found.range.start == at(MODEL, "Customer:")
        used = await client.text_document_references_async(
            lsp.ReferenceParams(
                **here(at(MODEL, "Customer:")), context=lsp.ReferenceContext(include_declaration=False)
            )
        )
        assert [place.range.start for place in used] == [at(MODEL, "Customer, by")]
        symbols = await client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(URI))
        )
        assert [symbol.name for symbol in symbols] == ["app", "Customer", "A1"]
        assert {child.name for child in symbols[1].children} == {"name", "customerId"}

    run(session)


def test_quick_fixes_cure_what_they_are_offered_for():
    async def session(client):
        text = MODEL.replace("pitr: true, ", "")
        [finding] = await client.opened(text)
        asked = lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(URI), finding.range, lsp.CodeActionContext(diagnostics=[finding])
        )
        fix, allow = await client.text_document_code_action_async(asked)
        assert fix.title == "write `pitr: true`" and fix.is_preferred
        assert allow.title == "allow R33 here, with a reason"
        for version, action in enumerate([fix, allow], start=2):
            [edit] = action.edit.changes[URI]
            assert await client.changed(version, applied(text, edit)) == []

    run(session)


def applied(text, edit):
    lines = text.split("\n")
    assert edit.range.start == edit.range.end
    line, column = edit.range.start.line, edit.range.start.character
    lines[line] = lines[line][:column] + edit.new_text + lines[line][column:]
    return "\n".join(lines)


def test_every_example_opens_without_errors():
    async def session(client):
        for path in sorted(MODELS.glob("*.yaml")):
            found = await client.opened(path.read_text(), path.as_uri())
            errors = [one.message for one in found if one.severity == lsp.DiagnosticSeverity.Error]
            assert not errors, path.name
            document = lsp.TextDocumentIdentifier(path.as_uri())
            client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))

    run(session)
