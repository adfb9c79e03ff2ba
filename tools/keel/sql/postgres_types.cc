#include "sql/postgres_types.h"

namespace keel::sql {

std::string_view type_of_oid(db::postgres::Oid type) noexcept {
  namespace oid = db::postgres::oid;
  switch (type) {
    case oid::boolean:
      return "bool";
    case oid::int2:
      return "int16";
    case oid::int4:
      return "int32";
    case oid::int8:
    case oid::oid:
      return "int64";
    case oid::float4:
    case oid::float8:
      return "real";
    case oid::numeric:
      return "decimal";
    case oid::bytea:
      return "blob";
    case oid::uuid:
      return "uuid";
    case oid::date:
      return "date";
    case oid::timestamp:
    case oid::timestamptz:
      return "timestamp";
    case oid::void_result:
      return "";
    default:
      return "text";
  }
}

}  // namespace keel::sql
