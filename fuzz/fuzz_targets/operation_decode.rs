//! Bytes to the operations of HCS-10 and HCS-2, notes and profiles: nothing panics, and what is taken and can be
//! written is read again as it was, without a deviation.

#![no_main]

use inbox_hcs::{Envelope, Note, Operation, Place, Profile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for place in Place::ALL {
        let Ok((operation, _)) = inbox_hcs::read(bytes, place) else {
            continue;
        };
        if let Operation::InboundMessage(message) = &operation {
            let _ = Envelope::read(&message.data);
        }
        if let Ok(written) = operation.write() {
            let again = inbox_hcs::read(written.as_bytes(), operation.place());
            assert_eq!(again, Ok((operation, Vec::new())));
        }
    }
    if let Ok((operation, _)) = inbox_hcs::read_registry(bytes)
        && let Ok(written) = operation.write()
    {
        let again = inbox_hcs::read_registry(written.as_bytes());
        assert_eq!(again, Ok((operation, Vec::new())));
    }
    if let Ok((profile, _)) = Profile::read(bytes)
        && let Ok(written) = profile.write()
    {
        let (again, _) = Profile::read(written.as_bytes()).expect("what is written is read");
        assert_eq!(again, profile);
    }
    if let Ok((note, _)) = Note::read(bytes)
        && let Ok(written) = note.write()
    {
        let (again, _) = Note::read(written.as_bytes()).expect("what is written is read");
        assert_eq!(again, note);
    }
});
