// keel/db/postgres/internal/copy_tuple_test.h — for tests: what COPY … TO STDOUT (FORMAT BINARY) sends.

#pragma once

#include <optional>
#include <string>

#include "keel/db/postgres/columns.h"
#include "keel/db/postgres/internal/wire.h"
#include "keel/db/postgres/message.h"

namespace keel::db::postgres::testing {

inline std::string header(std::uint32_t flags = 0, std::uint32_t extension = 0) {
  Buffer out;
  out.append({"PGCOPY\n\377\r\n\0", 11});
  wire::append(out, flags);
  wire::append(out, extension);
  return std::string(out.view());
}

inline std::string tuple(std::optional<std::int64_t> id, std::optional<std::string> name) {
  Buffer out;
  wire::append(out, std::int16_t{2});
  wire::append(out, id ? std::int32_t{8} : std::int32_t{-1});
  if (id) wire::append(out, *id);
  wire::append(out, name ? static_cast<std::int32_t>(name->size()) : std::int32_t{-1});
  if (name) out.append(*name);
  return std::string(out.view());
}

// id bigint, name text.
inline Columns two_columns() {
  Buffer out;
  wire::append(out, std::int16_t{2});
  for (const auto& [name, type] : {std::pair("id", oid::int8), std::pair("name", oid::text)}) {
    out.append({name, std::string_view(name).size() + 1});
    wire::append(out, std::int32_t{0});
    wire::append(out, std::int16_t{0});
    wire::append(out, type);
    wire::append(out, std::int16_t{-1});
    wire::append(out, std::int32_t{-1});
    wire::append(out, std::int16_t{0});
  }
  return Columns::of(RowDescription::read(out.view()).value()).value();
}

}  // namespace keel::db::postgres::testing
