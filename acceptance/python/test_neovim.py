"""The setup for Neovim that docs/editors.md shows, in Neovim itself."""

import json
import os
import subprocess
from pathlib import Path

from lodestone import binary

DOCUMENT = Path(__file__).parents[2] / "docs" / "editors.md"
WITHIN_SECONDS = 120

MODEL = """model: shop
table: { name: app, partition: PK, sort: SK, deletion-protection: true }
entities:
  Customer:
    key: { PK: "CUST#{customerId}", SK: PROFILE }
    attributes: { name: string }
    count: 1M
    size: 600 B
patterns:
  A1: { get: Customer, by: customerId, rate: 800/s }
"""

SESSION = """
local answer = {}
local function wait(what)
  assert(vim.wait(60000, what, 20), "it did not come")
end
vim.lsp.handlers["window/showMessage"] = function(_, shown)
  answer.message = shown.message
end
vim.ui.select = function(choices, _, choose)
  for number, choice in ipairs(choices) do
    if choice.lens.command.title == "prove this pattern" then
      choose(choice, number)
    end
  end
end
wait(function() return #vim.diagnostic.get(0) > 0 end)
local found = vim.diagnostic.get(0)[1]
answer.finding = { line = found.lnum, source = found.source, message = found.message }
vim.fn.search("A1:")
local at = vim.lsp.util.make_position_params()
local hovered = vim.lsp.buf_request_sync(0, "textDocument/hover", at, 60000)
for _, one in pairs(hovered) do
  answer.hover = one.result.contents.value
end
vim.lsp.codelens.refresh()
wait(function() return #vim.lsp.codelens.get(0) > 0 end)
answer.lenses = vim.tbl_map(function(lens) return lens.command.title end, vim.lsp.codelens.get(0))
vim.lsp.codelens.run()
wait(function() return answer.message end)
local file = assert(io.open("answer.json", "w"))
file:write(vim.fn.json_encode(answer))
file:close()
vim.cmd("qa!")
"""


def setup():
    """The first setup of the document, which is the one for the Neovim that Debian has."""
    section = DOCUMENT.read_text().split("**Neovim**")[1]
    return section.split("```lua\n")[1].split("```")[0]


def test_the_documented_setup_shows_findings_plans_lenses_and_proofs(tmp_path):
    (tmp_path / "init.lua").write_text(setup())
    (tmp_path / "session.lua").write_text(f"local ok, why = pcall(function() {SESSION} end)\nif not ok then print(why) vim.cmd('cq') end")
    (tmp_path / "shop.model.yaml").write_text(MODEL)
    path = f"{Path(binary()).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = ["nvim", "--headless", "-u", "init.lua", "shop.model.yaml", "-c", "luafile session.lua"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, timeout=WITHIN_SECONDS, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["finding"]["line"] == 1 and answer["finding"]["source"] == "lodestone"
    assert "`GetItem` on `app`" in answer["hover"]
    assert "prove this pattern" in answer["lenses"]
    assert answer["message"].startswith("shop: proven; 1 of 1 pattern")
