//! A driver in the midst of a transaction, which a fault of the program must not leave open: what comes next
//! would become part of it.

use inbox_core::sabotage::planted;

use crate::driver::Driver;

/// Ends what was begun, without a trace, when a panic passes by.
pub(crate) struct Midst<'a> {
    driver: &'a mut dyn Driver,
    is_part: bool,
}

impl<'a> Midst<'a> {
    /// In the midst of a transaction of its own.
    pub(crate) fn of_all(driver: &'a mut dyn Driver) -> Self {
        let is_part = false;
        Midst { driver, is_part }
    }

    /// In the midst of a part of a transaction that others share.
    pub(crate) fn of_part(driver: &'a mut dyn Driver) -> Self {
        let is_part = true;
        Midst { driver, is_part }
    }

    pub(crate) fn driver(&mut self) -> &mut dyn Driver {
        self.driver
    }
}

impl Drop for Midst<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() || planted("fault_stays") {
            return;
        }
        if self.is_part {
            self.driver.undo_part();
        } else {
            self.driver.give_up();
        }
    }
}
