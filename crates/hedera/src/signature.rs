//! Signatures of a transaction: made over the bytes of its body, and checked over the same bytes as they came.

use crate::key::{Algorithm, KeyError, PrivateKey, PublicKey};
use crate::proto::{SignatureKind, SignatureMap, SignaturePair};

/// The most signatures of a transaction that are looked at.
pub const MOST: usize = 1000;

impl SignatureMap {
    /// The signatures of these keys of a body.
    pub fn of<'a>(
        keys: impl IntoIterator<Item = &'a PrivateKey>,
        body: &[u8],
    ) -> Result<Self, KeyError> {
        let mut map = SignatureMap::default();
        for key in keys {
            map.add(key, body)?;
        }
        Ok(map)
    }

    /// Adds the signature of a key, unless it is there.
    pub fn add(&mut self, key: &PrivateKey, body: &[u8]) -> Result<(), KeyError> {
        let public = key.public()?;
        if self
            .pairs
            .iter()
            .any(|pair| pair.pub_key_prefix == public.bytes())
        {
            return Ok(());
        }
        let signature = key.sign(body)?;
        self.pairs.push(SignaturePair {
            pub_key_prefix: public.bytes().to_vec(),
            signature: Some(match key.algorithm() {
                Algorithm::Ed25519 => SignatureKind::Ed25519(signature),
                Algorithm::Ecdsa => SignatureKind::EcdsaSecp256k1(signature),
            }),
        });
        Ok(())
    }

    /// Whether a key has signed a body.
    pub fn has(&self, key: &PublicKey, body: &[u8]) -> bool {
        self.find(key, body).is_some()
    }

    /// The signature of a key of a body.
    pub fn find(&self, key: &PublicKey, body: &[u8]) -> Option<&[u8]> {
        self.pairs.iter().take(MOST).find_map(|pair| {
            let signature = match &pair.signature {
                Some(SignatureKind::Ed25519(bytes)) if key.algorithm() == Algorithm::Ed25519 => {
                    bytes
                }
                Some(SignatureKind::EcdsaSecp256k1(bytes))
                    if key.algorithm() == Algorithm::Ecdsa =>
                {
                    bytes
                }
                _ => return None,
            };
            let is_its = key.bytes().starts_with(&pair.pub_key_prefix);
            (is_its && key.verifies(body, signature)).then_some(signature.as_slice())
        })
    }
}
