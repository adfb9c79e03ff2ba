#include "keel/db/postgres/oid.h"

#include <string_view>

namespace keel::db::postgres {
namespace {

struct KnownType {
  Oid type;
  Oid array;
  const char* name;
};

constexpr KnownType known_types[] = {
    {oid::boolean, 1000, "boolean"},
    {oid::bytea, 1001, "bytea"},
    {oid::name, 1003, "name"},
    {oid::int8, 1016, "bigint"},
    {oid::int2, 1005, "smallint"},
    {oid::int4, 1007, "integer"},
    {oid::text, 1009, "text"},
    {oid::oid, 1028, "oid"},
    {oid::json, 199, "json"},
    {oid::cidr, 651, "cidr"},
    {oid::float4, 1021, "real"},
    {oid::float8, 1022, "double precision"},
    {oid::inet, 1041, "inet"},
    {oid::bpchar, 1014, "character"},
    {oid::varchar, 1015, "character varying"},
    {oid::date, 1182, "date"},
    {oid::time, 1183, "time"},
    {oid::timestamp, 1115, "timestamp"},
    {oid::timestamptz, 1185, "timestamp with time zone"},
    {oid::interval, 1187, "interval"},
    {oid::numeric, 1231, "numeric"},
    {oid::uuid, 2951, "uuid"},
    {oid::jsonb, 3807, "jsonb"},
};

}  // namespace

Oid element_of(Oid array) noexcept {
  for (const KnownType& known : known_types) {
    if (known.array == array) return known.type;
  }
  return 0;
}

Oid array_of(Oid element) noexcept {
  for (const KnownType& known : known_types) {
    if (known.type == element) return known.array;
  }
  return 0;
}

Format format_of(Oid type) noexcept {
  return array_of(type) != 0 || element_of(type) != 0 ? Format::Binary : Format::Text;
}

std::string name_of(Oid type) {
  for (const KnownType& known : known_types) {
    if (known.type == type) return known.name;
    if (known.array == type) return std::string(known.name) + "[]";
  }
  return "type " + std::to_string(type);
}

}  // namespace keel::db::postgres
