//! The container image: the binary, the libraries that it needs, and nothing else. No shell, user 65532, data in `/data`.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Built;
use super::stage::{self, Stage, said};
use super::testcontainers;
use crate::command::{program, root, run};
use crate::report::Report;
use crate::tools;

/// Where a server listens without a flag.
const PORT: u16 = 8000;
const USER: &str = "65532:65532";
/// Compose files for DynamoDB Local may have `user: root`.
const USERS: &str = "root:x:0:0:root:/:/usr/bin/lodestone\n\
    lodestone:x:65532:65532:Lodestone:/data:/usr/bin/lodestone\n";
const GROUPS: &str = "root:x:0:\nlodestone:x:65532:\n";
/// Where DynamoDB Local's image has its files, below the root. Compose files name it.
const LOCAL_FOLDER: &str = "home/dynamodblocal";
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Buildah and podman, with images and containers in a folder of their own.
struct Containers {
    folder: PathBuf,
    /// That of a check's container: another one in each run, so that two runs do not disturb each other.
    name: String,
}

pub fn build(stage: &Stage, check: bool, scratch: &Path, report: &mut Report) -> Result<Built> {
    tools::containers()?;
    let name = format!("lodestone-check-{:016x}", fastrand::u64(..));
    let containers = Containers { folder: scratch.join("containers"), name };
    let tree = scratch.join("image");
    put_files(stage, &tree)?;
    let owned = scratch.join("image-owned");
    fs::create_dir_all(owned.join("data"))?;
    fs::create_dir_all(owned.join(LOCAL_FOLDER).join("data"))?;
    let architecture = stage.architecture(["amd64", "arm64"]);
    let container =
        said(&mut containers.buildah(&["from", "--format=docker", "--arch", architecture, "scratch"]))?;
    run(containers.buildah(&["copy", "--quiet", "--chown=0:0", &container]).arg(&tree).arg("/"))?;
    run(containers.buildah(&["copy", "--quiet", "--chown", USER, &container]).arg(&owned).arg("/"))?;
    run(containers.buildah(&["config"]).args(configuration(stage)).arg(&container))?;
    let file = stage.to.join(format!("lodestone-{}-image-{architecture}.tar", stage.version));
    let packed = file.with_extension("tar.gz");
    for old in [&file, &packed] {
        if old.exists() {
            fs::remove_file(old)?;
        }
    }
    // Docker's format, because OCI's has no health check.
    let target = format!("docker-archive:{}:lodestone:{}", file.display(), stage.version);
    run(&mut containers.buildah(&["commit", "--quiet", "--format=docker", "--rm", &container, &target]))?;
    let level = if stage.is_quick { "-1" } else { "-9" };
    run(program("gzip").args(["-n", level]).arg(&file))?;
    let served = check.then(|| containers.check(stage, &packed, scratch, report)).transpose();
    containers.clear();
    let first_answer_s = served?;
    Ok(Built { files: vec![packed], first_answer_s })
}

fn put_files(stage: &Stage, tree: &Path) -> Result<()> {
    stage.put_binary(&tree.join("usr/bin/lodestone"))?;
    // Compose files for DynamoDB Local may have `entrypoint: java`.
    symlink("lodestone", tree.join("usr/bin/java"))?;
    // The loader looks for libraries in /lib, on both architectures; programs name the loader by its whole path.
    let loader_folder = stage.architecture(["lib64", "lib"]);
    for library in stage.libraries()? {
        let name = library.file_name().context("a library is a file")?;
        let is_loader = name.to_string_lossy().starts_with("ld-linux");
        let folder = tree.join(if is_loader { loader_folder } else { "lib" });
        fs::create_dir_all(&folder)?;
        fs::copy(&library, folder.join(name)).with_context(|| format!("copying {}", library.display()))?;
    }
    for (file, text) in [("passwd", USERS), ("group", GROUPS)] {
        stage.put_text(&tree.join("etc").join(file), text)?;
    }
    stage.put_text(&tree.join("etc/lodestone/lodestone.yaml"), &stage.text("image/lodestone.yaml")?)?;
    if Path::new(AUTHORITIES).exists() {
        stage.put_text(&tree.join(AUTHORITIES.trim_start_matches('/')), &fs::read_to_string(AUTHORITIES)?)?;
    }
    stage.put_licences(&tree.join("usr/share/doc/lodestone"))?;
    fs::create_dir_all(tree.join("tmp"))?;
    fs::set_permissions(tree.join("tmp"), Permissions::from_mode(0o1777))?;
    Ok(())
}

fn configuration(stage: &Stage) -> Vec<String> {
    let label = |name: &str, value: &str| format!("--label=org.opencontainers.image.{name}={value}");
    vec![
        format!("--user={USER}"),
        r#"--entrypoint=["/usr/bin/lodestone"]"#.to_owned(),
        "--cmd=serve".to_owned(),
        "--env=LODESTONE_CONFIG=/etc/lodestone/lodestone.yaml".to_owned(),
        "--env=HOME=/data".to_owned(),
        format!("--workingdir=/{LOCAL_FOLDER}"),
        "--volume=/data".to_owned(),
        format!("--port={PORT}"),
        "--healthcheck=CMD /usr/bin/lodestone health".to_owned(),
        "--healthcheck-interval=5s".to_owned(),
        "--stop-signal=SIGTERM".to_owned(),
        label("title", "Lodestone"),
        label("version", &stage.version),
        label("licenses", "MIT OR Apache-2.0"),
    ]
}

impl Containers {
    fn command(&self, name: &str) -> Command {
        let mut command = program(name);
        command.arg("--root").arg(self.folder.join("storage")).arg("--runroot").arg(self.folder.join("run"));
        command
    }

    fn buildah(&self, arguments: &[&str]) -> Command {
        let mut buildah = self.command("buildah");
        buildah.args(arguments);
        buildah
    }

    fn podman(&self, arguments: &[&str]) -> Command {
        let mut podman = self.command("podman");
        podman.arg("--runtime=runc").args(arguments);
        podman
    }

    /// A container of this name, which is gone when its process ends.
    fn container(&self, health: &str) -> Command {
        let name = format!("--name={}", self.name);
        let mut podman = self.podman(&["run", "--rm", "--network=host", health, &name]);
        podman.args(["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]);
        podman
    }

    /// A container with nothing but what it gets: no capability, no writable file but the volume's.
    fn confined(&self, stage: &Stage, volume: &str, arguments: &[&str]) -> Command {
        let mut podman = self.container("--no-healthcheck");
        podman.args(["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges"]);
        podman.arg(format!("--volume={volume}")).arg(image(stage)).args(arguments);
        podman
    }

    fn check(&self, stage: &Stage, archive: &Path, scratch: &Path, report: &mut Report) -> Result<f64> {
        // Docker loads the packed file, podman does not.
        let unpacked = scratch.join("image.tar");
        run(program("gzip").arg("-dc").arg(archive).stdout(fs::File::create(&unpacked)?))?;
        run(self.podman(&["load", "--quiet", "--input"]).arg(&unpacked))?;
        let first = self.check_data(stage)?;
        self.check_as_local(stage)?;
        self.check_health(stage)?;
        testcontainers::check(self.podman(&[]), stage, scratch, report)?;
        Ok(first)
    }

    /// Makes tables, and finds them again in the next container on the same volume.
    fn check_data(&self, stage: &Stage) -> Result<f64> {
        let model = root().join("examples/models/m01-shop.yaml");
        let apply = |url: &str| {
            let mut apply = program(&stage.binary);
            apply.args(["model", "apply", "--endpoint-url", &local(url)]).arg(&model);
            apply
        };
        let serve = || self.confined(stage, "data:/data", &["serve", "--port", "0"]);
        let first = stage::serve_until(&mut serve(), |url| {
            ask_health(stage, url)?;
            self.check_rights()?;
            run(&mut apply(url))
        })?;
        stage::serve_until(&mut serve(), |url| {
            let planned = said(apply(url).arg("--plan"))?;
            ensure!(!planned.contains("create"), "the tables are gone: {planned}");
            Ok(())
        })?;
        Ok(first)
    }

    /// Serves as DynamoDB Local does, in the ways that compose files start it.
    fn check_as_local(&self, stage: &Stage) -> Result<()> {
        let flags = ["-jar", "DynamoDBLocal.jar", "-sharedDb", "-dbPath", "./data", "-port", "0"];
        let volume = format!("local:/{LOCAL_FOLDER}/data");
        let mut as_java = self.container("--no-healthcheck");
        as_java.args(["--user=root", "--entrypoint=java"]).arg(image(stage)).args(flags);
        for start in [&mut self.confined(stage, &volume, &flags), &mut as_java] {
            stage::serve_until(start, |url| ask_health(stage, url))?;
        }
        Ok(())
    }

    /// The process in the container has the image's user, no capability, and can't get any.
    fn check_rights(&self) -> Result<()> {
        let process = said(&mut self.podman(&["inspect", "--format={{.State.Pid}}", &self.name]))?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        for line in ["Uid:\t65532\t65532\t65532\t65532", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"] {
            ensure!(
                status.lines().any(|own| own == line),
                "the process in the container has not {line}: {status}"
            );
        }
        Ok(())
    }

    /// The image's own health check. It is asked for by hand: podman would leave that to systemd's timers, and says so
    /// where there are none.
    fn check_health(&self, stage: &Stage) -> Result<()> {
        let mut serve = self.container("--health-interval=disable");
        match free_port(PORT)? {
            PORT => serve.arg(image(stage)),
            other => serve
                .arg(format!("--env=AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:{other}"))
                .arg(image(stage))
                .args(["serve", "--port", &other.to_string()]),
        };
        stage::serve_until(&mut serve, |_| run(&mut self.podman(&["healthcheck", "run", &self.name])))?;
        Ok(())
    }

    /// Lets go of what it has mounted, so that its folder can be removed.
    fn clear(&self) {
        if let Err(error) = run(&mut self.podman(&["system", "reset", "--force"])) {
            println!("{error:#}");
        }
    }
}

/// This port, or another one where it is in use.
fn free_port(preferred: u16) -> Result<u16> {
    let free = |port| anyhow::Ok(TcpListener::bind(("0.0.0.0", port))?.local_addr()?.port());
    free(preferred).or_else(|_| free(0))
}

pub fn image(stage: &Stage) -> String {
    format!("lodestone:{}", stage.version)
}

fn ask_health(stage: &Stage, url: &str) -> Result<()> {
    run(program(&stage.binary).args(["health", "--endpoint-url", &local(url)]))
}

/// The address of a server that listens on every one.
fn local(url: &str) -> String {
    url.replace("0.0.0.0", "127.0.0.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_check_has_another_port_where_the_usual_one_is_in_use() {
        let held = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let in_use = held.local_addr().unwrap().port();
        assert_ne!(free_port(in_use).unwrap(), in_use);
    }
}
