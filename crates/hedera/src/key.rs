//! Keys: those that sign, those that are checked, and the trees of them that guard an account or a topic.

use std::fmt;
use std::str::FromStr;

use k256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use k256::ecdsa::{Signature, SigningKey, VerifyingKey};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha3::{Digest, Keccak256};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::proto::{Key, KeyKind, KeyList, ThresholdKey};

/// What stands before the 32 bytes of a key in DER, as Hedera's programs write it.
const ED25519_PRIVATE: &str = "302e020100300506032b657004220420";
const ED25519_PUBLIC: &str = "302a300506032b6570032100";
const ECDSA_PRIVATE: &str = "3030020100300706052b8104000a04220420";
const ECDSA_PUBLIC: &str = "302d300706052b8104000a032200";

/// The deepest tree of keys that is followed, as on Hedera's nodes.
const DEPTH: usize = 15;

/// A text that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It is not hexadecimal.
    #[error("the key is not hexadecimal text")]
    NotHex,
    /// It has another form than those that are known.
    #[error(
        "the key is none of: DER of Ed25519 or ECDSA (secp256k1), 32 bytes of Ed25519, 0x and 32 bytes of ECDSA"
    )]
    Form,
    /// Its bytes are on no curve.
    #[error("the key's bytes are not a point or number of its curve")]
    Value,
}

/// How a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Ed25519.
    Ed25519,
    /// ECDSA on secp256k1 over Keccak-256.
    Ecdsa,
}

/// A key that signs. Its bytes are wiped when it is dropped, and are never shown.
#[derive(Clone)]
pub struct PrivateKey {
    algorithm: Algorithm,
    bytes: Zeroizing<[u8; 32]>,
}

/// A key that is checked: one leaf of a tree.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey {
    algorithm: Algorithm,
    /// 32 bytes of Ed25519, or 33 of a compressed point.
    bytes: Vec<u8>,
}

impl PrivateKey {
    /// A new key from the system's generator.
    pub fn generate(algorithm: Algorithm) -> Result<Self, getrandom::Error> {
        loop {
            let mut bytes = Zeroizing::new([0; 32]);
            getrandom::fill(bytes.as_mut())?;
            // Of 2^128 numbers one is none of the curve.
            if let Ok(key) = Self::of(algorithm, bytes) {
                return Ok(key);
            }
        }
    }

    /// The key with these bytes.
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, KeyError> {
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| KeyError::Form)?;
        Self::of(algorithm, Zeroizing::new(bytes))
    }

    fn of(algorithm: Algorithm, bytes: Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        if algorithm == Algorithm::Ecdsa {
            SigningKey::from_slice(bytes.as_ref()).map_err(|_| KeyError::Value)?;
        }
        Ok(PrivateKey { algorithm, bytes })
    }

    /// How it signs.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key that others check its signatures by.
    pub fn public(&self) -> Result<PublicKey, KeyError> {
        let bytes = match self.algorithm {
            Algorithm::Ed25519 => self.ed25519()?.public_key().as_ref().to_vec(),
            Algorithm::Ecdsa => {
                let point = self.ecdsa()?.verifying_key().to_sec1_point(true);
                point.as_bytes().to_vec()
            }
        };
        Ok(PublicKey {
            algorithm: self.algorithm,
            bytes,
        })
    }

    /// Its signature of a message: 64 bytes.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match self.algorithm {
            Algorithm::Ed25519 => Ok(self.ed25519()?.sign(message).as_ref().to_vec()),
            Algorithm::Ecdsa => {
                let digest = Keccak256::digest(message);
                let signature: Signature = self
                    .ecdsa()?
                    .sign_prehash(&digest)
                    .map_err(|_| KeyError::Value)?;
                Ok(signature.to_bytes().to_vec())
            }
        }
    }

    /// Its DER form in hexadecimal: only for whoever asks to see a secret.
    pub fn reveal(&self) -> Zeroizing<String> {
        let head = match self.algorithm {
            Algorithm::Ed25519 => ED25519_PRIVATE,
            Algorithm::Ecdsa => ECDSA_PRIVATE,
        };
        Zeroizing::new(format!("{head}{}", hex(self.bytes.as_ref())))
    }

    fn ed25519(&self) -> Result<Ed25519KeyPair, KeyError> {
        Ed25519KeyPair::from_seed_unchecked(self.bytes.as_ref()).map_err(|_| KeyError::Value)
    }

    fn ecdsa(&self) -> Result<SigningKey, KeyError> {
        SigningKey::from_slice(self.bytes.as_ref()).map_err(|_| KeyError::Value)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({:?})", self.algorithm)
    }
}

impl FromStr for PrivateKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let (is_marked, digits) = match text.strip_prefix("0x") {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let bytes = Zeroizing::new(unhex(digits)?);
        let (algorithm, bytes) = match split(&bytes, ED25519_PRIVATE, ECDSA_PRIVATE) {
            Some(found) => found,
            None if is_marked => (Algorithm::Ecdsa, bytes.as_slice()),
            None => (Algorithm::Ed25519, bytes.as_slice()),
        };
        Self::from_bytes(algorithm, bytes)
    }
}

impl PublicKey {
    /// The key with these bytes.
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, KeyError> {
        let is_good = match algorithm {
            Algorithm::Ed25519 => bytes.len() == 32,
            Algorithm::Ecdsa => bytes.len() == 33 && VerifyingKey::from_sec1_bytes(bytes).is_ok(),
        };
        if !is_good {
            return Err(KeyError::Value);
        }
        Ok(PublicKey {
            algorithm,
            bytes: bytes.to_vec(),
        })
    }

    /// How it signs.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Its bytes without what says whose they are.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a signature of a message is of this key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Ed25519 => UnparsedPublicKey::new(&ED25519, &self.bytes)
                .verify(message, signature)
                .is_ok(),
            Algorithm::Ecdsa => {
                let digest = Keccak256::digest(message);
                let key = VerifyingKey::from_sec1_bytes(&self.bytes);
                let signature = Signature::from_slice(signature);
                match (key, signature) {
                    // Of the two forms of a signature some programs write either.
                    (Ok(key), Ok(signature)) => key
                        .verify_prehash(&digest, &signature.normalize_s())
                        .is_ok(),
                    _ => false,
                }
            }
        }
    }

    /// Its DER form in hexadecimal.
    pub fn to_der(&self) -> String {
        let head = match self.algorithm {
            Algorithm::Ed25519 => ED25519_PUBLIC,
            Algorithm::Ecdsa => ECDSA_PUBLIC,
        };
        format!("{head}{}", hex(&self.bytes))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_der())
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let bytes = unhex(text.strip_prefix("0x").unwrap_or(text))?;
        match (split(&bytes, ED25519_PUBLIC, ECDSA_PUBLIC), bytes.len()) {
            (Some((algorithm, bytes)), _) => Self::from_bytes(algorithm, bytes),
            (None, 32) => Self::from_bytes(Algorithm::Ed25519, &bytes),
            (None, 33) => Self::from_bytes(Algorithm::Ecdsa, &bytes),
            _ => Err(KeyError::Form),
        }
    }
}

impl From<&PublicKey> for Key {
    fn from(key: &PublicKey) -> Self {
        let bytes = key.bytes.clone();
        Key {
            key: Some(match key.algorithm {
                Algorithm::Ed25519 => KeyKind::Ed25519(bytes),
                Algorithm::Ecdsa => KeyKind::EcdsaSecp256k1(bytes),
            }),
        }
    }
}

impl Key {
    /// A key of which so many must sign.
    pub fn threshold(threshold: u32, keys: Vec<Key>) -> Self {
        Key {
            key: Some(KeyKind::Threshold(ThresholdKey {
                threshold,
                keys: Some(KeyList { keys }),
            })),
        }
    }

    /// A key of which all must sign.
    pub fn list(keys: Vec<Key>) -> Self {
        Key {
            key: Some(KeyKind::List(KeyList { keys })),
        }
    }

    /// The key itself, where it is one and no tree.
    pub fn leaf(&self) -> Option<PublicKey> {
        let (algorithm, bytes) = match &self.key {
            Some(KeyKind::Ed25519(bytes)) => (Algorithm::Ed25519, bytes),
            Some(KeyKind::EcdsaSecp256k1(bytes)) => (Algorithm::Ecdsa, bytes),
            _ => return None,
        };
        PublicKey::from_bytes(algorithm, bytes).ok()
    }

    /// Every key in the tree.
    pub fn leaves(&self) -> Vec<PublicKey> {
        let mut found = Vec::new();
        self.gather(&mut found, DEPTH);
        found
    }

    fn gather(&self, found: &mut Vec<PublicKey>, depth: usize) {
        let keys = match &self.key {
            Some(KeyKind::List(list)) => Some(list),
            Some(KeyKind::Threshold(ThresholdKey { keys, .. })) => keys.as_ref(),
            _ => None,
        };
        match (keys, depth.checked_sub(1)) {
            (Some(list), Some(below)) => {
                for key in &list.keys {
                    key.gather(found, below);
                }
            }
            (Some(_), None) => {}
            (None, _) => found.extend(self.leaf()),
        }
    }

    /// Whether it is one that can ever be satisfied: leaves with good bytes, and thresholds that can be met.
    pub fn is_valid(&self) -> bool {
        self.is_valid_within(DEPTH)
    }

    fn is_valid_within(&self, depth: usize) -> bool {
        let all = |keys: &KeyList| {
            depth > 0
                && !keys.keys.is_empty()
                && keys.keys.iter().all(|key| key.is_valid_within(depth - 1))
        };
        match &self.key {
            Some(KeyKind::List(keys)) => all(keys),
            Some(KeyKind::Threshold(ThresholdKey { threshold, keys })) => {
                keys.as_ref().is_some_and(|keys| {
                    let count = u32::try_from(keys.keys.len()).unwrap_or(u32::MAX);
                    all(keys) && (1..=count).contains(threshold)
                })
            }
            _ => self.leaf().is_some(),
        }
    }

    /// Whether it is the empty list, by which an update takes a key away.
    pub fn is_removal(&self) -> bool {
        matches!(&self.key, Some(KeyKind::List(list)) if list.keys.is_empty())
    }

    /// Whether those who signed satisfy it.
    pub fn is_satisfied(&self, has_signed: &dyn Fn(&PublicKey) -> bool) -> bool {
        self.is_satisfied_within(has_signed, DEPTH)
    }

    fn is_satisfied_within(&self, has_signed: &dyn Fn(&PublicKey) -> bool, depth: usize) -> bool {
        let Some(below) = depth.checked_sub(1) else {
            return false;
        };
        match &self.key {
            Some(KeyKind::List(KeyList { keys })) => {
                !keys.is_empty()
                    && keys
                        .iter()
                        .all(|key| key.is_satisfied_within(has_signed, below))
            }
            Some(KeyKind::Threshold(ThresholdKey { threshold, keys })) => {
                let keys = keys.as_ref().map_or(&[][..], |list| &list.keys);
                let wanted = usize::try_from(*threshold).unwrap_or(usize::MAX);
                let signed = keys
                    .iter()
                    .filter(|key| key.is_satisfied_within(has_signed, below))
                    .count();
                wanted > 0 && signed >= wanted
            }
            _ => self.leaf().is_some_and(|key| has_signed(&key)),
        }
    }
}

/// Bytes without the head that says which algorithm they are of.
fn split<'a>(bytes: &'a [u8], ed25519: &str, ecdsa: &str) -> Option<(Algorithm, &'a [u8])> {
    let after = |head: &str| bytes.strip_prefix(unhex(head).ok()?.as_slice());
    after(ed25519)
        .map(|rest| (Algorithm::Ed25519, rest))
        .or_else(|| after(ecdsa).map(|rest| (Algorithm::Ecdsa, rest)))
}

/// Bytes as hexadecimal text.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal text.
pub fn unhex(text: &str) -> Result<Vec<u8>, KeyError> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
            .ok_or(KeyError::NotHex)
    };
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return Err(KeyError::NotHex);
    };
    pairs
        .iter()
        .map(|[high, low]| Ok(digit(*high)? << 4 | digit(*low)?))
        .collect()
}
