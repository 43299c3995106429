//! The files of an archive while threads move into them. What a month has is read once in a run, however many batches come, and one run
//! at a time writes to them. A file that is full is followed by another one of its month: `2029-09.jsonl`, `2029-09.2.jsonl`. None is
//! open between two batches, because months may be more than a process may have files.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use inbox_core::{Code, Refusal};
use inbox_store::private;
use sha2::{Digest, Sha256};

/// A sort of files that a month has.
pub(super) struct Sort {
    /// What follows the month in their names.
    suffix: &'static str,
}

pub(super) static LETTERS: Sort = Sort { suffix: "" };

pub(super) static EVENTS: Sort = Sort { suffix: "-events" };

/// What tells a line apart, so that it is not written twice: all of it. Ids are given again by a store that went back to a copy, and
/// what has a known id with other words is something else.
type Print = [u8; 16];

fn print_of(line: &[u8]) -> Print {
    let digest = Sha256::digest(line);
    std::array::from_fn(|place| digest[place])
}

/// The lines of one thread, which stay together: who imports one file has the thread.
pub(super) type Piece = Vec<String>;

/// What a file's name begins with, and the how manieth of these it is.
pub(super) fn part_of(name: &str) -> Option<(&str, u32)> {
    let name = name.strip_suffix(".jsonl")?;
    let Some((stem, number)) = name.rsplit_once('.') else {
        return Some((name, 1));
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    let number = number.parse().ok().filter(|number| *number > 1)?;
    is_number.then_some((stem, number))
}

fn name_of(stem: &str, number: u32) -> String {
    match number {
        1 => format!("{stem}.jsonl"),
        _ => format!("{stem}.{number}.jsonl"),
    }
}

/// An archive's folder, which nobody else writes to meanwhile.
pub(super) struct Shelf {
    folder: PathBuf,
    /// How many bytes a file may have before the next one is begun.
    full: u64,
    books: BTreeMap<String, Book>,
    _lock: File,
}

impl Shelf {
    pub(super) fn open(folder: &Path, full: u64) -> Result<Self, Refusal> {
        private::make_folder(folder).map_err(|error| cannot(folder, &error))?;
        if folder.is_symlink() {
            return Err(Refusal::new(
                Code::Storage,
                format!(
                    "{} is a symbolic link, and mail is not put where it leads",
                    folder.display()
                ),
            )
            .hint("ls -l shows where it leads; make a folder in its place, and try again"));
        }
        let lock = private::lock_folder(folder).map_err(|error| cannot(folder, &error))?;
        let lock = lock.ok_or_else(|| {
            Refusal::new(
                Code::Storage,
                format!("another inbox archive writes to {}", folder.display()),
            )
            .hint("inbox archive again when it has ended")
        })?;
        Ok(Shelf {
            folder: folder.to_owned(),
            full,
            books: BTreeMap::new(),
            _lock: lock,
        })
    }

    /// Adds lines that are not there yet to the files of a month, and makes sure that they are on disk. Where all of them are.
    pub(super) fn append(
        &mut self,
        month: &str,
        sort: &Sort,
        pieces: &[Piece],
    ) -> Result<Vec<PathBuf>, Refusal> {
        let stem = format!("{month}{}", sort.suffix);
        let book = match self.books.get_mut(&stem) {
            Some(book) => book,
            None => {
                let book = Book::open(&self.folder, &stem)?;
                self.books.entry(stem).or_insert(book)
            }
        };
        book.append(pieces, self.full)
    }
}

/// The files of one sort that a month has.
struct Book {
    folder: PathBuf,
    stem: String,
    /// The last of them, which is written to, and how long it is.
    number: u32,
    length: u64,
    /// Whether a crash cut its last line short. It is ended, and reported by whoever reads it.
    is_cut: bool,
    /// Which lines were there before the run, and in which file: what a run that died left there, and in the store. No thread moves
    /// twice in one run, so what it writes itself needs no keeping.
    known: HashMap<Print, u32>,
}

impl Book {
    fn open(folder: &Path, stem: &str) -> Result<Self, Refusal> {
        let mut book = Book {
            folder: folder.to_owned(),
            stem: stem.to_owned(),
            number: 1,
            length: 0,
            is_cut: false,
            known: HashMap::new(),
        };
        let found = book.numbers().map_err(|error| cannot(folder, &error))?;
        for number in found {
            book.number = number;
            book.read()
                .map_err(|error| cannot(&book.path(number), &error))?;
        }
        Ok(book)
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(name_of(&self.stem, number))
    }

    /// Those that are there, in their order. Somebody may have taken some of them elsewhere.
    fn numbers(&self) -> std::io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            match name.to_str().and_then(part_of) {
                Some((stem, number)) if stem == self.stem => numbers.push(number),
                _ => {}
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads which lines the last file has, line by line: it may be longer than what would be read at once.
    fn read(&mut self) -> std::io::Result<()> {
        let file = private::open(OpenOptions::new().read(true), &self.path(self.number))?;
        let (mut lines, mut line) = (BufReader::new(&file), Vec::new());
        (self.length, self.is_cut) = (0, false);
        loop {
            line.clear();
            let count = lines.read_until(b'\n', &mut line)?;
            if count == 0 {
                break;
            }
            self.length += count as u64;
            self.is_cut = line.last() != Some(&b'\n');
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            self.known.insert(print_of(text), self.number);
        }
        // Who wrote them may have died before they were on disk, and rows will be taken away because of them.
        file.sync_all()?;
        self.sync_folders()
    }

    /// Rows are taken away once their lines are written: neither a file's name nor its folder's may be lost with the power.
    fn sync_folders(&self) -> std::io::Result<()> {
        self.folder
            .ancestors()
            .take(2)
            .filter(|folder| !folder.as_os_str().is_empty())
            .try_for_each(|folder| File::open(folder)?.sync_all())
    }

    fn append(&mut self, pieces: &[Piece], full: u64) -> Result<Vec<PathBuf>, Refusal> {
        let (mut text, mut numbers) = (String::new(), Vec::new());
        for piece in pieces {
            let mut new = Vec::new();
            for line in piece {
                match self.known.get(&print_of(line.as_bytes())) {
                    Some(number) => numbers.push(*number),
                    None => new.push(line),
                }
            }
            let whole = new.iter().map(|line| line.len() + 1).sum();
            self.make_room(whole, &mut text, full)?;
            for line in new {
                self.make_room(line.len() + 1, &mut text, full)?;
                text.push_str(line);
                text.push('\n');
                numbers.push(self.number);
            }
        }
        self.write(&mut text)?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers
            .into_iter()
            .map(|number| self.path(number))
            .collect())
    }

    /// Goes on in the next file, unless so much goes into this one.
    fn make_room(&mut self, bytes: usize, text: &mut String, full: u64) -> Result<(), Refusal> {
        let there = self.length + text.len() as u64;
        if there > 0 && there + bytes as u64 > full && self.number < inbox_store::ARCHIVE_PARTS {
            self.write(text)?;
            (self.number, self.length, self.is_cut) = (self.number + 1, 0, false);
        }
        Ok(())
    }

    /// Writes what is due to the last file, and makes sure that it is on disk.
    fn write(&mut self, text: &mut String) -> Result<(), Refusal> {
        if text.is_empty() {
            return Ok(());
        }
        let path = self.path(self.number);
        let end = if self.is_cut { "\n" } else { "" };
        let lines = format!("{end}{text}");
        let write = || {
            let mut file = private::open(private::file().create(true).append(true), &path)?;
            file.write_all(lines.as_bytes())?;
            file.sync_all()?;
            if self.length == 0 {
                self.sync_folders()?;
            }
            Ok(())
        };
        write().map_err(|error| cannot(&path, &error))?;
        (self.length, self.is_cut) = (self.length + lines.len() as u64, false);
        text.clear();
        Ok(())
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(
        Code::Storage,
        format!("{} cannot be written: {error}", path.display()),
    )
}
