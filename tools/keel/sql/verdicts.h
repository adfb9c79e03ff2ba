// PostgreSQL's descriptions of the queries of a program, stored in a file next to them (db/queries.lock), or of the
// statements in its C++ sources (db/statements.lock), so that a build needs no server.
//
// The file has the checksum of each migration, and for each statement its text, parameters and columns. A verdict is
// valid only while the migrations and the statement are unchanged, to the byte. The file is JSON, sorted and indented:
// the same queries give the same bytes, and changes are readable in a diff.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"
#include "sql/checker.h"

namespace keel::sql {

struct Verdict {
  struct Value {
    std::string name;  // The name of a column, or the number of a parameter.
    std::string type;
    bool nullable = false;
    std::string table;  // The table of the column; "" if the value is not a column of a table.
    std::string column;
  };
  std::string text;
  bool readonly = false;
  std::vector<Value> parameters;
  std::vector<Value> columns;
};

struct Verdicts {
  std::string database = "postgres";
  int version = 1;
  std::map<std::string, std::string> migrations;  // SHA-256, by file name.
  std::vector<std::string> typed;                 // Columns that a line `-- type:` names, such as "accounts.state".
  std::vector<Verdict> statements;                // Sorted by text.

  // InvalidArgument: the text is not such a file, or was written by another version of keel.
  static Result<Verdicts> read(std::string_view json);
  std::string write() const;
};

// The file, and the words that messages about it need.
struct VerdictFile {
  std::string path;
  std::string migrations;  // The folder.
  std::string subject;     // "the queries"
  std::string command;     // The command that writes the file.

  // FailedPrecondition: the file is missing, cannot be read, or was written for other migrations.
  Result<Verdicts> read() const;
  // Writes it if it differs; FailedPrecondition: `is_check`, and it differs.
  Result<> write(const Verdicts& verdicts, bool is_check) const;
};

// Answers from `verdicts`. With `server`, it asks the server instead, and stores the results in `verdicts`, which must
// outlive the checker. `file` and `cure` are for mistakes: the file's name, and the command that rewrites it.
class VerdictChecker final : public Checker {
 public:
  VerdictChecker(Verdicts& verdicts, std::unique_ptr<Checker> server, std::string file, std::string cure);

  int migrations() const noexcept override;
  std::optional<Mistake> check(const Statement& statement) override;
  std::optional<Mistake> describe(std::string_view text, Described& to) override;
  std::optional<Mistake> set_type(std::string_view table, std::string_view column, std::string_view type) override;

  // The texts of stored verdicts that no query uses.
  std::vector<std::string> unused() const;

 private:
  Verdicts& verdicts_;
  const std::unique_ptr<Checker> server_;
  const std::string file_;
  const std::string cure_;
  std::map<std::string, bool, std::less<>> used_;
  std::map<std::string, std::string, std::less<>> types_;  // The declared types, by "table.column" in lower case.
};

// Checks that the migrations of `folder` are those for which the verdicts were made; the error names a file that
// differs.
Result<> compare_migrations(const Verdicts& verdicts, const std::string& folder, const std::string& file,
                            const std::string& cure);

// The checksums of the files of `folder` that are for PostgreSQL.
Result<std::map<std::string, std::string>> checksums_of(const std::string& folder);

}  // namespace keel::sql
