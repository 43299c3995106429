//! Files on topics (HCS-1): written once for everybody, and read with every promise of theirs checked.

use std::ops::ControlFlow;
use std::time::Duration;

use inbox_core::{Code, Refusal};
use inbox_hcs::{Algorithm, Collector, File, Keys, Limits, Mime, TopicId, TopicMemo, write_file};
use inbox_hedera::mirror::Mirror;
use inbox_hedera::proto::CreateTopicBody;

use crate::history::{self, Bound};
use crate::net::{Fees, Net, topic};
use crate::told::{Told, unreadable};

/// How long a file may take to be read: whoever waits for it has others to look after.
const PATIENCE: Duration = Duration::from_mins(1);

/// Writes a file to a topic of its own.
pub fn put(
    net: &Net,
    content: &[u8],
    mime: &Mime,
    algorithm: Algorithm,
) -> Result<TopicId, Refusal> {
    let written = write_file(content, mime, algorithm, &Limits::default()).told()?;
    // Nobody may change it, and nobody else may add to it.
    let topic = net.create_topic(CreateTopicBody {
        memo: written.memo.to_string(),
        submit_key: Some(net.public_key()?),
        ..CreateTopicBody::default()
    })?;
    for message in &written.messages {
        net.write(topic, message.as_bytes(), "", Fees::None)?;
    }
    Ok(topic)
}

/// Reads a file: its hash, its keys and every bound are checked.
pub fn get(mirror: &Mirror, id: TopicId) -> Result<File, Refusal> {
    let facts = topic(mirror, id)?;
    let what = format!("the file on {id}");
    let (memo, _) = TopicMemo::read(&facts.memo).map_err(|refused| unreadable(&what, &refused))?;
    let TopicMemo::File(memo) = memo else {
        let memo = &facts.memo;
        return Err(Refusal::new(
            Code::InvalidWire,
            format!("{id} is no file: its memo is {memo:?}"),
        )
        .hint(format!("inbox hcs inspect {id} shows what it is")));
    };
    let limits = Limits::default();
    let bound = Bound {
        // As many again may be odd: what is no chunk, or comes twice, is passed over.
        pieces: usize::try_from(limits.chunks).unwrap_or_default() * 2,
        time: PATIENCE,
    };
    let mut collector = Collector::new(memo, limits);
    history::bounded(mirror, id, bound, |said| {
        collector
            .add(&said.bytes)
            .map(ControlFlow::Continue)
            .map_err(|refused| unreadable(&what, &refused))
    })?;
    let keys = Keys {
        has_submit_key: facts.submit_key.is_some(),
        has_admin_key: facts.admin_key.is_some(),
    };
    let (file, _) = collector
        .finish(keys)
        .map_err(|refused| unreadable(&what, &refused))?;
    Ok(file)
}
