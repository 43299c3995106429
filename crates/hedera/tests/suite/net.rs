//! A devnet, somebody who pays, and a topic.

use inbox_devnet::ledger::{Funded, TREASURY, TREASURY_KEY, funded};
use inbox_devnet::{Devnet, Options};
use inbox_hedera::client::{Asking, Client, Operator};
use inbox_hedera::key::PrivateKey;
use inbox_hedera::mirror::Mirror;
use inbox_hedera::network::Network;
use inbox_hedera::proto::{CreateTopicBody, Data, Key};

/// A devnet on ports of its own.
pub(crate) struct Net {
    pub(crate) devnet: Devnet,
    pub(crate) network: Network,
    pub(crate) client: Client,
}

impl Net {
    pub(crate) async fn start() -> Self {
        let devnet = Devnet::start(&Options::anywhere()).await.unwrap();
        let network = Network::at(
            devnet.node.to_string(),
            format!("http://{}", devnet.rest),
            devnet.mirror.to_string(),
        );
        let client = network.client(treasury());
        Net {
            devnet,
            network,
            client,
        }
    }

    /// A client of one of those who have something in the beginning.
    pub(crate) fn client_of(&self, one: &Funded) -> Client {
        self.network.client(Operator {
            account: one.num,
            key: one.key.clone(),
        })
    }

    pub(crate) async fn topic(&self, body: CreateTopicBody) -> inbox_hcs::TopicId {
        let asking = Asking::of(Data::CreateTopic(body));
        let made = self.client.execute(&asking).await.unwrap();
        made.receipt.topic_id.unwrap().id().unwrap()
    }

    /// Asks the mirror, which waits for its answers, outside of the runtime's threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(Mirror) -> T + Send + 'static,
    ) -> T {
        let mirror = self.network.reader();
        tokio::task::spawn_blocking(move || ask(mirror))
            .await
            .unwrap()
    }
}

pub(crate) fn treasury() -> Operator {
    Operator {
        account: TREASURY,
        key: TREASURY_KEY.parse().unwrap(),
    }
}

/// One of those who have something in the beginning.
pub(crate) fn somebody(place: usize) -> Funded {
    funded().unwrap().into_iter().nth(place).unwrap()
}

pub(crate) fn public(key: &PrivateKey) -> Key {
    Key::from(&key.public().unwrap())
}
