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
// A block begins with /*? name */. A block ends at /*?*/ if that is the next mark, otherwise at the end of the line in
// which the block begins. A block is part of the statement only if its parameter has a value.
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
  // A part of the statement, without comments and with one blank for each run of whitespace; `origin` has the place of
  // each byte.
  struct Piece {
    std::string text;
    std::vector<Place> origin;
    std::string filter;    // The block to which the part belongs; "" if it belongs to none.
    bool is_sort = false;  // Whether the piece is $sort; if so, `text` is empty, and `origin` has the place of $sort.
  };
  struct Typed {
    std::string name;
    std::string type;
    Place place;
  };

  std::string name;
  Kind kind = Kind::One;
  std::string row;         // The C++ type of rows, which follows the kind.
  std::string parameters;  // `-- params: NewUser`
  // The only database that the query is for, from a line such as `-- database: sqlite`; "" if the query is for all
  // databases.
  std::string database;
  std::string comment;
  // `-- group` and `-- volatile`, each on a separate line; these lines are appended to the statement.
  std::string marks;
  std::vector<Typed> parameter_types;
  // The types of columns, from lines such as `-- type: total int64`, and from names such as "total: int64".
  std::vector<Typed> column_types;
  // Whether a column may be null: false for "total!", true for "note?".
  std::vector<std::pair<std::string, bool>> nullable;
  std::vector<std::string> sorts;
  std::vector<Piece> pieces;
  Place place;  // The place of the query's name.
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
