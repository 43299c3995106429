//! Names, files, and what is public.

use super::*;

#[test]
fn the_networks_that_have_names_are_known() {
    for name in ["mainnet", "testnet", "previewnet"] {
        let network = Network::named(name).expect("it is known");
        assert_eq!(network.name, name);
        assert!(network.nodes.len() > 3 && network.is_public());
        assert!(network.mirror.starts_with("https://") && network.stream.ends_with(":443"));
    }
    let local = Network::named("local").expect("it is known");
    assert_eq!(local.nodes[0].address, "127.0.0.1:50211");
    assert_eq!(local.nodes[0].account, 3);
    assert_eq!(
        (local.mirror.as_str(), local.stream.as_str()),
        ("http://127.0.0.1:5551", "127.0.0.1:5600")
    );
    assert!(!local.is_public());
    let refused = Network::named("no-such-network").expect_err("nobody knows it");
    assert!(refused.to_string().contains("testnet"), "{refused}");
}

#[test]
fn a_file_names_a_network_in_either_form_of_the_sdks() {
    let parse = |text: &str| file::parse("my.json", text);
    let one = parse(r#"{"network":{"10.0.0.7:50211":"0.0.4"},"mirrorNetwork":["10.0.0.8:5600"]}"#)
        .expect("it is a network");
    let other = parse(
        r#"{"network":{"0.0.4":"10.0.0.7:50211"},"mirrorNetwork":"10.0.0.8:5600","operator":{}}"#,
    )
    .expect("it is a network");
    assert_eq!(one, other);
    assert_eq!(one.mirror, "http://10.0.0.8:5551");
    assert!(!one.is_public());
    let own = parse(
        r#"{"network":{"node.example:50212":"0.0.3"},"mirrorNetwork":["m.example:443"],"mirrorRest":"https://r.example/api/v1/"}"#,
    )
    .expect("it is a network");
    assert_eq!(
        (own.mirror.as_str(), own.stream.as_str()),
        ("https://r.example", "m.example:443")
    );
    assert!(own.is_public());
    let known = parse(r#"{"network":"testnet"}"#).expect("it is a network");
    assert_eq!(known.mirror, "https://testnet.mirrornode.hedera.com");
    for bad in [
        "",
        "[]",
        "{}",
        r#"{"network":"nowhere"}"#,
        r#"{"network":{}}"#,
        r#"{"network":{"10.0.0.7":"0.0.4"},"mirrorNetwork":["10.0.0.8:5600"]}"#,
        r#"{"network":{"10.0.0.7:50211":"four"},"mirrorNetwork":["10.0.0.8:5600"]}"#,
        r#"{"network":{"10.0.0.7:50211":"0.0.4"}}"#,
        r#"{"network":{"10.0.0.7:50211":"0.0.4"},"mirrorNetwork":[]}"#,
        r#"{"network":"testnet","mirrorRest":"ftp://x"}"#,
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn whoever_is_beyond_the_own_networks_is_public() {
    for near in [
        "127.0.0.1:1",
        "[::1]:50211",
        "localhost:5600",
        "192.168.1.4:1",
        "network-node:50211",
        "mirror.test",
    ] {
        assert!(is_near(near), "{near}");
    }
    for far in [
        "34.94.106.61:50211",
        "testnet.mirrornode.hedera.com:443",
        "[2001:db8::1]:1",
    ] {
        assert!(!is_near(far), "{far}");
    }
    let mixed = Network::at("127.0.0.1:1", "https://mirror.example/x", "127.0.0.1:2");
    assert!(mixed.is_public());
}

#[test]
fn of_the_address_book_tls_is_taken_where_the_certificate_is_known() {
    let node = |number: u64, hash: Option<[u8; 48]>, ports: &[u16]| NodeFacts {
        account: inbox_hcs::AccountId::new(0, 0, number).expect("it is an id"),
        endpoints: ports
            .iter()
            .map(|port| ("node.example".into(), *port))
            .collect(),
        cert_hash: hash,
    };
    let book = [
        node(3, Some([7; 48]), &[50211, 50212]),
        node(4, None, &[50211, 50212]),
        node(5, Some([8; 48]), &[50211]),
        node(6, Some([9; 48]), &[8080]),
    ];
    let network = Network::named("testnet").expect("it is known");
    let found = network.clone().with_nodes(&book);
    let addresses: Vec<_> = found
        .nodes
        .iter()
        .map(|node| (node.account, node.address.as_str()))
        .collect();
    let wanted = [
        (3, "node.example:50212"),
        (4, "node.example:50211"),
        (5, "node.example:50211"),
    ];
    assert_eq!(addresses, wanted);
    assert_eq!(found.hashes.keys().copied().collect::<Vec<_>>(), [3]);
    // A book with nothing in it is no reason to know nobody.
    assert_eq!(network.clone().with_nodes(&[]), network);
}

const NETWORKS: &[&str] = &[
    r#"{"network":"testnet","mirrorNetwork":"testnet"}"#,
    r#"{"network":{"127.0.0.1:50211":"0.0.3"},"mirrorNetwork":["127.0.0.1:5600"],"mirrorRest":"http://127.0.0.1:5551/api/v1"}"#,
    r#"{"network":{"0.0.3":"node:443"},"mirrorNetwork":"mirror:443"}"#,
];

proptest::proptest! {
    #![proptest_config(crate::damage::cases(800))]

    #[test]
    fn whatever_a_file_of_a_network_says_it_is_read_or_refused(text in crate::damage::damaged_text(NETWORKS.to_vec())) {
        if let Ok(network) = file::parse("x", &text) {
            proptest::prop_assert!(!network.nodes.is_empty() && !network.stream.is_empty());
            let _ = network.is_public();
        }
    }
}
