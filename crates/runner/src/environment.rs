//! What a command finds around it: an environment by an allow-list, and a folder inside the roots.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use inbox_core::Refusal;
use inbox_core::text::visible;

/// Whether a variable is on the list; a star at the end stands for any ending.
fn is_listed(list: &[String], name: &str) -> bool {
    list.iter().any(|listed| match listed.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => listed == name,
    })
}

/// The variables of this process that are on the list. Our own are given by name, whatever the list says.
pub(crate) fn allowed(
    list: &[String],
    all: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(String, String)> {
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_listed(list, name) && !name.starts_with("INBOX_"))
        .collect()
}

/// The folder that a brief asks for, if it is inside one of the roots or is `here`.
pub(crate) fn folder(wanted: &str, roots: &[PathBuf], here: &Path) -> Result<PathBuf, Refusal> {
    let refused = |problem: String| {
        Refusal::input(format!(
            "the brief's worktree_path {wanted:?} cannot be worked in: {problem}"
        ))
        .hint("inbox config shows run.roots, the folders in which a brief may ask to work")
    };
    if !Path::new(wanted).is_absolute() {
        return Err(refused("it is not an absolute path".to_owned()));
    }
    // As it is on the disk: neither `..` nor a link leads out of a root.
    let found = std::fs::canonicalize(wanted).map_err(|error| refused(error.to_string()))?;
    if !found.is_dir() {
        return Err(refused("it is not a folder".to_owned()));
    }
    let is_here = std::fs::canonicalize(here).is_ok_and(|here| here == found);
    let is_inside = roots
        .iter()
        .filter_map(|root| std::fs::canonicalize(root).ok())
        .any(|root| found.starts_with(root));
    if is_inside || is_here {
        return Ok(found);
    }
    Err(refused(
        "it is inside none of the folders in run.roots".to_owned(),
    ))
}

/// A git worktree for a thread, of the repository that `folder` is in, on a branch of the thread's name. One that is there
/// already is gone on with: somebody before may have died in it.
pub(crate) fn worktree(folder: &Path, below: &Path, thread: &str) -> Result<PathBuf, Refusal> {
    let place = below.join(thread);
    if !place.join(".git").exists() {
        std::fs::create_dir_all(below).map_err(|error| no_worktree(thread, &error))?;
        let branch = format!("inbox/{thread}");
        let made = git(folder, &["worktree", "add", "-b", &branch], &place);
        // The branch may be there without its folder.
        if let Err(refusal) = made {
            git(folder, &["worktree", "prune"], Path::new("--verbose"))?;
            let args = ["worktree", "add", "--force"];
            git_to(folder, &args, &place, Some(&branch)).map_err(|_| refusal)?;
        }
    }
    std::fs::canonicalize(&place).map_err(|error| no_worktree(thread, &error))
}

fn no_worktree(thread: &str, problem: &dyn std::fmt::Display) -> Refusal {
    Refusal::input(format!("there can be no worktree for {thread}: {problem}"))
        .hint("inbox config shows run.worktrees; inbox run is started inside the repository")
}

fn git(folder: &Path, args: &[&str], last: &Path) -> Result<(), Refusal> {
    git_to(folder, args, last, None)
}

fn git_to(folder: &Path, args: &[&str], last: &Path, branch: Option<&str>) -> Result<(), Refusal> {
    // What a repository runs by itself, such as a hook, is anybody's.
    let ran = inbox_ops::without_secrets(&mut Command::new("git"))
        .arg("-C")
        .arg(folder)
        .args(args)
        .arg(last)
        .args(branch)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| no_worktree("a thread", &error))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = said.lines().last().unwrap_or_default();
    Err(no_worktree("a thread", &visible(said, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_handed_on() {
        let list = ["PATH".to_owned(), "LC_*".to_owned(), "INBOX_*".to_owned()];
        let all = [
            ("PATH", "/bin"),
            ("PATHS", "x"),
            ("LC_ALL", "C"),
            ("SECRET", "x"),
            ("INBOX_TOKEN", "x"),
        ];
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let names: Vec<_> = allowed(&list, all.into_iter())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["PATH", "LC_ALL"]);
    }

    #[test]
    fn a_brief_works_only_inside_the_roots() {
        let base = std::env::temp_dir().join(format!("inbox-roots-{}", std::process::id()));
        let (root, outside) = (base.join("root"), base.join("outside"));
        std::fs::create_dir_all(root.join("api")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("leads-out")).unwrap();
        std::os::unix::fs::symlink(root.join("api"), outside.join("leads-in")).unwrap();
        let roots = [root.clone()];
        let at = |path: &Path| folder(&path.display().to_string(), &roots, &base);
        assert!(at(&root.join("api")).is_ok());
        assert!(at(&outside.join("leads-in")).unwrap().ends_with("api"));
        assert!(at(&base).is_ok(), "where the runner is itself");
        for wrong in [
            root.join("leads-out"),
            root.join("../outside"),
            root.join("file"),
            root.join("missing"),
            outside.clone(),
            PathBuf::from("/"),
            base.join("root-not"),
        ] {
            assert!(at(&wrong).is_err(), "{}", wrong.display());
        }
        for wrong in ["", "root/api", "$(pwd)", "/x\0y", "~/x"] {
            assert!(folder(wrong, &roots, &base).is_err(), "{wrong:?}");
        }
        std::fs::remove_dir_all(base).unwrap();
    }
}
