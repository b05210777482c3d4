//! The two fields that every document has in every version: which schema, and which version of it.
//!
//! Ours come first in what is written here, so a document of half a gigabyte is known by its first line:
//! reading ends where both are found. In documents that others wrote they may stand anywhere; then everything
//! before them is passed over without being kept.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Deserializer, Value};

/// The two fields, as they are.
#[derive(Default)]
pub(crate) struct Header {
    pub(crate) schema: Option<Value>,
    pub(crate) schema_version: Option<Value>,
}

impl Header {
    /// The header of a JSON text; of one that is no object it is empty. What comes after the header is not
    /// looked at.
    ///
    /// # Errors
    /// It is not JSON as far as it was read.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let mut header = Self::default();
        let mut deserializer = Deserializer::from_slice(bytes);
        let ended = deserializer.deserialize_map(&mut header).and_then(|()| deserializer.end());
        match ended {
            Err(fault) if !fault.is_data() && !header.is_whole() => Err(fault),
            _ => Ok(header),
        }
    }

    fn is_whole(&self) -> bool {
        self.schema.is_some() && self.schema_version.is_some()
    }
}

impl<'de> Visitor<'de> for &mut Header {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with schema and schema_version")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match &name[..] {
                "schema" => self.schema = Some(map.next_value()?),
                "schema_version" => self.schema_version = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if self.is_whole() {
                // An error is how a visitor stops reading; it is taken for none above.
                return Err(A::Error::custom("both are found"));
            }
        }
        Ok(())
    }
}

/// The name of a document's schema; `None` where it has none, or is no JSON.
pub fn schema_of(bytes: &[u8]) -> Option<String> {
    Header::of(bytes).ok()?.schema?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_found_wherever_it_stands_and_what_follows_is_not_read() -> Result<(), serde_json::Error>
    {
        for text in [
            r#"{"schema": "a.b", "schema_version": "1.2", "cases": ["#,
            r#"{"cases": [1, {"schema": "inner"}], "schema_version": "1.2", "schema": "a.b"}"#,
        ] {
            let header = Header::of(text.as_bytes())?;
            assert_eq!(
                (header.schema, header.schema_version),
                (Some("a.b".into()), Some("1.2".into())),
                "{text}"
            );
        }
        assert_eq!(schema_of(br#"{"schema": "a.b"}"#), Some("a.b".to_owned()));
        Ok(())
    }

    #[test]
    fn what_has_no_header_has_none_and_what_is_no_json_is_an_error() -> Result<(), serde_json::Error> {
        for text in ["[]", "1", "{}", r#"{"schema": 7}"#] {
            assert!(Header::of(text.as_bytes())?.schema_version.is_none(), "{text}");
            assert_eq!(schema_of(text.as_bytes()), None, "{text}");
        }
        for text in ["", "{", "not JSON", r#"{"schema": "a"} trailing"#] {
            assert!(Header::of(text.as_bytes()).is_err(), "{text}");
        }
        Ok(())
    }
}
