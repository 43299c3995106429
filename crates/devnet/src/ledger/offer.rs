//! A transaction as it came, with what can be looked at before its turn: checking signatures takes longer than anything else, and needs
//! nothing that the ledger has.

use inbox_hedera::key::{Algorithm, PublicKey};
use inbox_hedera::proto::{Code, SignatureKind, SignaturePair};
use inbox_hedera::signature::MOST;
use inbox_hedera::transaction::Signed;

use super::precheck;

/// A transaction that somebody wants to have carried out.
#[derive(Debug)]
pub struct Offer(pub(super) Result<Offered, Code>);

/// One that can be read.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) signed: Signed,
    /// Of every signature that names its whole key, whether it is good.
    verdicts: Vec<Option<bool>>,
}

impl Offer {
    /// Reads a transaction as it comes over the wire, and checks its signatures.
    pub fn read(bytes: &[u8]) -> Self {
        Offer(match Signed::read(bytes) {
            Err(error) => Err(precheck::unreadable(&error)),
            Ok(signed) => {
                let pairs = signed.signatures.pairs.iter().take(MOST);
                let verdicts = pairs.map(|pair| verdict(pair, &signed.body_bytes));
                Ok(Offered {
                    verdicts: verdicts.collect(),
                    signed,
                })
            }
        })
    }
}

/// How a pair signs, and its signature.
fn parts(pair: &SignaturePair) -> Option<(Algorithm, &[u8])> {
    match &pair.signature {
        Some(SignatureKind::Ed25519(bytes)) => Some((Algorithm::Ed25519, bytes)),
        Some(SignatureKind::EcdsaSecp256k1(bytes)) => Some((Algorithm::Ecdsa, bytes)),
        _ => None,
    }
}

/// Whether a signature is good; nothing where the start of a key may be that of several.
fn verdict(pair: &SignaturePair, body: &[u8]) -> Option<bool> {
    let (algorithm, signature) = parts(pair)?;
    let key = PublicKey::from_bytes(algorithm, &pair.pub_key_prefix).ok()?;
    Some(key.verifies(body, signature))
}

impl Offered {
    /// Whether a key has signed it.
    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.signature_of(key).is_some()
    }

    /// The signature of a key.
    pub(super) fn signature_of(&self, key: &PublicKey) -> Option<&[u8]> {
        let pairs = self.signed.signatures.pairs.iter().zip(&self.verdicts);
        pairs.into_iter().find_map(|(pair, verdict)| {
            let (algorithm, signature) = parts(pair)?;
            let is_its =
                algorithm == key.algorithm() && key.bytes().starts_with(&pair.pub_key_prefix);
            let is_good =
                || verdict.unwrap_or_else(|| key.verifies(&self.signed.body_bytes, signature));
            (is_its && is_good()).then_some(signature)
        })
    }
}
