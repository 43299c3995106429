//! A person's passphrase, asked for where only a person is: at the terminal, without an echo, never in an argument, a variable or a pipe.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Write};

use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::{Caller, Inbox, locked_name};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// How often it is asked for before the refusal stands.
const TRIES: usize = 3;

/// Runs what may be a person's matter. Where it is, and a person is there, her passphrase is asked for, and it is run as her.
pub(crate) fn with<T>(
    inbox: &Inbox,
    caller: &Caller,
    mut run: impl FnMut(&Caller) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let refusal = match run(caller) {
        Err(refusal) if refusal.code == Code::Locked => refusal,
        answer => return answer,
    };
    let Some(person) = locked_name(&refusal) else {
        return Err(refusal);
    };
    match prove(inbox, caller, &person)? {
        Some(caller) => run(&caller),
        None => Err(refusal),
    }
}

/// The caller as this person, when she is at the terminal and gives her passphrase.
pub(crate) fn prove(
    inbox: &Inbox,
    caller: &Caller,
    person: &AgentName,
) -> Result<Option<Caller>, Refusal> {
    let Some(mut terminal) = Terminal::open() else {
        return Ok(None);
    };
    let mut tries = 1;
    loop {
        let given = terminal.ask(&format!("{person}'s passphrase: "))?;
        match inbox.unlock(caller.clone(), person, &given) {
            Err(refusal) if refusal.code == Code::Locked && tries < TRIES => {
                terminal.say(&format!("{}\n", refusal.message));
                tries += 1;
            }
            caller => return caller.map(Some),
        }
    }
}

/// The terminal of the person who runs this command.
pub(crate) struct Terminal {
    device: File,
    before: Termios,
    is_hidden: bool,
}

impl Terminal {
    /// The terminal, unless a program runs this command: it reads what is said, and would be waited for without end.
    pub(crate) fn open() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty");
        let device = device.ok()?;
        let before = tcgetattr(&device).ok()?;
        Some(Terminal {
            device,
            before,
            is_hidden: false,
        })
    }

    /// Asks for a line that nobody sees. Nothing that is typed is seen from then on until this is dropped: who is quick with the next
    /// answer, or has heard that the last one was wrong, does not type it in plain sight.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String, Refusal> {
        let cannot = |error: std::io::Error| {
            Refusal::new(
                Code::Internal,
                format!("the terminal cannot be read: {error}"),
            )
        };
        if !self.is_hidden {
            let mut hidden = self.before.clone();
            hidden.local_modes.remove(LocalModes::ECHO);
            hidden
                .local_modes
                .insert(LocalModes::ECHONL | LocalModes::ICANON);
            // Before the question, so that a quick answer is neither seen nor lost.
            tcsetattr(&self.device, OptionalActions::Flush, &hidden)
                .map_err(|error| cannot(error.into()))?;
            self.is_hidden = true;
        }
        self.say(question);
        let mut line = String::new();
        BufReader::new(&self.device)
            .read_line(&mut line)
            .map_err(cannot)?;
        Ok(line.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Says something to the person.
    pub(crate) fn say(&mut self, text: &str) {
        let _ = self.device.write_all(text.as_bytes());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.is_hidden {
            let _ = tcsetattr(&self.device, OptionalActions::Now, &self.before);
        }
    }
}
