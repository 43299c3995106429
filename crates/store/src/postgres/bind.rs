//! Values on their way to PostgreSQL and back.

use std::error::Error;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::error::StoreError;
use crate::value::{Param, Row, Value};

/// A value that does not fit the type that the statement gives it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misfit(String);

/// A parameter that owns its text, so that it can go to the driver's thread.
#[derive(Debug)]
pub(super) struct Bound(Value);

/// Parameters that can go to the driver's thread.
pub(super) fn bound(params: &[Param<'_>]) -> Vec<Bound> {
    let own = |param: &Param<'_>| match *param {
        Param::Null => Value::Null,
        Param::Int(value) => Value::Int(value),
        Param::Text(value) => Value::Text(value.to_owned()),
    };
    params.iter().map(|param| Bound(own(param))).collect()
}

type Encoded = Result<IsNull, Box<dyn Error + Sync + Send>>;

impl ToSql for Bound {
    /// Statements are written without types: an integer takes the width that PostgreSQL inferred.
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Encoded {
        let too_wide = |_| Misfit(format!("{:?} is out of the range of {ty}", self.0));
        match (&self.0, ty) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Int(value), &Type::INT2) => {
                i16::try_from(*value).map_err(too_wide)?.to_sql(ty, out)
            }
            (Value::Int(value), &Type::INT4) => {
                i32::try_from(*value).map_err(too_wide)?.to_sql(ty, out)
            }
            (Value::Int(value), &Type::INT8) => value.to_sql(ty, out),
            (Value::Int(value), &Type::OID) => {
                u32::try_from(*value).map_err(too_wide)?.to_sql(ty, out)
            }
            (Value::Text(value), &Type::TEXT | &Type::VARCHAR | &Type::BPCHAR | &Type::NAME) => {
                value.to_sql(ty, out)
            }
            (Value::Int(_), _) => Err(Misfit(format!("an integer where {ty} is due")).into()),
            (Value::Text(_), _) => Err(Misfit(format!("a text where {ty} is due")).into()),
        }
    }

    /// Every type: what does not fit is found by [`ToSql::to_sql`], which knows the value.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

struct Cell(Value);

impl<'a> FromSql<'a> for Cell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Cell(match *ty {
            Type::INT2 => Value::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Value::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Value::Int(i64::from_sql(ty, raw)?),
            Type::BOOL => Value::Int(bool::from_sql(ty, raw)?.into()),
            Type::TEXT | Type::VARCHAR | Type::NAME => Value::Text(String::from_sql(ty, raw)?),
            _ => return Err(Misfit(format!("the type {ty} is not read")).into()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Cell(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The rows of an answer.
pub(super) fn rows(
    statement: &'static str,
    answer: &[tokio_postgres::Row],
) -> Result<Vec<Row>, StoreError> {
    let read = |row: &tokio_postgres::Row| {
        let cells = (0..row.len()).map(|i| row.try_get::<_, Cell>(i).map(|cell| cell.0));
        cells.collect::<Result<Vec<Value>, _>>().map(Row::new)
    };
    let unread =
        |error| StoreError::Database(format!("{statement}: {}", super::failure::words(&error)));
    answer
        .iter()
        .map(read)
        .collect::<Result<_, _>>()
        .map_err(unread)
}
