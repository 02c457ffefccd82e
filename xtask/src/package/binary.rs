//! The binary as it is handed out: for glibc 2.28 and later, on two architectures. Zig links it, because its linker
//! knows the symbols of every glibc.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::command::{self, cargo, program, root, run};
use crate::tools;

/// The oldest glibc that is supported: that of RHEL 8 and Debian 10.
pub const GLIBC: &str = "2.28";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Architecture {
    Amd64,
    Arm64,
}

impl Architecture {
    /// That of this machine.
    pub fn own() -> Architecture {
        if cfg!(target_arch = "aarch64") { Architecture::Arm64 } else { Architecture::Amd64 }
    }

    pub fn is_own(self) -> bool {
        self == Architecture::own()
    }

    /// One of two names: each kind of package has its own.
    pub fn name(self, [amd64, arm64]: [&'static str; 2]) -> &'static str {
        match self {
            Architecture::Amd64 => amd64,
            Architecture::Arm64 => arm64,
        }
    }

    /// What starts a program of this architecture here: the program, or QEMU with the program.
    pub fn program(self, path: &Path) -> Command {
        if self.is_own() {
            return program(path);
        }
        let mut emulator = program(self.name(["qemu-x86_64-static", "qemu-aarch64-static"]));
        emulator.arg("-L").arg(self.libraries()).arg(path);
        emulator
    }

    /// Where Debian has the C library of an architecture that is not this machine's.
    pub fn libraries(self) -> &'static Path {
        Path::new(self.name(["/usr/x86_64-linux-gnu", "/usr/aarch64-linux-gnu"]))
    }

    fn target(self) -> &'static str {
        self.name(["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
    }
}

/// Builds the binary with the profile `dist`, which takes minutes. It knows its commit.
pub fn build(architecture: Architecture) -> Result<PathBuf> {
    let target = architecture.target();
    ensure_target(target)?;
    if !architecture.is_own() {
        tools::emulator(architecture.name(["amd64", "arm64"]))?;
    }
    let zig = tools::python(&root().join("packages/zig/requirements.txt"))?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(zig).chain(env::split_paths(&path)))?;
    let mut build =
        cargo(["zigbuild", "--profile", "dist", "--locked", "--package", "lodestone", "--target"]);
    build.arg(format!("{target}.{GLIBC}")).env("PATH", path).env("LODESTONE_STUDIO", "required");
    let head = program("git").args(["rev-parse", "HEAD"]).output()?;
    if head.status.success() {
        build.env("LODESTONE_COMMIT", String::from_utf8(head.stdout)?.trim());
    }
    run(&mut build)?;
    Ok(command::target_folder()?.join(target).join("dist/lodestone"))
}

/// The compiler has Rust's library for the target.
fn ensure_target(target: &str) -> Result<()> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = program(&compiler).args(["--print", "target-libdir", "--target", target]).output();
    let folder = output.with_context(|| format!("starting {}", compiler.display()))?.stdout;
    let folder = PathBuf::from(String::from_utf8(folder)?.trim());
    ensure!(
        folder.is_dir(),
        "the compiler has no library for {target}: run `rustup target add {target}`, or name in RUSTC a compiler that has \
         it, such as that of Debian's package rustc-web with libstd-rust-web-dev for that architecture"
    );
    Ok(())
}
