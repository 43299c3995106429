//! The console in a terminal: bare `inbox`, where a person is before it.
//!
//! The same three questions as on the console's pages: what waits for me, who is doing what, this thread; and the same steps.
//! [`app::App`] is all of it without a terminal; here it meets one, and the store or the server behind it.

mod act;
mod agent;
mod app;
mod boxes;
mod clerk;
mod deal;
mod dialog;
mod draw;
mod ears;
mod editor;
mod keys;
mod lists;
mod paint;
mod payload;
mod rows;
mod screen;
#[cfg(test)]
mod tests;
mod thread;

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::Caller;
use ratatui_core::terminal::Terminal;

use app::{App, Order};
use clerk::{Errand, Looked, Place, Step};
use keys::Key;
use screen::{Screen, Taken};

use crate::cli::{Context, Ended, far, find, operation, passphrase};

/// What happens within this time is looked at together.
const TOGETHER: Duration = Duration::from_millis(100);

/// Leases end, and sessions die, by the clock alone: what is seen is looked at again after this time.
const STALE: Duration = Duration::from_secs(15);

/// The same when the last look failed.
const AGAIN: Duration = Duration::from_secs(3);

/// How many times longer than a look nothing is looked at after it, so that looking never becomes the load.
const PAUSE: u32 = 3;

/// Times count on.
const TICK: Duration = Duration::from_secs(1);

/// How long a step that is under way may take when one leaves.
const LAST: Duration = Duration::from_secs(5);

/// What happened.
enum Event {
    Key(Key),
    /// The store changed.
    Rang,
    Resized,
    Suspend,
    Resumed,
    Stop,
    Looked(Box<Result<Looked, Refusal>>, Duration),
    Done(Step, Result<(), Refusal>),
    /// The clerk failed in a way that nobody foresaw.
    Fault,
}

/// Whether a person is before a terminal that can show the console.
pub(crate) fn is_possible() -> bool {
    let is_plain = find::variable("TERM").is_none_or(|term| term == "dumb");
    !is_plain && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Opens the console, until the person leaves it.
pub(crate) fn run(context: &Context) -> Result<Ended, Refusal> {
    if !is_possible() {
        return Err(Refusal::input(
            "the console needs a terminal, for its keys and for its screen",
        )
        .hint("inbox desk prints what waits for you; inbox ui opens the console in a browser"));
    }
    let (tell, hear) = channel();
    let (me, caller, place, _bell) = open(context, &tell)?;
    let (send, errands) = channel();
    {
        let tell = tell.clone();
        ears::spawn("clerk", move || {
            clerk::work(&place, &caller, &errands, &tell);
        })?;
    }
    ears::signals(tell.clone())?;
    let cannot = |error: std::io::Error| {
        Refusal::new(
            Code::Internal,
            format!("the terminal cannot be used: {error}"),
        )
        .hint("inbox ui opens the console in a browser")
    };
    let _taken = Taken;
    screen::take().map_err(cannot)?;
    give_back_on_panic();
    ears::keys(tell)?;
    let has_colour = find::variable("NO_COLOR").is_none();
    let terminal = Terminal::new(Screen::new(has_colour)).map_err(cannot)?;
    let size = terminal.size().map_err(cannot)?;
    let app = App::new(me, (size.width, size.height), now());
    let mut show = Show {
        app,
        terminal,
        send,
        is_looking: false,
        look_at: Some(Instant::now()),
        rest_until: Instant::now(),
        looked_at: Instant::now(),
    };
    let ended = show.go(&hear).map_err(cannot);
    screen::give_back();
    let _ = std::panic::take_hook();
    ended.map(|()| Ended::Something)
}

/// Who looks, where, and what rings there.
fn open(
    context: &Context,
    tell: &Sender<Event>,
) -> Result<(AgentName, Caller, Place, Option<ears::Bell>), Refusal> {
    if let Some(server) = far::server(context)? {
        let me = match &context.agent_flag {
            Some(agent) => agent.clone(),
            None => server.token()?.agent_id,
        };
        if let Some(listens) = far::server(context)? {
            ears::server(listens, tell.clone())?;
        }
        let caller = Caller::local(Some(me.clone()));
        return Ok((me, caller, Place::There(server), None));
    }
    let inbox = Arc::new(operation::open(context)?);
    let me = match &context.agent {
        Some(agent) => agent.clone(),
        None => inbox.person()?,
    };
    let mut caller = Caller::local(Some(me.clone()));
    // Asked for once, before the screen is taken.
    if inbox.is_locked(&me)?
        && let Some(proven) = passphrase::prove(&inbox, &caller, &me)?
    {
        caller = proven;
    }
    let bell = ears::Bell::hear(&inbox, tell.clone())?;
    Ok((me, caller, Place::Here(inbox), Some(bell)))
}

fn now() -> Millis {
    jiff::Timestamp::now().into()
}

/// A fault of the console itself leaves the terminal as it was; one elsewhere is told on the screen.
fn give_back_on_panic() {
    let before = std::panic::take_hook();
    let here = std::thread::current().id();
    std::panic::set_hook(Box::new(move |fault| {
        if std::thread::current().id() == here {
            screen::give_back();
            before(fault);
        }
    }));
}

/// The console on a terminal.
struct Show {
    app: App,
    terminal: Terminal<Screen>,
    send: Sender<Errand>,
    is_looking: bool,
    /// When to look again.
    look_at: Option<Instant>,
    /// Not before this, unless the person wants it.
    rest_until: Instant,
    looked_at: Instant,
}

impl Show {
    fn go(&mut self, hear: &Receiver<Event>) -> std::io::Result<()> {
        loop {
            self.look();
            self.app.now = now();
            self.draw()?;
            let mut event = match hear.recv_timeout(self.patience()) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            // What has happened together is drawn together.
            while let Some(next) = event {
                if !self.take(next)? {
                    self.finish(hear);
                    return Ok(());
                }
                event = hear.try_recv().ok();
            }
        }
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let app = &mut self.app;
        self.terminal
            .draw(|frame| {
                if let Some(position) = app.draw(frame.buffer_mut()) {
                    frame.set_cursor_position(position);
                }
            })
            .map(drop)
    }

    /// Sends the clerk to look when it is time, one look after the other.
    fn look(&mut self) {
        let now = Instant::now();
        let stale = if self.app.trouble.is_some() {
            AGAIN
        } else {
            STALE
        };
        if now.duration_since(self.looked_at) >= stale {
            self.look_at.get_or_insert(now);
        }
        if self.is_looking || self.look_at.is_none_or(|at| at > now) {
            return;
        }
        self.look_at = None;
        self.looked_at = now;
        self.is_looking = self.send.send(Errand::Look(self.app.wish())).is_ok();
    }

    fn patience(&self) -> Duration {
        let due = self.look_at.filter(|_| !self.is_looking);
        let due = due.map(|at| at.saturating_duration_since(Instant::now()));
        due.unwrap_or(TICK).min(TICK)
    }

    /// Takes in what happened. Whether to go on.
    fn take(&mut self, event: Event) -> std::io::Result<bool> {
        let orders = match event {
            Event::Key(key) => self.app.key(&key),
            Event::Rang => {
                let at = (Instant::now() + TOGETHER).max(self.rest_until);
                self.look_at.get_or_insert(at);
                Vec::new()
            }
            Event::Resized => {
                let size = self.terminal.size()?;
                self.app.resized((size.width, size.height))
            }
            Event::Suspend => vec![Order::Suspend],
            Event::Resumed => self.again()?,
            Event::Stop => return Ok(false),
            Event::Looked(looked, took) => {
                self.is_looking = false;
                self.rest_until = Instant::now() + took * PAUSE;
                self.app.looked(*looked)
            }
            Event::Done(step, outcome) => self.app.done(&step, outcome),
            Event::Fault => {
                self.is_looking = false;
                self.app.doing = None;
                let fault = Refusal::new(Code::Internal, "a fault in inbox ended this step")
                    .hint("inbox doctor checks the store");
                self.app.notice = None;
                self.app.looked(Err(fault))
            }
        };
        for order in orders {
            match order {
                Order::Look => self.look_at = Some(Instant::now()),
                Order::Do(step) => {
                    if self.send.send(Errand::Do(step)).is_err() {
                        return Ok(false);
                    }
                }
                Order::Redraw => self.terminal.clear()?,
                Order::Suspend => {
                    screen::give_back();
                    let me = rustix::process::getpid();
                    rustix::process::kill_process(me, rustix::process::Signal::STOP)?;
                    self.again()?;
                }
                Order::Quit => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Takes the terminal again after a pause.
    fn again(&mut self) -> std::io::Result<Vec<Order>> {
        screen::take()?;
        self.terminal.clear()?;
        Ok(vec![Order::Look])
    }

    /// Lets the step that is under way end.
    fn finish(&mut self, hear: &Receiver<Event>) {
        let until = Instant::now() + LAST;
        while self.app.doing.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            match hear.recv_timeout(left) {
                Ok(Event::Done(..) | Event::Fault) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}
