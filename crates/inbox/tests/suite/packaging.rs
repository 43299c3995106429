//! What is shipped: the Debian package and the image of a container, made of this very build and tried.
//!
//! The binary of the tests is linked once more, statically, of the crates that are compiled already: a release would take
//! minutes. `make deb` and `make image` take the same scripts and the release.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use inbox_testkit::sandbox::TempDir;
use serde_json::Value;

use crate::cli::manual::named_pages;
use crate::packages::{lock, run};
use crate::{INBOX, root};

/// The binary, linked so that it needs nothing of the system.
fn alone() -> &'static Path {
    static ALONE: OnceLock<PathBuf> = OnceLock::new();
    ALONE.get_or_init(|| {
        let debug = Path::new(INBOX).parent().expect("it is in a folder");
        let made = debug.with_file_name("package-tests").join("inbox");
        let _alone = lock(&made);
        std::fs::create_dir_all(made.parent().expect("it is in a folder")).expect("a folder");
        let deps = debug.join("deps");
        let mut candidates: Vec<_> = std::fs::read_dir(&deps)
            .expect("the crates are compiled")
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_library = path.extension().is_some_and(|kind| kind == "rlib");
                name.starts_with("libinbox_surfaces-") && is_library
            })
            .collect();
        // The newest is of this source; others may be of other features, and their parts gone.
        candidates.sort_by_key(|path| {
            let time = path.metadata().and_then(|found| found.modified());
            std::cmp::Reverse(time.expect("a time"))
        });
        let newest = candidates.first().expect("surfaces is compiled");
        let mut rustc = Command::new("rustc");
        rustc
            .args([
                "--edition",
                "2024",
                "--crate-name",
                "inbox",
                "--crate-type",
                "bin",
            ])
            .args([
                "-C",
                "target-feature=+crt-static",
                "-C",
                "strip=symbols",
                "-A",
                "warnings",
            ])
            .arg("--extern")
            .arg(format!("inbox_surfaces={}", newest.display()))
            .arg("-L")
            .arg(format!("dependency={}", deps.display()))
            .arg("-o")
            .arg(&made)
            .arg(root().join("crates/inbox/src/main.rs"))
            .env("CARGO_PKG_VERSION", env!("CARGO_PKG_VERSION"));
        run(&mut rustc);
        made
    })
}

/// What every package has for shells, and a part of each.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash-completion/completions/inbox", "wait-reply"),
    ("zsh/vendor-completions/_inbox", "#compdef inbox"),
    ("fish/vendor_completions.d/inbox.fish", "complete -c inbox"),
];

/// Makes a package of the binary; what the script says is where it is.
fn package(binary: &Path, out: &Path, what: &str) -> PathBuf {
    let mut script = Command::new(root().join("scripts/package"));
    script.arg(binary).arg(out).arg(what);
    PathBuf::from(run(script.env("PACKAGE_QUICKLY", "1")).trim())
}

/// Where dpkg believes to be at home.
fn dpkg(home: &Path) -> Command {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", home.display()))
        .arg("--log=/dev/null")
        .stdin(Stdio::null());
    dpkg
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_debian_package_is_installed_plays_the_story_and_is_gone_without_a_trace() {
    let out = TempDir::in_memory();
    let deb = package(alone(), out.path(), "deb");
    let version = env!("CARGO_PKG_VERSION");
    let field = |name: &str| run(Command::new("dpkg-deb").arg("-f").arg(&deb).arg(name));
    assert_eq!(field("Package").trim(), "inbox");
    assert_eq!(field("Version").trim(), version);
    assert_eq!(field("Depends").trim(), "", "it needs nothing");
    let linkage = run(Command::new(root().join("scripts/linkage")).arg(alone()));
    assert_eq!(
        linkage.trim(),
        format!("static {}", field("Architecture").trim())
    );
    // A name, and behind it an address, as Debian's policy asks.
    let keeper = field("Maintainer");
    assert!(
        keeper.contains(" <") && keeper.trim().ends_with('>') && keeper.contains('@'),
        "{keeper}"
    );

    let home = TempDir::in_memory();
    let books = home.path().join("var/lib/dpkg");
    std::fs::create_dir_all(books.join("updates")).unwrap();
    std::fs::create_dir_all(books.join("info")).unwrap();
    std::fs::write(books.join("status"), "").unwrap();
    run(dpkg(home.path()).arg("-i").arg(&deb));
    let usr = home.path().join("usr");
    let installed = usr.join("bin/inbox");
    let mut story = Command::new(root().join("scripts/story"));
    run(story.env("INBOX_BINARY", &installed));

    for (file, part) in COMPLETIONS.into_iter().chain([
        ("doc/inbox/copyright", "Permission is hereby granted"),
        ("doc/inbox/copyright", "/usr/share/common-licenses/LGPL-2.1"),
        ("doc/inbox/copyright", "make release"),
        ("doc/inbox/inbox.cdx.json", "\"pkg:generic/glibc@"),
        ("doc/inbox/inbox.cdx.json", "\"pkg:generic/libgcc@"),
        ("doc/inbox/LICENSE-APACHE", "Apache License"),
        ("doc/inbox/README.md", "durable inbox"),
        ("doc/inbox/docs/guide/first-thread.md", "inbox claim"),
        ("doc/inbox/definitions/inbox.example.toml", "[guard]"),
    ]) {
        let text = String::from_utf8(read(&usr.join("share").join(file))).expect("text");
        assert!(text.contains(part), "{file} lacks {part}");
    }
    let unpacked = |file: &str| {
        let path = usr.join("share/doc/inbox").join(file);
        run(Command::new("gzip").arg("-dc").arg(path))
    };
    assert!(unpacked("changelog.gz").contains("# Changelog"));
    let notices = unpacked("THIRD-PARTY-NOTICES.gz");
    for part in [
        "GNU C Library is linked",
        "`make release`",
        "Runtime Library Exception",
        "GNU LESSER GENERAL PUBLIC LICENSE",
    ] {
        assert!(notices.contains(part), "{part}");
    }
    // Whatever page another one names is there to be read.
    let pages: Vec<String> = std::fs::read_dir(usr.join("share/man/man1"))
        .expect("the pages are there")
        .map(|page| page.expect("a page").path())
        .map(|page| run(Command::new("gzip").arg("-dc").arg(page)))
        .collect();
    let mut named = 0;
    for page in &pages {
        for name in named_pages(page) {
            let file = usr.join(format!("share/man/man1/{name}.1.gz"));
            assert!(file.exists(), "there is no page of {name}");
            named += 1;
        }
    }
    assert!(
        named > pages.len(),
        "{named} names in {} pages",
        pages.len()
    );

    run(dpkg(home.path()).args(["--purge", "inbox"]));
    assert!(!installed.exists());
    assert!(!usr.join("share/doc/inbox").exists());
}

#[test]
fn the_same_binary_gives_the_same_package_and_files_that_nobody_but_root_changes() {
    let (one, other) = (TempDir::in_memory(), TempDir::in_memory());
    let (first, second) = (
        package(alone(), one.path(), "deb"),
        package(alone(), other.path(), "deb"),
    );
    assert!(read(&first) == read(&second), "the packages differ");
    let listed = run(Command::new("dpkg-deb").arg("-c").arg(&first));
    for line in listed.lines() {
        let is_program = line.ends_with("./usr/bin/inbox");
        let is_folder = line.starts_with('d');
        let mode = if is_program || is_folder {
            "rwxr-xr-x"
        } else {
            "rw-r--r--"
        };
        assert!(line[1..].starts_with(mode), "{line}");
        assert!(line.contains(" root/root "), "{line}");
    }
}

#[test]
fn the_bill_of_materials_has_every_package_of_the_lock_that_is_linked() {
    let out = TempDir::in_memory();
    let (bom, notices) = (out.path().join("bom.json"), out.path().join("notices"));
    let mut script = Command::new(root().join("scripts/sbom"));
    run(script.arg(INBOX).arg(&bom).arg(&notices));
    let bom: Value = serde_json::from_slice(&read(&bom)).unwrap();
    assert_eq!(bom["bomFormat"], "CycloneDX");
    let components = bom["components"].as_array().unwrap();
    let lock = String::from_utf8(read(&root().join("Cargo.lock"))).unwrap();
    let mut with_hash = 0;
    for part in components {
        let (name, version) = (
            part["name"].as_str().unwrap(),
            part["version"].as_str().unwrap(),
        );
        assert!(part["licenses"].is_array(), "{name} has no licence");
        if part["purl"].as_str().unwrap().starts_with("pkg:cargo/") {
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&entry), "{name} {version} is not in the lock");
        }
        if let Some(hash) = part["hashes"][0]["content"].as_str() {
            assert!(lock.contains(hash), "{name}");
            with_hash += 1;
        }
    }
    let named = |name: &str| components.iter().find(|part| part["name"] == name);
    assert_eq!(
        named("sqlite").expect("SQLite is in it")["version"],
        inbox_store::sqlite_version()
    );
    for name in ["rustls", "ring", "rusqlite", "hyper", "inbox-core", "clap"] {
        assert!(named(name).is_some(), "{name} is missing");
    }
    let rustc = run(Command::new("rustc").arg("-vV"));
    let std = named("rust-std").expect("Rust's own library is in it");
    assert!(
        rustc.contains(&format!("release: {}\n", std["version"].as_str().unwrap())),
        "{std}"
    );
    assert!(named("glibc").is_none(), "this one takes the system's");
    for name in ["proptest", "jsonschema", "tiktoken-rs", "inbox-testkit"] {
        assert!(named(name).is_none(), "{name} is of the tests");
    }
    assert!(with_hash > 150, "{with_hash}");
    let depends = bom["dependencies"].as_array().unwrap();
    assert_eq!(depends.len(), components.len() + 1);
    let notices = String::from_utf8(read(&notices)).unwrap();
    assert!(notices.contains("rustls ") && notices.contains("WITHOUT WARRANTY OF ANY KIND"));
    // Also what stands deeper in a package, and what a package only names.
    for part in ["fiat-crypto authors", "As alloc-no-stdlib gives it"] {
        assert!(notices.contains(part), "{part}");
    }
    let machine = [
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!(".car", "go/"),
    ];
    assert!(!machine.iter().any(|place| notices.contains(place)));
}

/// Runs the image's program in the image's file system, with nothing else but the devices that whatever runs images mounts there, and as
/// a user without any right outside.
fn within(image: &Path, args: &[&str], variables: &[(&str, &str)]) -> Command {
    let enter = r#"mount --rbind /dev "$0/dev" && exec chroot "$0" /usr/bin/inbox "$@""#;
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "--net", "sh", "-c", enter])
        .arg(image.join("root"))
        .args(args)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/data")
        .env("INBOX_DB", "/data/coord.db")
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command
}

#[test]
fn the_image_needs_nothing_and_keeps_its_store_in_the_volume() {
    let out = TempDir::in_memory();
    let image = package(alone(), out.path(), "image");
    let share = image.join("root/usr/share");
    for (file, part) in COMPLETIONS {
        let text = String::from_utf8(read(&share.join(file))).expect("text");
        assert!(text.contains(part), "{file} lacks {part}");
    }
    assert!(share.join("man/man1/inbox-wait-reply.1.gz").exists());
    std::fs::create_dir(image.join("root/dev")).unwrap();
    run(&mut within(&image, &["init"], &[]));
    let send = [
        "send",
        "--from",
        "lead",
        "--to",
        "backend",
        "--subject",
        "Hello",
    ];
    run(&mut within(&image, &send, &[]));
    let listed = run(&mut within(&image, &["list", "--json"], &[]));
    assert!(listed.contains("Hello"), "{listed}");
    run(&mut within(&image, &["doctor"], &[]));
    assert!(image.join("root/data/coord.db").exists());
    // Names are looked up by what is linked in, and whom the system trusts is in the image.
    std::fs::write(image.join("root/etc/hosts"), "127.0.0.1 db.example\n").unwrap();
    let db = ("INBOX_DB", "postgres://ada@db.example:9/x?sslmode=disable");
    let away = within(&image, &["list", "--json"], &[db]).output().unwrap();
    let told = String::from_utf8_lossy(&away.stdout).into_owned();
    assert_eq!(away.status.code(), Some(50), "{told}");
    assert!(
        told.contains("efused") || told.contains("unreachable"),
        "the name is not found: {told}"
    );
    assert!(
        image
            .join("root/etc/ssl/certs/ca-certificates.crt")
            .exists()
    );

    let recipe = String::from_utf8(read(&image.join("Containerfile"))).unwrap();
    for line in recipe.lines().filter(|line| line.starts_with("COPY ")) {
        let from = line.split_whitespace().rev().nth(1).unwrap();
        assert!(image.join(from).exists(), "{line}");
    }
    for line in [
        "FROM scratch",
        "USER 65532:65532",
        "VOLUME /data",
        "ENTRYPOINT [\"/usr/bin/inbox\"]",
    ] {
        assert!(recipe.lines().any(|found| found == line), "{line}");
    }
}

#[test]
fn the_image_is_built_of_its_containerfile_and_runs_as_its_own_user() {
    let out = TempDir::new();
    let image = package(alone(), out.path(), "image");
    let buildah = |args: &[&str]| {
        let mut buildah = Command::new("buildah");
        // Its store is the test's own, and nothing of a kernel's is needed but a folder.
        for (flag, folder) in [("--root", "images"), ("--runroot", "running")] {
            buildah.arg(flag).arg(out.path().join(folder));
        }
        buildah.args(["--storage-driver", "vfs"]).args(args);
        run(buildah.stdin(Stdio::null()))
    };
    let recipe = image.display().to_string();
    buildah(&["build", "--isolation", "chroot", "--tag", "inbox", &recipe]);
    let facts: Value =
        serde_json::from_str(&buildah(&["inspect", "--type", "image", "inbox"])).unwrap();
    let config = &facts["OCIv1"]["config"];
    assert_eq!(config["Entrypoint"][0], "/usr/bin/inbox");
    assert_eq!(config["User"], "65532:65532");
    let labels = &config["Labels"];
    assert_eq!(labels["org.opencontainers.image.title"], "inbox");
    assert_eq!(
        labels["org.opencontainers.image.licenses"],
        "MIT OR Apache-2.0"
    );
    assert_eq!(
        labels["org.opencontainers.image.version"],
        env!("CARGO_PKG_VERSION")
    );
    assert!(config["ExposedPorts"]["4380/tcp"].is_object(), "{config}");
    let container = buildah(&["from", "localhost/inbox"]);
    let within = |args: &[&str]| {
        let start = [
            "run",
            "--isolation",
            "chroot",
            container.trim(),
            "--",
            "/usr/bin/inbox",
        ];
        buildah(&[&start, args].concat())
    };
    within(&["init"]);
    within(&[
        "send",
        "--from",
        "lead",
        "--to",
        "backend",
        "--subject",
        "Hello",
    ]);
    let listed = within(&["list", "--json"]);
    assert!(listed.contains("Hello"), "{listed}");
    within(&["doctor"]);
    buildah(&["rm", "--all"]);
    buildah(&["rmi", "--all"]);
}

#[test]
fn a_binary_that_needs_a_systems_libraries_is_not_shipped() {
    for what in ["deb", "image"] {
        let out = TempDir::in_memory();
        let mut script = Command::new(root().join("scripts/package"));
        script.arg(INBOX).arg(out.path()).arg(what);
        let refused = script.output().unwrap();
        assert!(!refused.status.success(), "{what}");
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(told.contains("make release"), "{told}");
        let made = std::fs::read_dir(out.path()).unwrap().count();
        assert_eq!(made, 0, "{what}");
    }
}

#[test]
fn a_binary_of_which_nobody_can_say_how_it_is_linked_is_not_shipped() {
    let (out, tools) = (TempDir::in_memory(), TempDir::in_memory());
    // All that the script needs up to there, but what reads the binary's headers.
    for tool in ["bash", "env", "realpath", "mkdir", "dirname", "git", "cut"] {
        let found = run(Command::new("sh").args(["-c", &format!("command -v {tool}")]));
        std::os::unix::fs::symlink(found.trim(), tools.path().join(tool)).unwrap();
    }
    let mut script = Command::new(tools.path().join("bash"));
    script.arg(root().join("scripts/package")).arg(alone());
    let refused = script
        .arg(out.path())
        .arg("image")
        .env("PATH", tools.path())
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("python3"), "{told}");
    assert!(!out.path().join("image").exists());
}
