//! Where a processor keeps the number, the arguments and the result of a call.

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::unistd::Pid;

/// A process's registers at the edge of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers(nix::libc::user_regs_struct);

impl Registers {
    pub(super) fn of(pid: Pid) -> Result<Self, Errno> {
        ptrace::getregs(pid).map(Registers)
    }

    pub(super) fn set(self, pid: Pid) -> Result<(), Errno> {
        ptrace::setregs(pid, self.0)
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "registers hold bit patterns"
)]
impl Registers {
    pub(super) fn number(&self) -> i64 {
        self.0.orig_rax as i64
    }

    pub(super) fn argument(&self, place: usize) -> u64 {
        let registers = &self.0;
        match place {
            0 => registers.rdi,
            1 => registers.rsi,
            2 => registers.rdx,
            3 => registers.r10,
            4 => registers.r8,
            _ => registers.r9,
        }
    }

    pub(super) fn set_argument(&mut self, place: usize, value: u64) {
        let registers = &mut self.0;
        let register = match place {
            0 => &mut registers.rdi,
            1 => &mut registers.rsi,
            2 => &mut registers.rdx,
            3 => &mut registers.r10,
            4 => &mut registers.r8,
            _ => &mut registers.r9,
        };
        *register = value;
    }

    pub(super) fn result(&self) -> i64 {
        self.0.rax as i64
    }

    /// As after a call that gave this, with the arguments that its caller had put there.
    pub(super) fn returned(mut self, entered: &Registers, result: i64) -> Self {
        for place in 0..6 {
            self.set_argument(place, entered.argument(place));
        }
        self.0.rax = result as u64;
        self
    }
}

#[cfg(target_arch = "aarch64")]
#[expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "registers hold bit patterns"
)]
impl Registers {
    pub(super) fn number(&self) -> i64 {
        self.0.regs[8] as i64
    }

    pub(super) fn argument(&self, place: usize) -> u64 {
        self.0.regs[place]
    }

    pub(super) fn set_argument(&mut self, place: usize, value: u64) {
        self.0.regs[place] = value;
    }

    pub(super) fn result(&self) -> i64 {
        self.0.regs[0] as i64
    }

    /// As after a call that gave this, with the arguments that its caller had put there.
    pub(super) fn returned(mut self, entered: &Registers, result: i64) -> Self {
        self.0.regs[1..6].copy_from_slice(&entered.0.regs[1..6]);
        self.0.regs[0] = result as u64;
        self
    }
}
