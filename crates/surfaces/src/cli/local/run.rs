//! `run`: makes a command a worker of an agent.

mod far_line;
mod told;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{Code, Refusal};
use inbox_ops::{Caller, Config, Fetch, Prompt};
use inbox_runner::{Line, Plan, Stop, Tally};
use inbox_store::Location;
use serde_json::json;

use self::far_line::FarLine;
use self::told::Told;
use crate::cli::{Context, Ended, config, far, find, operation};

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Run a command as a worker: it takes work, keeps its lease and checks its result")
        .long_about(
            "Run a command as a worker: it takes work, keeps its lease and checks its result\n\nFor each thread that it claims, the command is started with the agent's prompt on standard input; {prompt_file} and {prompt} among its arguments stand for a file with the prompt and for the prompt itself. What it prints is the result, which must meet the contract of the brief. SIGTERM lets what runs finish; a second one ends it.",
        )
        .arg(
            Arg::new("role")
                .long("role")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Hold this role, and take its work; repeat for several"),
        )
        .arg(
            Arg::new("tag")
                .long("tag")
                .value_name("TAG")
                .action(ArgAction::Append)
                .help("Have this tag, such as project:NAME, and take its work; repeat for several"),
        )
        .arg(
            Arg::new("run")
                .long("run")
                .value_name("RUN")
                .help("Take only work with this run"),
        )
        .arg(
            Arg::new("task")
                .long("task")
                .value_name("TASK")
                .help("Take only work with this task"),
        )
        .arg(
            Arg::new("concurrency")
                .long("concurrency")
                .value_name("N")
                .default_value("1")
                .value_parser(super::whole::<u16>(1, 256))
                .help("Run so many commands at once"),
        )
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("Wait for one thread, and end with it"),
        )
        .arg(
            Arg::new("drain")
                .long("drain")
                .action(ArgAction::SetTrue)
                .conflicts_with("once")
                .help("Do what there is to do, and end; exit status 10 when there was nothing"),
        )
        .arg(
            Arg::new("preset")
                .long("preset")
                .value_name("NAME")
                .help("Run a known client: claude, codex, gemini, opencode, the same with -acp, or one of run.presets"),
        )
        .arg(
            Arg::new("show_prompt")
                .long("show-prompt")
                .action(ArgAction::SetTrue)
                .help("Print what would be sent for the next thread, and take nothing"),
        )
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(1..)
                .last(true)
                .required_unless_present_any(["show_prompt", "preset"])
                .help("The command and its arguments, after two dashes; no shell reads them. With a preset, further arguments for it"),
        )
}

/// Runs as the guardian of a command, if the arguments say so.
pub(crate) fn guardian(argv: &[OsString]) -> Option<ExitCode> {
    let args: Option<Vec<String>> = argv
        .iter()
        .skip(1)
        .map(|arg| arg.to_str().map(str::to_owned))
        .collect();
    inbox_runner::guardian::called(&args?)
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    // A runner is a session of its own, whatever session its shell is in.
    let caller = Caller {
        session: matches
            .get_one::<String>("session")
            .map(|session| session.parse())
            .transpose()?,
        ..Caller::local(context.agent.clone())
    };
    match find::server(context.db.as_deref()) {
        Some(url) => {
            let config = config::load_here(None)?;
            let (secret, authority) = (far::secret()?, far::authority()?);
            let mut env = vec![("INBOX_DB".to_owned(), url.clone())];
            for name in ["INBOX_TOKEN", "INBOX_TOKEN_FILE", "INBOX_CA_FILE"] {
                env.extend(find::variable(name).map(|value| (name.to_owned(), value)));
            }
            let open = move || FarLine::new(&url, &secret, authority.as_deref());
            go(matches, context, config, caller, env, Box::new(open))
        }
        None => {
            caller.agent()?;
            let location = find::store(context.db.as_deref())?;
            let config = config::load(&location)?;
            let place = match &location {
                Location::File(path) => absolute(path)?,
                Location::Postgres(_) => find::variable("INBOX_DB")
                    .filter(|_| context.db.is_none())
                    .or_else(|| context.db.clone())
                    .unwrap_or_default(),
            };
            let env = vec![("INBOX_DB".to_owned(), place)];
            let open = move || operation::open_at(&location);
            go(matches, context, config, caller, env, Box::new(open))
        }
    }
}

fn go<L: Line>(
    matches: &ArgMatches,
    context: &Context,
    config: Config,
    caller: Caller,
    env: Vec<(String, String)>,
    open: Box<dyn Fn() -> Result<L, Refusal> + Send + Sync>,
) -> Result<Ended, Refusal> {
    let plan = plan(matches, &config, env)?;
    if matches.get_flag("show_prompt") {
        return show_prompt(&open()?, &plan, &caller, context);
    }
    let stop = Arc::new(Stop::default());
    stop_when_told(Arc::clone(&stop))?;
    let told = Told::new(context.printer);
    let ends = plan.once || plan.drain;
    let tell = Box::new(move |news| told.tell(&news));
    let tally = inbox_runner::run(open, config, plan, caller, stop, tell)?;
    context.printer.in_place("");
    if ends && context.printer.is_json() {
        let Tally {
            done,
            failed,
            other,
        } = tally;
        let body = json!({ "done": done, "failed": failed, "other": other });
        context.printer.object("run", true, &body)?;
    }
    Ok(if ends && tally == Tally::default() {
        Ended::Nothing
    } else {
        Ended::Something
    })
}

/// What is run here, checked before anything is claimed.
fn plan(
    matches: &ArgMatches,
    config: &Config,
    env: Vec<(String, String)>,
) -> Result<Plan, Refusal> {
    let several = |id: &str| -> Vec<String> {
        let found = matches.get_many::<String>(id);
        found
            .map(|words| words.cloned().collect())
            .unwrap_or_default()
    };
    let label = |id: &str| matches.get_one::<String>(id).map(|text| text.parse());
    let named = matches.get_one::<String>("preset");
    let preset = named
        .map(|name| inbox_runner::preset(config, name))
        .transpose()?;
    let (mut argv, mut resume) = match &preset {
        Some(preset) => (preset.command.clone(), preset.resume.clone()),
        None => (Vec::new(), Vec::new()),
    };
    argv.extend(several("command"));
    if !resume.is_empty() {
        resume.extend(several("command"));
    }
    for argv in [&mut argv, &mut resume] {
        if let Some(program) = argv.first_mut() {
            *program = program_at(program)?;
        }
    }
    if let Some(evaluator) = config.run.evaluator.first() {
        program_at(evaluator)?;
    }
    let guardian = std::env::current_exe()
        .map_err(|error| Refusal::new(Code::Internal, format!("where is this program? {error}")))?;
    Ok(Plan {
        argv,
        resume,
        preset,
        guardian,
        folder: here()?,
        env,
        role: several("role"),
        tag: several("tag"),
        run: label("run").transpose()?,
        task: label("task").transpose()?,
        concurrency: matches
            .get_one::<u16>("concurrency")
            .map_or(1, |n| usize::from(*n)),
        once: matches.get_flag("once"),
        drain: matches.get_flag("drain"),
    })
}

fn here() -> Result<PathBuf, Refusal> {
    std::env::current_dir().map_err(|error| {
        Refusal::input(format!("this folder cannot be worked in: {error}"))
            .hint("cd into a folder that is there")
    })
}

fn absolute(path: &Path) -> Result<String, Refusal> {
    let path = std::path::absolute(path).map_err(|error| Refusal::input(error.to_string()))?;
    Ok(path.display().to_string())
}

/// Where a program is: at its path, or on the search path.
fn program_at(name: &str) -> Result<String, Refusal> {
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let found = if name.contains('/') {
        Some(here()?.join(name)).filter(is_program)
    } else {
        let path = find::variable("PATH").unwrap_or_default();
        let mut folders = std::env::split_paths(&path).map(|folder| folder.join(name));
        folders.find(is_program)
    };
    let found = found.ok_or_else(|| {
        Refusal::input(format!("there is no program {name:?} to run"))
            .hint("inbox run --agent NAME -- /PATH/TO/PROGRAM names it by its path")
    })?;
    absolute(&found)
}

fn show_prompt<L: Line>(
    line: &L,
    plan: &Plan,
    caller: &Caller,
    context: &Context,
) -> Result<Ended, Refusal> {
    let fetch = Fetch {
        limit: Some(1),
        run: plan.run.clone(),
        task: plan.task.clone(),
        ..Fetch::default()
    };
    let found = line.call(&fetch, caller)?;
    let Some(thread) = found.threads.first() else {
        return context.printer.answer("run", &found);
    };
    let prompt = Prompt {
        thread: Some(thread.thread_id),
    };
    let prompted = line.call(&prompt, caller)?;
    context.printer.answer("run", &prompted)
}

/// Lets what runs finish when this process is told to end, and ends it when it is told again.
fn stop_when_told(stop: Arc<Stop>) -> Result<(), Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))?;
    std::thread::spawn(move || {
        while runtime.block_on(crate::http::signalled()).is_ok() {
            stop.ask();
        }
    });
    Ok(())
}
