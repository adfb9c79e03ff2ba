// keel/db/postgres/types.h — converts values of PostgreSQL's types to SQL values (value.h), and back.
//
// A column whose type is in the table below is read in PostgreSQL's binary format. Every other column, such as an enum
// or a composite, is read as the text that the server writes. In the simple protocol all columns arrive as text;
// booleans, integers, reals and bytea are converted to the types in the table, and all other columns stay text.
//
// | type                              | is read as                                                               |
// |-----------------------------------|--------------------------------------------------------------------------|
// | bool                              | integer 0 or 1                                                           |
// | int2, int4, int8, oid             | integer                                                                  |
// | float4, float8                    | real                                                                     |
// | text, varchar, bpchar, name       | text                                                                     |
// | json, jsonb                       | text                                                                     |
// | bytea                             | blob                                                                     |
// | uuid                              | text of 36 characters, as Uuid reads it                                  |
// | date                              | text 2026-11-24; infinity, -infinity; 0044-03-15 BC                      |
// | time                              | text 12:00:37.25                                                         |
// | timestamptz                       | text 2026-11-24T12:00:37.250000000Z, as Timestamp reads it; infinity     |
// | timestamp                         | the same: the database has no zone for it, and it is taken for UTC       |
// | interval                          | text of ISO 8601, P1Y2M3DT4H5M-6.7S: each part has its own sign          |
// | numeric                           | text, each digit as it is stored: 1.50, NaN, Infinity                    |
// | inet, cidr                        | text 10.0.0.1, 10.0.0.0/8, 2001:db8::1                                   |
// | arrays of these                   | text as the server writes it, the elements as above: {1,2,NULL,"a b"}    |
//
// Arguments are converted to the type that the server has inferred for the parameter ("other": a type that is not in
// the table above):
//
// | argument | is taken for                                                                                      |
// |----------|---------------------------------------------------------------------------------------------------|
// | NULL     | all types                                                                                         |
// | integer  | int2, int4, int8, oid in their range; bool when 0 or 1; float4, float8, numeric; other, as digits |
// | real     | float8; float4 in its range; numeric, by the digits that name the double; other, as these digits  |
// | text     | all types. In the form above it goes in binary; any other text goes as it is, and the server      |
// |          | reads it as it reads a literal such as '1 day'. For bytea: the text's own bytes                   |
// | blob     | bytea; other, in the type's own binary format                                                     |
//
// Errors:    InvalidArgument, from_environment(): "parameter $2: 70000 is not in the range of smallint", "parameter $1
//            is an integer, but the statement takes text there: write $1::bigint". Protocol, from_environment(): the
//            bytes do not form a value of their type, or contain a length or a count larger than the bytes that remain.
//            ResourceExhausted, from_environment(): an array whose text would be larger than 1 MiB and larger than 16
//            times its bytes, or an argument above 1 GiB.
// Threads:   functions.
// Cost:      one pass over the bytes; no allocation except to grow the Buffer.
// Source:    PostgreSQL, the *_send and *_recv functions of src/backend/utils/adt.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/oid.h"
#include "keel/db/value.h"

namespace keel::db::postgres {

// Decodes `bytes`, which are a value of `type` in `format`. A text or blob is a view of `bytes`, or of bytes that are
// appended to `scratch`; in the latter case, the view is valid until `scratch` grows or is destroyed.
Result<Value> decode(Oid type, Format format, std::string_view bytes, Buffer& scratch);

// Appends the bytes of `value`, which must not be NULL, for the parameter with the number `number` (from 1) and the
// type `type`; returns the format of the bytes. After an error, `out` is unchanged.
Result<Format> encode(const Value& value, Oid type, int number, Buffer& out);

// Converts a text to binary form, as a server does when it reads a literal of the type, and appends the bytes. The text
// must have the form that the table above shows. InvalidArgument: the text does not have this form. `type` must be in
// the table. This function is for servers, such as the FakeServer of tests.
Result<> encode_text(Oid type, std::string_view text, Buffer& out);

}  // namespace keel::db::postgres
