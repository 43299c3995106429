//! Whose program is at the other end of a connection within this machine.
//!
//! A browser that is opened for a person has the link among its arguments, which every user of the machine can read. So that link opens
//! for the programs of the user who runs the server, and for nobody else who was quick to read it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where the system lists its connections, with the users whose they are.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// A connection that is there: one that its owner has let go of counts as nobody's, and is listed as the system's own.
const ESTABLISHED: &str = "01";

/// One that takes in whoever comes.
const LISTENS: &str = "0A";

/// Whether all who listen at an address are programs of this user, or of the system's own. What is sent there is for nobody else.
/// Where the system does not say, nothing is known against it.
pub(crate) fn is_own_listener(address: SocketAddr) -> bool {
    let found: Vec<String> = TABLES
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .collect();
    let own = rustix::process::geteuid().as_raw();
    let mut users = found.iter().flat_map(|table| listeners(table, address));
    users.all(|user| user == own || user == 0)
}

/// The users whose sockets listen at an address, or at every one, by one of the system's tables.
fn listeners(table: &str, address: SocketAddr) -> Vec<u32> {
    let everywhere = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let places = everywhere.into_iter().chain([address.ip()]);
    let places: Vec<String> = places
        .flat_map(written)
        .map(|ip| format!("{ip}:{:04X}", address.port()))
        .collect();
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, at, _, state, _, _, _, user, ..] = fields[..] else {
                return None;
            };
            let is_it = state == LISTENS && places.iter().any(|place| place == at);
            is_it.then(|| user.parse().ok())?
        })
        .collect()
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

impl Peer {
    /// Whether it is a program of the user who runs this server, which listens on this port, or of the system's own user, who hands
    /// on what comes from elsewhere, such as the host of a virtual machine.
    pub(super) fn is_own(self, port: u16) -> bool {
        let own = rustix::process::geteuid().as_raw();
        let mut owners = TABLES.iter().filter_map(|table| {
            let table = std::fs::read_to_string(table).ok()?;
            owner(&table, self.0, port)
        });
        owners.any(|user| user == own || user == 0)
    }
}

/// The user whose socket has this address and is connected with this port, by one of the system's tables.
fn owner(table: &str, address: SocketAddr, port: u16) -> Option<u32> {
    let ends = written(address.ip()).map(|ip| format!("{ip}:{:04X}", address.port()));
    let to = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, from, with, state, _, _, _, user, ..] = fields[..] else {
            return None;
        };
        let is_it = ends.iter().any(|end| end == from) && with.ends_with(&to);
        (is_it && state == ESTABLISHED).then(|| user.parse().ok())?
    })
}

/// An address as the tables write it: by itself, and as one of the newer form.
fn written(ip: IpAddr) -> [String; 2] {
    let words = |ip: Ipv6Addr| -> String {
        let octets = ip.octets();
        let words = octets.chunks_exact(4).map(|four| {
            let mut word = [0; 4];
            word.copy_from_slice(four);
            format!("{:08X}", u32::from_ne_bytes(word))
        });
        words.collect()
    };
    match ip.to_canonical() {
        IpAddr::V4(ip) => [
            format!("{:08X}", u32::from_ne_bytes(ip.octets())),
            words(ip.to_ipv6_mapped()),
        ],
        IpAddr::V6(ip) => [words(ip), words(ip)],
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_of_this_process_is_our_own() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // A machine may be without the newer form.
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_server, peer) = listener.accept().unwrap();
            assert!(Peer(peer).is_own(port), "{peer}");
            assert!(!Peer(peer).is_own(port ^ 1), "another server's");
            drop(client);
            assert!(!Peer(peer).is_own(port), "it has let go");
        }
    }

    #[test]
    fn the_user_is_that_of_the_very_socket() {
        let line = |from: &str, with: &str, state: &str, user: u32| {
            format!(
                "   0: {from} {with} {state} 00000000:00000000 00:00000000 00000000  {user}        0 7 1\n"
            )
        };
        let here = u32::from_ne_bytes([127, 0, 0, 1]);
        let (client, server) = (format!("{here:08X}:D431"), format!("{here:08X}:111C"));
        let table = [
            "  sl  local_address rem_address   st\n".to_owned(),
            line(&server, &client, "01", 1),
            line(&client, &format!("{here:08X}:1F90"), "01", 2),
            line(&client, &server, "06", 0),
            line(&client, &server, "01", 1234),
            "broken\n".to_owned(),
        ]
        .concat();
        let peer = |text: &str| text.parse().unwrap();
        assert_eq!(owner(&table, peer("127.0.0.1:54321"), 4380), Some(1234));
        assert_eq!(
            owner(&table, peer("[::ffff:127.0.0.1]:54321"), 4380),
            Some(1234)
        );
        assert_eq!(owner(&table, peer("127.0.0.1:54322"), 4380), None);
        assert_eq!(owner(&table, peer("10.0.0.1:54321"), 4380), None);
    }

    #[test]
    fn who_listens_is_told_by_the_address_and_by_every_address() {
        let line = |at: &str, state: &str, user: u32| {
            format!(
                "   0: {at} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {user}        0 7 1\n"
            )
        };
        let here = u32::from_ne_bytes([127, 0, 0, 1]);
        let table = [
            "  sl  local_address rem_address   st\n".to_owned(),
            line(&format!("{here:08X}:111C"), LISTENS, 1),
            line("00000000:111C", LISTENS, 2),
            line(&format!("{here:08X}:111D"), LISTENS, 3),
            line("0A00000A:111C", LISTENS, 4),
            line(&format!("{here:08X}:111C"), ESTABLISHED, 5),
        ]
        .concat();
        let of = |text: &str| listeners(&table, text.parse().unwrap());
        assert_eq!(of("127.0.0.1:4380"), [1, 2]);
        assert_eq!(of("127.0.0.1:4381"), [3]);
        assert_eq!(of("127.0.0.1:4382"), [0; 0]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let own = rustix::process::geteuid().as_raw();
        let table = std::fs::read_to_string(TABLES[0]).unwrap();
        assert_eq!(listeners(&table, address), [own]);
        assert!(is_own_listener(address));
    }
}
