//! What a change does to a file, as lines that people know how to read.

/// Lines around a change.
const AROUND: usize = 2;

/// Past so many lines the middle is shown as replaced: comparing every line with every other would take long.
const MOST: usize = 2_000;

#[derive(Clone, Copy, PartialEq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The difference, with a few lines around each change.
pub(super) fn diff(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.lines().collect();
    let after: Vec<&str> = after.lines().collect();
    let lines = compare(&before, &after);
    let is_near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        let to = (at + AROUND + 1).min(lines.len());
        lines[from..to]
            .iter()
            .any(|line| !matches!(line, Line::Same(_)))
    };
    let mut out = String::new();
    let mut was_near = true;
    for (at, line) in lines.iter().enumerate() {
        let near = is_near(at);
        if near {
            if !was_near {
                out.push_str("  …\n");
            }
            let (mark, text) = match line {
                Line::Same(text) => (' ', text),
                Line::Gone(text) => ('-', text),
                Line::New(text) => ('+', text),
            };
            out.push_str(format!("{mark} {text}").trim_end());
            out.push('\n');
        }
        was_near = near;
    }
    out
}

fn compare<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = before.iter().zip(after).take_while(same).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(same)
        .count();
    let (old, tail) = old.split_at(old.len() - end);
    let new = &new[..new.len() - end];
    let mut lines: Vec<_> = before[..start]
        .iter()
        .map(|text| Line::Same(text))
        .collect();
    if old.len() > MOST || new.len() > MOST {
        lines.extend(old.iter().map(|text| Line::Gone(text)));
        lines.extend(new.iter().map(|text| Line::New(text)));
    } else {
        walk(old, new, &mut lines);
    }
    lines.extend(tail.iter().map(|text| Line::Same(text)));
    lines
}

/// The longest common lines stay.
fn walk<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<Line<'a>>) {
    let width = new.len() + 1;
    let mut longest = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = if old[i] == new[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            i += 1;
            j += 1;
        } else if j == new.len()
            || (i < old.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_two_lines_around_it() {
        let before = "a\nb\nc\nd\ne\nf\n";
        let after = "a\nb\nc\nD\ne\nf\n";
        assert_eq!(diff(before, after), "  …\n  b\n  c\n- d\n+ D\n  e\n  f\n");
    }

    #[test]
    fn a_new_file_is_all_plus() {
        assert_eq!(diff("", "a\nb\n"), "+ a\n+ b\n");
    }
}
