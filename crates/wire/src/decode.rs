//! Text to JSON, strictly: what two readers could understand in two ways is refused.
//!
//! The usual parser keeps the last of two equal keys without a word, so that a check and a use of the same
//! text could see different documents. This reader refuses duplicate keys, lone surrogates, NUL characters,
//! deep nesting, large texts and anything after the value. It is written out, not a visitor of
//! `serde_json`, because that library passes numbers of any precision through a magic key which an
//! object of the sender could carry as well.

use serde_json::{Map, Number, Value};

use crate::problem::{Problem, RESERVED, push_token, quoted};

/// The largest text, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting of lists and objects.
pub const MAX_DEPTH: usize = 64;
/// The same of a payload, which is nobody's to narrow: what answers put around it still fits the 128 levels
/// that common readers take.
const PAYLOAD_DEPTH: usize = 120;
/// The same of a Wire that has a payload in it.
const CARRIER_DEPTH: usize = PAYLOAD_DEPTH + 4;

/// Reads one JSON value that fills the whole text.
pub fn decode(text: &str) -> Result<Value, Problem> {
    must_fit(text)?;
    read(text, false, MAX_DEPTH)
}

/// The same, for payloads that are kept as they are: a NUL that is written as an escape is kept.
pub fn decode_payload(text: &str) -> Result<Value, Problem> {
    must_fit(text)?;
    read(text, true, PAYLOAD_DEPTH)
}

/// The same, for what holds payloads and other fields, and was measured by who read it.
pub fn decode_request(text: &str) -> Result<Value, Problem> {
    read(text, true, PAYLOAD_DEPTH)
}

/// The same, for what travels with a payload in it, and was measured by who read it.
pub fn decode_carrier(text: &str) -> Result<Value, Problem> {
    read(text, true, CARRIER_DEPTH)
}

fn must_fit(text: &str) -> Result<(), Problem> {
    if text.len() > MAX_BYTES {
        let message = format!("has {} bytes; the most is {MAX_BYTES}", text.len());
        return Err(Problem::new("", message));
    }
    Ok(())
}

fn read(text: &str, takes_nul: bool, most_depth: usize) -> Result<Value, Problem> {
    let mut reader = Reader {
        text,
        at: 0,
        path: String::new(),
        depth: 0,
        takes_nul,
        most_depth,
    };
    reader.skip_space();
    let value = reader.value()?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.fault("there is more text after the value"));
    }
    Ok(value)
}

struct Reader<'t> {
    text: &'t str,
    /// The next byte; always at the boundary of a character.
    at: usize,
    path: String,
    depth: usize,
    takes_nul: bool,
    most_depth: usize,
}

impl Reader<'_> {
    fn fault(&self, what: impl std::fmt::Display) -> Problem {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Problem::new(
            self.path.clone(),
            format!("{what} (line {line}, column {column})"),
        )
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        match self.text[self.at..].chars().next() {
            Some(c) => self.fault(format_args!(
                "{wanted} was expected, not {}",
                quoted(c.encode_utf8(&mut [0; 4]))
            )),
            None => self.fault(format_args!("{wanted} was expected, but the text ends")),
        }
    }

    fn value(&mut self) -> Result<Value, Problem> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for (word, value) in [
                    ("null", Value::Null),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                ] {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.unexpected("a value"))
            }
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, Problem>,
    ) -> Result<Value, Problem> {
        self.depth += 1;
        let most = self.most_depth;
        if self.depth > most {
            return Err(self.fault(format_args!(
                "is nested too deeply; the most is {most} levels"
            )));
        }
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, Problem> {
        let mut map = Map::new();
        self.skip_space();
        if self.eat(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            let length = self.path.len();
            push_token(&mut self.path, &key);
            if map.contains_key(&key) {
                return Err(self.fault(format_args!("the key {} is there twice", quoted(&key))));
            }
            if key.starts_with(RESERVED) {
                return Err(self.fault("the key is reserved and cannot be carried"));
            }
            self.skip_space();
            if !self.eat(b':') {
                return Err(self.unexpected("a colon"));
            }
            self.skip_space();
            let value = self.value()?;
            self.path.truncate(length);
            map.insert(key, value);
            self.skip_space();
            if self.eat(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("a comma or }"));
            }
        }
    }

    fn list(&mut self) -> Result<Value, Problem> {
        let mut items = Vec::new();
        self.skip_space();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            self.skip_space();
            let length = self.path.len();
            push_token(&mut self.path, &items.len().to_string());
            let item = self.value()?;
            self.path.truncate(length);
            items.push(item);
            self.skip_space();
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("a comma or ]"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), Problem> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Problem> {
        let start = self.at;
        self.eat(b'-');
        if self.eat(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.fault("a number does not begin with 0"));
            }
        } else {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        self.text[start..self.at]
            .parse::<Number>()
            .map(Value::Number)
            .map_err(|_| self.fault("the number cannot be read"))
    }

    fn string(&mut self) -> Result<String, Problem> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest
                .find(|c: char| c == '"' || c == '\\' || c < ' ')
                .unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    let c = self.escape()?;
                    out.push(c);
                }
                Some(_) => {
                    return Err(self.fault("a control character in a string must be escaped"));
                }
                None => return Err(self.fault("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Problem> {
        let start = self.at;
        self.at += 1;
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode(start);
            }
            _ => return Err(self.unexpected("an escape such as \\n or \\u00e9")),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode(&mut self, start: usize) -> Result<char, Problem> {
        let first = self.hex()?;
        let code = match first {
            0 if !self.takes_nul => {
                self.at = start;
                return Err(self.fault("a NUL character cannot be stored"));
            }
            0xd800..=0xdbff => {
                if !self.text[self.at..].starts_with("\\u") {
                    self.at = start;
                    return Err(self.fault("a lone surrogate is no character"));
                }
                self.at += 2;
                let second = self.hex()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    self.at = start;
                    return Err(self.fault("a lone surrogate is no character"));
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| {
            self.at = start;
            self.fault("a lone surrogate is no character")
        })
    }

    fn hex(&mut self) -> Result<u32, Problem> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("four hexadecimal digits"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}
