//! Compressing and decompressing, never further than a cap.

use std::io::Read;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::Algorithm;
use crate::report::Refused;

/// The largest window of zstd, which is memory that a frame may ask for: what RFC 8878 wants every decoder to have.
const ZSTD_WINDOW: u64 = 8 << 20;
/// The most frames of zstd in one file; each costs a window.
const ZSTD_FRAMES: usize = 16;
/// Between speed and size.
const BROTLI_QUALITY: i32 = 9;

pub(super) fn compress(content: &[u8], algorithm: Algorithm) -> Result<Vec<u8>, Refused> {
    match algorithm {
        Algorithm::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            Ok(ruzstd::encoding::compress_to_vec(content, level))
        }
        Algorithm::Brotli => {
            let parameters = brotli::enc::BrotliEncoderParams {
                quality: BROTLI_QUALITY,
                size_hint: content.len(),
                ..brotli::enc::BrotliEncoderParams::default()
            };
            let mut out = Vec::new();
            let mut input = content;
            brotli::BrotliCompress(&mut input, &mut out, &parameters)
                .map_err(|_| Refused::Corrupt("it cannot be compressed"))?;
            Ok(out)
        }
    }
}

/// The content, or a refusal as soon as it has more than `most` bytes.
pub(super) fn decompress(
    input: &[u8],
    algorithm: Algorithm,
    most: usize,
) -> Result<Vec<u8>, Refused> {
    let mut out = Vec::new();
    match algorithm {
        Algorithm::Zstd => decompress_zstd(input, &mut out, most)?,
        Algorithm::Brotli => {
            // Streams with a large window, which are no brotli by its RFC, may ask for a gibibyte at once.
            if input.first().is_some_and(|byte| byte & 0x7f == 0x11) {
                return Err(Refused::Corrupt("its brotli asks for a large window"));
            }
            pour(brotli::Decompressor::new(input, 4_096), &mut out, most)?;
        }
    }
    Ok(out)
}

fn decompress_zstd(mut input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<(), Refused> {
    const BROKEN: Refused = Refused::Corrupt("its zstd is broken");
    for _ in 0..ZSTD_FRAMES {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        match StreamingDecoder::new_with_decoder(&mut input, decoder) {
            Ok(frame) => pour(frame, out, most)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = usize::try_from(length).map_err(|_| BROKEN)?;
                input = input.get(length..).ok_or(BROKEN)?;
            }
            Err(_) => return Err(BROKEN),
        }
        if input.is_empty() {
            return Ok(());
        }
    }
    Err(Refused::Corrupt("its zstd has too many frames"))
}

/// Reads to the end, and no further than `most` bytes in all.
fn pour(mut from: impl Read, out: &mut Vec<u8>, most: usize) -> Result<(), Refused> {
    let mut piece = [0; 16_384];
    loop {
        let length = from
            .read(&mut piece)
            .map_err(|_| Refused::Corrupt("what is compressed is broken"))?;
        if length == 0 {
            return Ok(());
        }
        if out.len() + length > most {
            return Err(Refused::Bomb { most });
        }
        out.extend_from_slice(&piece[..length]);
    }
}
