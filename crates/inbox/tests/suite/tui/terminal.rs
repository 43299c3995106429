//! A terminal: what a program draws on it, and a person who types.

use std::fs::OpenOptions;
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use inbox_testkit::sandbox::Sandbox;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// How long something may take that must come.
const PATIENCE: Duration = Duration::from_mins(1);

/// What has been drawn.
struct Drawn {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    is_over: bool,
}

/// A terminal with `inbox` in it.
pub(crate) struct Terminal {
    child: Child,
    master: Arc<OwnedFd>,
    /// Held, so that the terminal outlives the program.
    slave: OwnedFd,
    before: Termios,
    drawn: Arc<(Mutex<Drawn>, Condvar)>,
    status: Option<i32>,
}

fn size(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a size")
}

fn window((columns, rows): (u16, u16)) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

impl Terminal {
    /// Starts `inbox` with these words in a terminal of its own, of so many columns and rows.
    #[track_caller]
    pub(crate) fn open(desk: &Sandbox, words: &str, columns_rows: (u16, u16)) -> Self {
        Terminal::around(&desk.command(words.split_whitespace()), columns_rows)
    }

    /// Starts a command in a terminal of its own.
    #[track_caller]
    pub(crate) fn around(wanted: &Command, columns_rows: (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("its name");
        tcsetwinsize(&master, window(columns_rows)).expect("a size");
        let slave: OwnedFd = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(rustix::fs::OFlags::NOCTTY.bits().cast_signed())
            .open(name.to_str().expect("a path"))
            .expect("the terminal opens")
            .into();
        let before = tcgetattr(&slave).expect("its modes");
        // The program leads a session, and the terminal is the session's: as in a window.
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(wanted.get_program())
            .args(wanted.get_args())
            .env_clear()
            .env("TERM", "xterm-256color")
            .envs(
                wanted
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(wanted.get_current_dir().expect("a folder"))
            .stdin(slave.try_clone().expect("a copy"))
            .stdout(slave.try_clone().expect("a copy"))
            .stderr(slave.try_clone().expect("a copy"));
        let child = command.spawn().expect("setsid starts");
        let (columns, rows) = columns_rows;
        let drawn = Drawn {
            parser: vt100::Parser::new(size(rows), size(columns), 0),
            bytes: Vec::new(),
            is_over: false,
        };
        let drawn = Arc::new((Mutex::new(drawn), Condvar::new()));
        let master = Arc::new(master);
        let (reads, tells) = (Arc::clone(&master), Arc::clone(&drawn));
        std::thread::spawn(move || {
            let mut bytes = vec![0; 65536];
            loop {
                let count = match rustix::io::read(&*reads, &mut bytes) {
                    Ok(count) if count > 0 => count,
                    Err(rustix::io::Errno::INTR) => continue,
                    _ => 0,
                };
                let (drawn, changed) = &*tells;
                let mut drawn = drawn.lock().expect("nobody panics with it");
                drawn.bytes.extend_from_slice(&bytes[..count]);
                drawn.parser.process(&bytes[..count]);
                drawn.is_over = count == 0;
                changed.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Terminal {
            child,
            master,
            slave,
            before,
            drawn,
            status: None,
        }
    }

    /// Waits until the screen is like that.
    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&Drawn) -> bool) {
        let (drawn, changed) = &*self.drawn;
        let drawn = drawn.lock().expect("nobody panics with it");
        let (drawn, late) = changed
            .wait_timeout_while(drawn, PATIENCE, |drawn| !is_so(drawn))
            .expect("nobody panics with it");
        let text = drawn.parser.screen().contents();
        drop(drawn);
        assert!(!late.timed_out(), "no {what} on\n{text}");
    }

    /// Waits until this text is on the screen.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) {
        self.until(&format!("{text:?}"), |drawn| {
            drawn.parser.screen().contents().contains(text)
        });
    }

    /// Waits until this text is on the screen so many times.
    #[track_caller]
    pub(crate) fn until_seen(&self, text: &str, times: usize) {
        self.until(&format!("{text:?} {times} times"), |drawn| {
            drawn.parser.screen().contents().matches(text).count() >= times
        });
    }

    /// What is on the screen.
    pub(crate) fn text(&self) -> String {
        let drawn = self.drawn.0.lock().expect("nobody panics with it");
        drawn.parser.screen().contents()
    }

    /// Everything that was written to the terminal.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let drawn = self.drawn.0.lock().expect("nobody panics with it");
        drawn.bytes.clone()
    }

    /// Whether the program took the screen for itself.
    pub(crate) fn was_taken(&self) -> bool {
        let bytes = self.bytes();
        bytes.windows(8).any(|part| part == b"\x1b[?1049h")
    }

    pub(crate) fn types(&self, keys: &str) {
        let mut rest = keys.as_bytes();
        while !rest.is_empty() {
            let count = rustix::io::write(&*self.master, rest).expect("the terminal takes keys");
            rest = &rest[count..];
        }
    }

    pub(crate) fn resize(&mut self, columns_rows: (u16, u16)) {
        let (columns, rows) = columns_rows;
        {
            let mut drawn = self.drawn.0.lock().expect("nobody panics with it");
            drawn
                .parser
                .screen_mut()
                .set_size(size(rows), size(columns));
        }
        tcsetwinsize(&*self.master, window(columns_rows)).expect("a size");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the program is there");
    }

    /// Waits until the program is stopped.
    #[track_caller]
    pub(crate) fn is_stopped(&self) {
        let path = format!("/proc/{}/stat", self.child.id());
        let until = Instant::now() + PATIENCE;
        loop {
            let stat = std::fs::read_to_string(&path).expect("the program is there");
            let state = stat
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next());
            if state == Some('T') {
                return;
            }
            assert!(Instant::now() < until, "it runs on: {stat}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the terminal is as the program found it.
    #[track_caller]
    pub(crate) fn is_as_it_began(&self) {
        self.until("screen as it was", |drawn| {
            let screen = drawn.parser.screen();
            !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
        });
        let now = tcgetattr(&self.slave).expect("its modes");
        assert_eq!(now.local_modes, self.before.local_modes);
        assert_eq!(now.input_modes, self.before.input_modes);
        assert_eq!(now.output_modes, self.before.output_modes);
        assert_eq!(now.control_modes, self.before.control_modes);
    }

    /// Waits for the end: the exit status.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            let ended = self
                .child
                .try_wait()
                .expect("the program can be waited for");
            if let Some(status) = ended {
                let code = status.code().unwrap_or(-1);
                self.status = Some(code);
                return code;
            }
            assert!(Instant::now() < until, "it runs on\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for a good end that leaves the terminal as it was.
    #[track_caller]
    pub(crate) fn ends_as_it_began(&mut self) {
        assert_eq!(self.ends(), 0, "{}", self.text());
        assert!(self.was_taken());
        self.is_as_it_began();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
