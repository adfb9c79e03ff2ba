// Files of queries: `db/queries/users.sql`.
//
//   -- type: users.created_at timestamp         a column that is declared as text and holds something else
//   -- include: "api/types.h"                    what declares a type that is named below
//
//   -- The user with this address.               becomes the comment of the function
//   -- name: find_user :optional User
//   select id, name, created_at from users where email = $email;
//
//   -- name: list_users :many User
//   -- param: limit int32
//   -- sort: name, created_at
//   -- database: postgres                        only there; another query says it for SQLite
//   -- group                                     a mark for PostgreSQL, or -- volatile (db/postgres/database.h)
//   select id, name, created_at from users where true
//     /*? name */ and name = $name
//   order by $sort, id limit $limit;
//
// A block begins with /*? name */ and ends with its line, or at /*?*/ if that is the next mark. It is part of the
// statement only if its parameter has a value.
//
// Result: the queries that were read; mistakes go to Problems.
// Cost:   linear.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/problems.h"
#include "sql/statements.h"

namespace keel::sql {

struct Query {
  enum class Kind : std::uint8_t { One, Optional, Many, Stream, Exec, Batch };
  // A part of the statement: each run of whitespace is reduced to one blank, comments are left out, and `origin` is the
  // place of each byte.
  struct Piece {
    std::string text;
    std::vector<Place> origin;
    std::string filter;    // The block that the part belongs to; "": none.
    bool is_sort = false;  // $sort: `text` is empty, and `origin` has its place.
  };
  struct Typed {
    std::string name;
    std::string type;
    Place place;
  };

  std::string name;
  Kind kind = Kind::One;
  std::string row;         // The type that follows the kind.
  std::string parameters;  // `-- params: NewUser`
  std::string database;    // `-- database: sqlite`: the query is only for that database; "": for all.
  std::string comment;
  std::string marks;  // `-- group` and `-- volatile`, each on a line of its own: they are appended to the statement.
  std::vector<Typed> parameter_types;
  std::vector<Typed> column_types;                     // `-- type: total int64`, and "total: int64".
  std::vector<std::pair<std::string, bool>> nullable;  // "total!" is false, "note?" true.
  std::vector<std::string> sorts;
  std::vector<Piece> pieces;
  Place place;  // The place of the name.
  Place row_place;
  Place parameters_place;
  Place sort_place;
  Place database_place;
};

struct QueryFile {
  std::vector<std::string> includes;  // <vector>, "api/types.h"
  std::vector<Query::Typed> types;    // users.created_at
  std::vector<Query> queries;
};

std::string_view word_of(Query::Kind kind) noexcept;

// `source` is the number of the file in `problems`.
QueryFile read_queries(std::size_t source, Problems& problems);

}  // namespace keel::sql
