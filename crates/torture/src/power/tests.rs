use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::image::{Image, Kept, image};
use super::record::Record;
use crate::dice::Dice;
use crate::trace::{Call, Inode, Watcher};

const ROOT: &str = "/no/such/root";

fn at(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

/// A record of calls that nobody made.
struct Script(Record);

impl Script {
    fn new() -> Self {
        Script(Record::empty(Path::new(ROOT)))
    }

    fn made(mut self, name: &str, number: u64) -> Self {
        let open = Call::Open {
            path: at(name),
            makes: true,
            empties: false,
            was_there: false,
        };
        self.0.after(open, Some(Inode(1, number)));
        self
    }

    fn written(mut self, number: u64, offset: u64, bytes: &[u8]) -> Self {
        let write = Call::Write {
            inode: Inode(1, number),
            path: at("any"),
            offset,
            bytes: bytes.to_vec(),
        };
        self.0.after(write, None);
        self
    }

    fn then(mut self, call: Call) -> Self {
        self.0.after(call, None);
        self
    }

    fn synced(self, number: u64) -> Self {
        let inode = Inode(1, number);
        let path = at("any");
        self.then(Call::Sync { inode, path })
    }

    /// A sync of the root's names. The record asks the system whether it is a folder, which this one is not.
    fn named(mut self) -> Self {
        self.0.sync_folder(Path::new(ROOT));
        self
    }

    /// Every disk that may be left, or many of them.
    fn disks(&self) -> BTreeSet<Vec<(PathBuf, Vec<u8>)>> {
        let mut dice = Dice::new(11);
        let ways = Kept::ALL.iter().cycle().take(600);
        ways.map(|how| files(image(&self.0, self.0.len(), *how, &mut dice)))
            .collect()
    }
}

fn files(image: Image) -> Vec<(PathBuf, Vec<u8>)> {
    image.into_files().into_iter().collect()
}

#[test]
fn what_is_synced_with_its_name_is_on_every_disk() {
    let script = Script::new().made("f", 1).written(1, 0, b"kept").synced(1);
    let disks = script.named().disks();
    assert_eq!(disks, [vec![(at("f"), b"kept".to_vec())]].into());
}

#[test]
fn a_name_that_is_not_synced_may_be_gone() {
    let script = Script::new().made("f", 1).written(1, 0, b"kept").synced(1);
    let disks = script.disks();
    assert_eq!(
        disks,
        [vec![], vec![(at("f"), b"kept".to_vec())]].into(),
        "all of it or nothing"
    );
}

#[test]
fn what_is_not_synced_may_be_there_torn_or_not() {
    let script = Script::new().made("f", 1).named();
    let disks = script.written(1, 0, &[7; 1024]).disks();
    let lengths: BTreeSet<usize> = disks.iter().map(|disk| disk[0].1.len()).collect();
    assert_eq!(lengths, [0, 512, 1024].into());
    let second_only = |disk: &Vec<(PathBuf, Vec<u8>)>| {
        let bytes = &disk[0].1;
        bytes.len() == 1024 && bytes[..512] == [0; 512] && bytes[512..] == [7; 512]
    };
    assert!(disks.iter().any(second_only), "sectors come in any order");
}

#[test]
fn pieces_that_are_not_synced_come_in_any_order() {
    let script = Script::new().made("f", 1).named();
    let disks = script.written(1, 0, b"a").written(1, 1, b"b").disks();
    let contents: BTreeSet<&[u8]> = disks.iter().map(|disk| disk[0].1.as_slice()).collect();
    let ordered: [&[u8]; 4] = [b"", b"a", b"ab", b"\0b"];
    assert!(
        ordered.iter().all(|bytes| contents.contains(bytes)),
        "{contents:?}"
    );
}

#[test]
fn a_sync_keeps_nothing_that_comes_after_it() {
    let script = Script::new().made("f", 1).written(1, 0, b"old").synced(1);
    let disks = script.named().written(1, 0, b"new").disks();
    let contents: BTreeSet<&[u8]> = disks.iter().map(|disk| disk[0].1.as_slice()).collect();
    let both: [&[u8]; 2] = [b"new", b"old"];
    assert_eq!(contents, both.into());
}

#[test]
fn what_lies_in_a_folder_that_is_lost_is_lost() {
    let script = Script::new().then(Call::MakeFolder(at("d")));
    let mut script = script.made("d/f", 1).written(1, 0, b"kept").synced(1);
    script.0.sync_folder(&at("d"));
    let disks = script.disks();
    assert!(disks.contains(&vec![]), "{disks:?}");
    let disks = script.named().disks();
    assert!(!disks.contains(&vec![]), "{disks:?}");
}

#[test]
fn a_file_that_gets_another_name_has_one_of_them() {
    let script = Script::new().made("f", 1).written(1, 0, b"x").synced(1);
    let script = script.named().then(Call::Link(at("f"), at("g")));
    let names: BTreeSet<Vec<PathBuf>> = script
        .disks()
        .into_iter()
        .map(|disk| disk.into_iter().map(|(path, _)| path).collect())
        .collect();
    assert_eq!(names, [vec![at("f")], vec![at("f"), at("g")]].into());
}
