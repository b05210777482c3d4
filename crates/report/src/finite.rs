//! Refuses floats that JSON has no number for, and says where they are.
//!
//! serde_json writes NaN and infinities as `null` without a word, and in a document null means "not known,
//! see the reason". So a value is walked before it is written: this is a serde serializer that writes
//! nothing, only keeps the path it is on. It is written out in full because serde has no visitor for values
//! that are being serialized. A large document has some thirty million floats, so the path is kept as names
//! and numbers and becomes text only when it is told.

use std::fmt::Display;

use serde::ser::{self, Serialize};

/// A float in a value is not finite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path} is {value}, which JSON cannot write: a measured value is a finite number, and a missing one is \
     null with a reason"
)]
pub struct NonFinite {
    /// Where, as a path: `cases[0].ranks[1].outcome.summary.std_ns`.
    pub path: String,
    /// What it is: `NaN`, `inf` or `-inf`.
    pub value: String,
}

/// `Ok` when every float in `value` is finite.
pub(crate) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), NonFinite> {
    match value.serialize(&mut Walk::default()) {
        Err(Stop::Found(found)) => Err(found),
        Ok(()) | Err(Stop::Refused) => Ok(()),
    }
}

/// The serializer: the way to the present value.
#[derive(Default)]
struct Walk {
    path: Vec<Step>,
}

/// A step on the way: into a field, or into an item.
#[derive(Clone, Copy)]
enum Step {
    Field(&'static str),
    Item(usize),
}

/// The error type serde asks for.
#[derive(Debug)]
enum Stop {
    Found(NonFinite),
    /// A value's own serialize refused. The writer that comes after meets the same refusal, and has the words
    /// for it.
    Refused,
}

impl Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Found(found) => found.fmt(f),
            Self::Refused => f.write_str("the value refused to be serialized"),
        }
    }
}

impl std::error::Error for Stop {}

impl ser::Error for Stop {
    fn custom<M: Display>(_: M) -> Self {
        Self::Refused
    }
}

impl Walk {
    fn float(&self, value: f64) -> Result<(), Stop> {
        if value.is_finite() {
            return Ok(());
        }
        let step = |step: &Step| match step {
            Step::Field(name) => format!(".{name}"),
            Step::Item(index) => format!("[{index}]"),
        };
        let path: String = self.path.iter().map(step).collect();
        Err(Stop::Found(NonFinite {
            path: path.trim_start_matches('.').to_owned(),
            value: value.to_string(),
        }))
    }

    fn step<T: Serialize + ?Sized>(&mut self, step: Step, value: &T) -> Result<(), Stop> {
        self.path.push(step);
        value.serialize(&mut *self)?;
        self.path.pop();
        Ok(())
    }
}

/// A sequence, tuple, map or struct on the way: counts its items, remembers a map's key.
struct Items<'a> {
    walk: &'a mut Walk,
    index: usize,
}

impl Items<'_> {
    fn next<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        self.index += 1;
        self.walk.step(Step::Item(self.index - 1), value)
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Stop> {
        self.walk.step(Step::Field(name), value)
    }
}

macro_rules! nothing_to_check {
    ($($name:ident: $type:ty),+ $(,)?) => {
        $(fn $name(self, _: $type) -> Result<(), Stop> { Ok(()) })+
    };
}

impl<'a> ser::Serializer for &'a mut Walk {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    nothing_to_check!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    );

    fn serialize_f32(self, value: f32) -> Result<(), Stop> {
        self.float(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Stop> {
        self.float(value)
    }

    fn serialize_none(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.step(Step::Field(variant), value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, Stop> {
        Ok(Items { walk: self, index: 0 })
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, Stop> {
        Ok(Items { walk: self, index: 0 })
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Stop> {
        Ok(Items { walk: self, index: 0 })
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Stop> {
        Ok(Items { walk: self, index: 0 })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>, Stop> {
        Ok(Items { walk: self, index: 0 })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Stop> {
        Ok(Items { walk: self, index: 0 })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Stop> {
        Ok(Items { walk: self, index: 0 })
    }
}

macro_rules! by_index {
    ($($trait:ident, $method:ident);+ $(;)?) => {
        $(impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = Stop;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> { self.next(value) }
            fn end(self) -> Result<(), Stop> { Ok(()) }
        })+
    };
}

macro_rules! by_name {
    ($($trait:ident),+) => {
        $(impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = Stop;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Stop> {
                self.field(name, value)
            }
            fn end(self) -> Result<(), Stop> { Ok(()) }
        })+
    };
}

by_index!(SerializeSeq, serialize_element; SerializeTuple, serialize_element; SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field);
by_name!(SerializeStruct, SerializeStructVariant);

/// A map's values are named by position: no document keeps a measured value under a key of its own making.
impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        self.next(value)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(serde::Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Value { x_ns: Option<f64> },
    }

    #[derive(serde::Serialize)]
    struct Outer {
        plain: f64,
        list: Vec<Tagged>,
        map: BTreeMap<String, (f32, u8)>,
    }

    fn outer(plain: f64, deep: f64, in_map: f32) -> Outer {
        let list = vec![Tagged::Value { x_ns: None }, Tagged::Value { x_ns: Some(deep) }];
        Outer { plain, list, map: BTreeMap::from([("a".into(), (in_map, 1))]) }
    }

    #[test]
    fn finite_values_pass() {
        assert_eq!(check(&outer(-0.0, f64::MIN_POSITIVE, 1.5)), Ok(()));
    }

    #[test]
    fn a_float_that_is_no_number_is_named_by_its_path() {
        let found = |value: Outer| check(&value).err().map(|error| (error.path, error.value));
        assert_eq!(found(outer(f64::NAN, 1.0, 1.0)), Some(("plain".into(), "NaN".into())));
        assert_eq!(found(outer(1.0, f64::INFINITY, 1.0)), Some(("list[1].x_ns".into(), "inf".into())));
        assert_eq!(found(outer(1.0, 1.0, f32::NEG_INFINITY)), Some(("map[0][0]".into(), "-inf".into())));
    }
}
