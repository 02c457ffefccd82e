//! The image under Testcontainers, for Python and for Node, which find podman where they look for Docker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::image;
use super::stage::Stage;
use crate::command::{program, root, run};
use crate::evidence;
use crate::node_tests::NodeTests;
use crate::report::Report;
use crate::tools;

/// What podman takes for containers that are started by others: a process here may raise no limit, and control groups
/// may be mounted in both versions.
const SETTINGS: &str = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n\
    [engine]\nruntime = \"runc\"\n";
const READY_WITHIN: Duration = Duration::from_secs(30);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
const ALONE: &str = "cargo xtask package --check image";

/// Podman as a service that speaks Docker's API. It ends with this value.
struct Service {
    process: Child,
    socket: PathBuf,
}

pub fn check(podman: Command, stage: &Stage, scratch: &Path, report: &mut Report) -> Result<()> {
    let service = Service::start(podman, &scratch.join("testcontainers"))?;
    let image = format!("localhost/{}", image::image(stage));
    let tests = root().join("packages/testcontainers");
    let python = tools::python(&tests.join("requirements.txt"))?;
    let junit = evidence::folder()?.join("testcontainers.xml");
    let mut pytest = program(python.join("pytest"));
    pytest.args(["-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", "--junitxml"]).arg(&junit);
    service.set(pytest.arg("test_songs.py").current_dir(&tests), &image);
    let ran = run(&mut pytest);
    report.add_junit(ran, &junit, "testcontainers", |_| ALONE.to_owned())?;

    tools::node_modules(&tests)?;
    let variables = service.variables(&image).map(|(name, value)| (name, PathBuf::from(value)));
    let node = NodeTests {
        folder: &tests,
        name: "testcontainers",
        width: 1,
        binary: &stage.binary,
        programs: variables.to_vec(),
        alone: ALONE,
    };
    node.run(vec![tests.join("songs.test.mjs")], report)
}

impl Service {
    fn start(mut podman: Command, folder: &Path) -> Result<Service> {
        fs::create_dir_all(folder)?;
        let settings = folder.join("containers.conf");
        fs::write(&settings, SETTINGS)?;
        let socket = folder.join("podman.sock");
        podman.args(["system", "service", "--time=0"]).arg(format!("unix://{}", socket.display()));
        let process = podman.env("CONTAINERS_CONF", settings).spawn().context("starting podman's service")?;
        let service = Service { process, socket };
        let began = Instant::now();
        while !service.socket.exists() {
            ensure!(began.elapsed() < READY_WITHIN, "podman's service has no socket");
            std::thread::sleep(LOOK_INTERVAL);
        }
        Ok(service)
    }

    /// Where Testcontainers finds containers. Its own container that removes others can't be downloaded everywhere.
    fn variables(&self, image: &str) -> [(&'static str, String); 3] {
        [
            ("DOCKER_HOST", format!("unix://{}", self.socket.display())),
            ("TESTCONTAINERS_RYUK_DISABLED", "true".to_owned()),
            ("LODESTONE_IMAGE", image.to_owned()),
        ]
    }

    fn set(&self, command: &mut Command, image: &str) {
        command.envs(self.variables(image));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
