//! What a client says that its work used. Some say it for each start, others for the whole conversation so far.

use inbox_core::sabotage::planted;

/// What was used, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Used {
    /// In US dollars.
    pub(crate) cost: Option<f64>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
}

impl Used {
    /// Both together.
    pub(crate) fn and(self, more: Used) -> Used {
        self.by(
            more,
            // What is not a number any more could not be written down.
            |one, more| (one + more).min(f64::MAX),
            |one, more| one.saturating_add(more),
        )
    }

    /// What came to it since it was `before`. Who says less than before counts anew.
    pub(crate) fn since(self, before: Used) -> Used {
        if planted("paid_twice") {
            return self;
        }
        let part = self.by(
            before,
            |all, before| if all < before { all } else { all - before },
            |all, before| all.checked_sub(before).unwrap_or(all),
        );
        Used {
            cost: self.cost.and(part.cost),
            input_tokens: self.input_tokens.and(part.input_tokens),
            output_tokens: self.output_tokens.and(part.output_tokens),
        }
    }

    /// What is not known is as it was.
    pub(crate) fn or(self, before: Used) -> Used {
        self.by(before, |now, _| now, |now, _| now)
    }

    fn by(self, other: Used, cost: fn(f64, f64) -> f64, tokens: fn(u64, u64) -> u64) -> Used {
        Used {
            cost: each(self.cost, other.cost, cost),
            input_tokens: each(self.input_tokens, other.input_tokens, tokens),
            output_tokens: each(self.output_tokens, other.output_tokens, tokens),
        }
    }
}

fn each<T>(one: Option<T>, other: Option<T>, both: fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::Used;

    fn used(cost: f64, input: u64) -> Used {
        Used {
            cost: Some(cost),
            input_tokens: Some(input),
            output_tokens: None,
        }
    }

    #[test]
    fn what_was_counted_before_is_not_counted_again() {
        assert_eq!(used(0.75, 30).since(used(0.25, 10)), used(0.5, 20));
        assert_eq!(used(0.75, 30).since(Used::default()), used(0.75, 30));
        assert_eq!(Used::default().since(used(0.75, 30)), Used::default());
        // One that began to count anew has used all that it says.
        assert_eq!(used(0.25, 5).since(used(0.5, 10)), used(0.25, 5));
        assert_eq!(used(0.5, 1).and(used(0.25, 2)), used(0.75, 3));
        assert_eq!(used(0.5, 1).and(Used::default()), used(0.5, 1));
    }
}
