//! The extension for VS Code: `editors/vscode` as one script, with the schema that the binary prints, in a `.vsix`.

use std::fs;

use anyhow::Result;

use super::Built;
use super::stage::Stage;
use crate::command::{program, root, run};
use crate::node_tests::{self, NodeTests};
use crate::report::Report;
use crate::tools;

pub fn build(stage: &Stage, check: bool, report: &mut Report) -> Result<Built> {
    let folder = root().join("editors/vscode");
    tools::node_modules(&folder)?;
    for script in ["check", "bundle"] {
        run(tools::npm(&["run", "--silent", script])?.current_dir(&folder))?;
    }
    let schema = program(&stage.binary).args(["model", "schema"]).output()?;
    fs::write(folder.join("dist/schema.json"), schema.stdout)?;
    run(tools::npm(&["run", "--silent", "package"])?.current_dir(&folder))?;
    let packed = folder.join("dist/lodestone.vsix");
    let file = stage.to.join(format!("lodestone-vscode-{}.vsix", stage.version));
    fs::copy(&packed, &file)?;
    if check {
        let alone = "cargo xtask package --check vscode";
        let programs = Vec::new();
        let tests =
            NodeTests { folder: &folder, name: "vscode", width: 1, binary: &stage.binary, programs, alone };
        tests.run(node_tests::files(&folder.join("test"))?, report)?;
    }
    Ok(Built { files: vec![file], first_answer_s: None })
}
