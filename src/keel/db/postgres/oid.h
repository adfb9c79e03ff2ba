// keel/db/postgres/oid.h — the numbers with which PostgreSQL identifies its types (src/include/catalog/pg_type.dat),
// and the two formats in which a value is sent.
//
// Threads: functions.
// Cost:    a search in a table of two dozen rows.

#pragma once

#include <cstdint>
#include <string>

namespace keel::db::postgres {

using Oid = std::uint32_t;

// The format in which a value is sent.
enum class Format : std::uint16_t { Text = 0, Binary = 1 };

namespace oid {
// The built-in types of the server, by their numbers in pg_type.
inline constexpr Oid boolean = 16;
inline constexpr Oid bytea = 17;
inline constexpr Oid name = 19;
inline constexpr Oid int8 = 20;
inline constexpr Oid int2 = 21;
inline constexpr Oid int4 = 23;
inline constexpr Oid text = 25;
inline constexpr Oid oid = 26;
inline constexpr Oid json = 114;
inline constexpr Oid cidr = 650;
inline constexpr Oid float4 = 700;
inline constexpr Oid float8 = 701;
inline constexpr Oid unknown = 705;
inline constexpr Oid inet = 869;
inline constexpr Oid bpchar = 1042;
inline constexpr Oid varchar = 1043;
inline constexpr Oid date = 1082;
inline constexpr Oid time = 1083;
inline constexpr Oid timestamp = 1114;
inline constexpr Oid timestamptz = 1184;
inline constexpr Oid interval = 1186;
inline constexpr Oid numeric = 1700;
inline constexpr Oid void_result = 2278;
inline constexpr Oid uuid = 2950;
inline constexpr Oid jsonb = 3802;
}  // namespace oid

// The type of the elements of an array type that types.h reads; 0 for any other type.
Oid element_of(Oid array) noexcept;
// The array type whose elements have the type `element`; 0 if types.h does not read such arrays.
Oid array_of(Oid element) noexcept;

// Binary for the types that types.h reads in binary, and for arrays of them; else Text.
Format format_of(Oid type) noexcept;
// The type's name in SQL: "integer", "timestamp with time zone", "integer[]"; "type 12345" for a type that types.h
// does not read.
std::string name_of(Oid type);

}  // namespace keel::db::postgres
