//! How JSON is broken into lines: indented by two, and from a depth on everything on one line.
//!
//! In a document that depth is a block's: a line a block can be read, compared and searched, and indenting
//! its twelve fields one by one would double the size of a large document.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Containers inside this many others are written on one line: `cases`, a case, `ranks`, a rank, `blocks`, a
/// block.
const DEEPEST_INDENTED: usize = 6;

/// serde_json's formatter for it.
#[derive(Default)]
pub(super) struct Lines {
    depth: usize,
    /// Whether the container being closed has anything in it.
    filled: bool,
}

impl Lines {
    fn open<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(bracket)
    }

    fn close<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        let on_lines = self.filled && self.depth <= DEEPEST_INDENTED;
        self.depth -= 1;
        if on_lines {
            self.line(writer)?;
        }
        self.filled = true;
        writer.write_all(bracket)
    }

    /// Before an item or a key.
    fn next<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        match (self.depth <= DEEPEST_INDENTED, first) {
            (true, _) => self.line(writer),
            (false, true) => Ok(()),
            (false, false) => writer.write_all(b" "),
        }
    }

    fn line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    use super::*;

    fn text(value: &Value) -> Result<String, Box<dyn std::error::Error>> {
        let mut bytes = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut bytes, Lines::default()))?;
        Ok(String::from_utf8(bytes)?)
    }

    #[test]
    fn what_is_not_deep_is_indented_as_serde_json_does() -> Result<(), Box<dyn std::error::Error>> {
        for value in
            [json!([]), json!({}), json!({"a": [1, {}, []], "b": {"c": null, "d": [[[2.5]]]}}), json!("x")]
        {
            assert_eq!(text(&value)?, serde_json::to_string_pretty(&value)?);
        }
        Ok(())
    }

    #[test]
    fn what_is_deep_has_a_line_of_its_own() -> Result<(), Box<dyn std::error::Error>> {
        let block = json!({"rounds": 3, "times": [1, 2], "none": [], "more": {"x": {}}});
        let text = text(&json!([[[[[[block.clone(), block.clone(), []]]]]]]))?;
        let line = format!("{:12}{}", "", r#"{"more": {"x": {}}, "none": [], "rounds": 3, "times": [1, 2]}"#);
        let want = ["          [", &format!("{line},"), &format!("{line},"), "            []", "          ]"];
        assert_eq!(text.lines().skip(5).take(5).collect::<Vec<_>>(), want, "{text}");
        Ok(())
    }
}
