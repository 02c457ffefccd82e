//! Programs that chores need in addition to Rust. They are installed on first use: into a cache folder outside the
//! clone, and Debian's packages into the system if the user may do that.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::command::{cargo, program, root, run, succeeds};

/// The folder `lodestone` in the user's cache folder.
pub fn cache() -> Result<PathBuf> {
    let folder = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(folder.join("lodestone"))
}

/// A program from crates.io.
pub fn cargo_tool(name: &str, version: &str) -> Result<PathBuf> {
    let folder = cache()?.join("tools");
    let path = folder.join("bin").join(name);
    if !path.exists() {
        println!("Installing {name} {version}");
        // The tool has a build folder of its own. It runs for seconds, so optimising it would take longer
        // than it saves.
        let mut install =
            cargo(["install", "--quiet", "--locked", "--debug", name, "--version", version, "--root"]);
        run(install.arg(&folder).env_remove("CARGO_TARGET_DIR"))?;
    }
    Ok(path)
}

/// The `bin` folder of a Python environment with the packages of a requirements file.
pub fn python(requirements: &Path) -> Result<PathBuf> {
    let folder = cache()?.join(format!("python-{}", fingerprint(requirements)?));
    let (bin, complete) = (folder.join("bin"), folder.join("complete"));
    if !complete.exists() {
        println!("Installing the Python clients");
        if !succeeds(program("python3").args(["-m", "venv", "--clear"]).arg(&folder)) {
            debian(&["python3-venv"])?;
            run(program("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        }
        run(program(bin.join("pip")).args(["install", "--quiet", "--requirement"]).arg(requirements))?;
        std::fs::write(complete, "")?;
    }
    Ok(bin)
}

/// Installs the packages of a folder's `package-lock.json` beside it.
pub fn node_modules(folder: &Path) -> Result<()> {
    let complete =
        folder.join("node_modules").join(format!(".{}", fingerprint(&folder.join("package-lock.json"))?));
    if !complete.exists() {
        println!("Installing JavaScript packages");
        let npm = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--cache"];
        run(program("npm").args(npm).arg(cache()?.join("npm")).current_dir(folder))?;
        std::fs::write(complete, "")?;
    }
    Ok(())
}

/// PostgreSQL's server programs.
pub fn postgres() -> Result<()> {
    if has_postgres() { Ok(()) } else { debian(&["postgresql-15"]) }
}

fn has_postgres() -> bool {
    Path::new("/usr/lib/postgresql/15/bin/postgres").exists()
}

/// Installs PostgreSQL where that is possible, and says whether it is there. In CI it must be.
pub fn postgres_if_possible() -> Result<bool> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true" || value == "1");
    if has_postgres() {
        return Ok(true);
    }
    match postgres() {
        Ok(()) => Ok(true),
        Err(error) if is_ci => Err(error),
        Err(error) => {
            println!("Without PostgreSQL: {error:#}");
            Ok(false)
        }
    }
}

/// Patroni, and etcd for its elections.
pub fn patroni() -> Result<()> {
    let installed = ["/usr/bin/patroni", "/usr/bin/etcd"].iter().all(|program| Path::new(program).exists());
    if installed { Ok(()) } else { debian(&["patroni", "etcd-server"]) }
}

/// Sets the clock of a program ahead when it is preloaded.
pub const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// Installs [`FAKETIME`].
pub fn faketime() -> Result<()> {
    if Path::new(FAKETIME).exists() { Ok(()) } else { debian(&["libfaketime"]) }
}

/// The editor that the documented setup is tried in.
pub fn neovim() -> Result<()> {
    if Path::new("/usr/bin/nvim").exists() { Ok(()) } else { debian(&["neovim"]) }
}

/// The browser that the studio is looked at with.
pub fn chromium() -> Result<()> {
    if Path::new("/usr/bin/chromium").exists() { Ok(()) } else { debian(&["chromium"]) }
}

/// Go and its SDK, which Debian has as sources. The folder keeps what was built of them.
pub fn go() -> Result<PathBuf> {
    let sdk = "/usr/share/gocode/src/github.com/aws/aws-sdk-go-v2/service/dynamodb";
    let installed = ["/usr/bin/go", sdk].iter().all(|path| Path::new(path).exists());
    if !installed {
        debian(&["golang-go", "golang-github-aws-aws-sdk-go-v2-dev", "golang-github-aws-smithy-go-dev"])?;
    }
    Ok(cache()?.join("go"))
}

/// A package of npm that has the AWS SDK for Java among its files.
const JAVA_SDK: (&str, &str) = ("amplify-dynamodb-simulator", "2.9.30");
/// Where the package has jars.
const JARS_FOLDER: &str = "package/emulator/DynamoDBLocal_lib";
/// The jars of the SDK that a client of DynamoDB needs, and what they need themselves. Nothing else is unpacked.
#[rustfmt::skip]
const JARS: [&str; 27] = [
    "AwsJavaSdk-Core-2.0", "AwsJavaSdk-Core-Annotations-2.0", "AwsJavaSdk-Core-Auth-2.0",
    "AwsJavaSdk-Core-AwsCore-2.0", "AwsJavaSdk-Core-AwsJsonProtocol-2.0", "AwsJavaSdk-Core-Checksums-2.0",
    "AwsJavaSdk-Core-ChecksumsSpi-2.0", "AwsJavaSdk-Core-EndpointsSpi-2.0", "AwsJavaSdk-Core-HttpAuth-2.0",
    "AwsJavaSdk-Core-HttpAuthAws-2.0", "AwsJavaSdk-Core-HttpAuthAwsEventStream-2.0", "AwsJavaSdk-Core-HttpAuthSpi-2.0",
    "AwsJavaSdk-Core-IdentitySpi-2.0", "AwsJavaSdk-Core-JsonUtils-2.0", "AwsJavaSdk-Core-MetricsSpi-2.0",
    "AwsJavaSdk-Core-Profiles-2.0", "AwsJavaSdk-Core-ProtocolCore-2.0", "AwsJavaSdk-Core-Regions-2.0",
    "AwsJavaSdk-Core-Retries-2.0", "AwsJavaSdk-Core-RetriesSpi-2.0", "AwsJavaSdk-Core-Utils-2.0",
    "AwsJavaSdk-DynamoDb-2.0", "AwsJavaSdk-HttpClient-2.0", "AwsJavaSdk-HttpClient-UrlConnectionClient-2.0",
    "aws-sdk-java-third-party-jackson-core-2.28.29", "reactive-streams-1.0.4", "slf4j-api",
];

/// A JDK, and the folder with the jars of the AWS SDK for Java.
pub fn java() -> Result<PathBuf> {
    if !succeeds(program("javac").arg("-version")) {
        debian(&["default-jdk-headless"])?;
    }
    let (package, version) = JAVA_SDK;
    let folder = cache()?.join(format!("java-sdk-{version}"));
    let complete = folder.join("complete");
    if !complete.exists() {
        println!("Installing the AWS SDK for Java");
        std::fs::create_dir_all(&folder)?;
        run(npm(&["pack", "--silent"])?.arg(format!("{package}@{version}")).current_dir(&folder))?;
        let archive = format!("{package}-{version}.tgz");
        let jars = JARS.map(|jar| format!("{JARS_FOLDER}/{jar}.jar"));
        let mut unpack = program("tar");
        unpack.args(["-xzf", &archive, "--strip-components=3"]).args(jars);
        run(unpack.current_dir(&folder))?;
        std::fs::remove_file(folder.join(archive))?;
        std::fs::write(complete, "")?;
    }
    Ok(folder)
}

pub fn npm(arguments: &[&str]) -> Result<std::process::Command> {
    let mut npm = program("npm");
    npm.args(arguments).args(["--loglevel=error", "--cache"]).arg(cache()?.join("npm"));
    Ok(npm)
}

/// Buildah, podman, and runc, which runs containers also where control groups are mounted in both versions.
pub fn containers() -> Result<()> {
    let installed = ["/usr/bin/buildah", "/usr/bin/podman", "/usr/sbin/runc"];
    let is_installed = installed.iter().all(|program| Path::new(program).exists());
    if is_installed { Ok(()) } else { debian(&["buildah", "podman", "runc"]) }
}

/// What runs programs of another architecture, with its C library and binary tools. It is called as in Debian.
pub fn emulator(architecture: &str) -> Result<()> {
    let (gnu, plain) = match architecture {
        "arm64" => ("aarch64-linux-gnu", "aarch64"),
        _ => ("x86-64-linux-gnu", "x86_64"),
    };
    let packages = ["qemu-user-static".to_owned(), format!("libc6-{architecture}-cross")];
    let more = [format!("libgcc-s1-{architecture}-cross"), format!("binutils-{gnu}")];
    let packages: Vec<&str> = packages.iter().chain(&more).map(String::as_str).collect();
    let is_installed = Path::new(&format!("/usr/bin/qemu-{plain}-static")).exists()
        && Path::new(&format!("/usr/{plain}-linux-gnu/lib")).exists()
        && Path::new(&format!("/usr/bin/{plain}-linux-gnu-strip")).exists();
    if is_installed { Ok(()) } else { debian(&packages) }
}

/// What makes the user of a package and judges its unit. Nothing of it has to run.
pub fn systemd() -> Result<()> {
    let installed = ["/usr/bin/systemd-sysusers", "/usr/bin/systemd-analyze"];
    let is_installed = installed.iter().all(|program| Path::new(program).exists());
    if is_installed { Ok(()) } else { debian(&["systemd"]) }
}

/// What builds packages for Fedora and its relatives.
pub fn rpm() -> Result<()> {
    if Path::new("/usr/bin/rpmbuild").exists() { Ok(()) } else { debian(&["rpm"]) }
}

/// The C++ compiler that builds libFuzzer.
pub fn cxx_compiler() -> Result<()> {
    if succeeds(program("c++").arg("--version")) { Ok(()) } else { debian(&["g++"]) }
}

pub fn debian(packages: &[&str]) -> Result<()> {
    println!("Installing {}", packages.join(", "));
    let apt = |arguments: &[&str]| {
        // Another installation may be under way.
        let quiet = ["-qq", "-y", "-o", "DPkg::Lock::Timeout=300"];
        run(program("apt-get").args(quiet).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let installed =
        apt(&["update"]).and_then(|()| apt(&[&["install", "--no-install-recommends"], packages].concat()));
    installed.with_context(|| format!("install these yourself, then try again: {}", packages.join(" ")))
}

fn fingerprint(file: &Path) -> Result<String> {
    ensure!(file.exists(), "{} is missing", file.strip_prefix(root()).unwrap_or(file).display());
    let mut hasher = DefaultHasher::new();
    std::fs::read(file)?.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}
