// PostgreSQL's descriptions of the queries of a program, stored in a file next to the queries (db/queries.lock), or of
// the statements in its C++ sources (db/statements.lock), so that a build needs no server.
//
// The file contains the checksum of each migration, and the text, parameters and columns of each statement. A verdict
// is valid only as long as no byte of the migrations and of the statement changes. The file is JSON, sorted and
// indented: the same queries always give the same file, and a diff of two versions of the file is readable.

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
  std::map<std::string, std::string> migrations;  // The SHA-256 checksums of the migrations, by file name.
  std::vector<std::string> typed;                 // The columns that `-- type:` lines name, such as "accounts.state".
  std::vector<Verdict> statements;                // Sorted by text.

  // Errors: InvalidArgument if the text is not a file of verdicts, or was written by another version of keel.
  static Result<Verdicts> read(std::string_view json);
  std::string write() const;
};

// The file of verdicts, and the words that messages about the file need.
struct VerdictFile {
  std::string path;
  std::string migrations;  // The folder.
  std::string subject;     // "the queries"
  std::string command;     // The command that writes the file.

  // Errors: FailedPrecondition if the file is missing, cannot be read, or was written for other migrations.
  Result<Verdicts> read() const;
  // If the file differs from `verdicts`, writes the file or, if `is_check`, fails with FailedPrecondition. Fails with
  // Unavailable if the file cannot be written.
  Result<> write(const Verdicts& verdicts, bool is_check) const;
};

// Without a `server`, describes statements from the results that `verdicts` contains. With a `server`, asks the server,
// and stores the results in `verdicts`. `verdicts` must outlive the checker. The messages of mistakes contain `file`,
// the name of the file, and `cure`, the command that rewrites it.
class VerdictChecker final : public Checker {
 public:
  VerdictChecker(Verdicts& verdicts, std::unique_ptr<Checker> server, std::string file, std::string cure);

  int migrations() const noexcept override;
  std::optional<Mistake> check(const Statement& statement) override;
  std::optional<Mistake> describe(std::string_view text, Described& to) override;
  std::optional<Mistake> set_type(std::string_view table, std::string_view column, std::string_view type) override;

  // The texts of the stored verdicts that no query has used.
  std::vector<std::string> unused() const;

 private:
  Verdicts& verdicts_;
  const std::unique_ptr<Checker> server_;
  const std::string file_;
  const std::string cure_;
  std::map<std::string, bool, std::less<>> used_;
  // The types that set_type() has stated, by "table.column" in lower case.
  std::map<std::string, std::string, std::less<>> types_;
};

// Checks that the migrations of `folder` are those for which the verdicts were made; the error names a file that
// differs.
Result<> compare_migrations(const Verdicts& verdicts, const std::string& folder, const std::string& file,
                            const std::string& cure);

// The checksums of the files of `folder` that are for PostgreSQL.
Result<std::map<std::string, std::string>> checksums_of(const std::string& folder);

}  // namespace keel::sql
