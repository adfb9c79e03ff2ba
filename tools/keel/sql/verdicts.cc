#include "sql/verdicts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "gen/folder.h"

#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/db/migrations.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

// Writes the lines of a list or an object.
class List {
 public:
  List(std::string& text, const char* margin) : text_(text), margin_(margin) {}
  void add(const std::string& line) {
    text_ += is_first_ ? "\n" : ",\n";
    text_ += margin_ + line;
    is_first_ = false;
  }

 private:
  std::string& text_;
  const char* const margin_;
  bool is_first_ = true;
};

Verdict verdict_of(std::string_view text, const Described& described) {
  Verdict verdict;
  verdict.text = text;
  verdict.readonly = described.is_readonly;
  for (const Described::Parameter& one : described.parameters) {
    verdict.parameters.push_back({one.name, one.type, one.is_nullable, one.table, one.column});
  }
  for (const Described::Column& one : described.columns) {
    verdict.columns.push_back({one.name, one.type, one.is_nullable, one.table, one.column});
  }
  return verdict;
}

Described described_of(const Verdict& verdict) {
  Described described;
  described.is_readonly = verdict.readonly;
  for (const Verdict::Value& one : verdict.parameters) {
    described.parameters.push_back({one.name, one.type, one.nullable, one.table, one.column, ""});
  }
  for (const Verdict::Value& one : verdict.columns) {
    described.columns.push_back({one.name, one.type, one.nullable, one.table, one.column, ""});
  }
  return described;
}

}  // namespace

Result<Verdicts> Verdicts::read(std::string_view text) {
  KEEL_TRY(Verdicts verdicts, json::parse<Verdicts>(text));
  const Verdicts own;
  if (verdicts.database != own.database || verdicts.version != own.version) {
    return fail(Code::InvalidArgument, "was written by another version of keel");
  }
  return verdicts;
}

std::string Verdicts::write() const {
  Verdicts sorted = *this;
  std::ranges::sort(sorted.typed);
  std::ranges::sort(sorted.statements, {}, &Verdict::text);
  const auto again = std::ranges::unique(sorted.statements, {}, &Verdict::text);
  sorted.statements.erase(again.begin(), again.end());
  // One value per line, for diffs.
  std::string text = "{\n  \"database\": " + json::write(sorted.database) +
                     ",\n  \"version\": " + std::to_string(sorted.version) + ",\n  \"migrations\": {";
  List files(text, "    ");
  for (const auto& [name, checksum] : sorted.migrations) files.add(json::write(name) + ": " + json::write(checksum));
  text += "\n  },\n  \"typed\": [";
  List typed_columns(text, "    ");
  for (const std::string& name : sorted.typed) typed_columns.add(json::write(name));
  text += "\n  ],\n  \"statements\": [";
  List all(text, "    ");
  for (const Verdict& verdict : sorted.statements) {
    all.add("{\n      \"text\": " + json::write(verdict.text) +
            ",\n      \"readonly\": " + (verdict.readonly ? "true" : "false"));
    for (const auto& [name, values] :
         {std::pair{"parameters", &verdict.parameters}, std::pair{"columns", &verdict.columns}}) {
      text += std::string(",\n      \"") + name + "\": [";
      List list(text, "        ");
      for (const Verdict::Value& value : *values) list.add(json::write(value));
      text += values->empty() ? "]" : "\n      ]";
    }
    text += "\n    }";
  }
  return text + "\n  ]\n}\n";
}

VerdictChecker::VerdictChecker(Verdicts& verdicts, std::unique_ptr<Checker> server, std::string file, std::string cure)
    : verdicts_(verdicts), server_(std::move(server)), file_(std::move(file)), cure_(std::move(cure)) {
  if (server_ == nullptr) {
    for (const Verdict& verdict : verdicts_.statements) used_.emplace(verdict.text, false);
  }
}

int VerdictChecker::migrations() const noexcept { return static_cast<int>(verdicts_.migrations.size()); }

std::optional<Mistake> VerdictChecker::check(const Statement& statement) {
  const NumberedText text = numbered(statement.text);
  Described described;
  auto mistake = describe(text.text, described);
  if (!mistake) return find_wrong_call(statement, described.columns.size());
  // A statement in a C++ source cannot have blocks, so the advice to write a block is left out.
  const std::size_t block = mistake->text.find(", or write a block ");
  if (block != std::string::npos) mistake->text.resize(block);
  if (mistake->offset) mistake->offset = text.offsets[*mistake->offset];
  return mistake;
}

std::optional<Mistake> VerdictChecker::describe(std::string_view text, Described& to) {
  Described described;
  if (server_ != nullptr) {
    if (auto mistake = server_->describe(text, described)) return mistake;
    verdicts_.statements.push_back(verdict_of(text, described));
  } else {
    const auto known = std::ranges::find(verdicts_.statements, text, &Verdict::text);
    if (known == verdicts_.statements.end()) {
      return Mistake{"the statement is new or has changed, so " + file_ +
                         " does not contain PostgreSQL's description of it: run " + cure_,
                     std::nullopt};
    }
    used_.find(text)->second = true;
    described = described_of(*known);
  }
  const auto type_of = [&](const std::string& table, const std::string& column) -> const std::string* {
    const auto said = types_.find(lower_of(table + '.' + column));
    return said == types_.end() ? nullptr : &said->second;
  };
  for (Described::Parameter& parameter : described.parameters) {
    if (const std::string* const type = type_of(parameter.table, parameter.column)) parameter.type = *type;
  }
  for (Described::Column& column : described.columns) {
    if (const std::string* const type = type_of(column.table, column.column)) column.type = *type;
  }
  to = std::move(described);
  return std::nullopt;
}

std::optional<Mistake> VerdictChecker::set_type(std::string_view table, std::string_view column,
                                                std::string_view type) {
  const std::string name = lower_of(std::string(table) + '.' + std::string(column));
  const bool is_known = std::ranges::find(verdicts_.typed, name) != verdicts_.typed.end();
  if (server_ != nullptr) {
    if (auto mistake = server_->set_type(table, column, type)) return mistake;
    if (!is_known) verdicts_.typed.push_back(name);
  } else if (!is_known) {
    return Mistake{file_ + " does not contain PostgreSQL's description of the column " + name + ": run " + cure_,
                   std::nullopt};
  }
  types_[name] = type;
  return std::nullopt;
}

std::vector<std::string> VerdictChecker::unused() const {
  std::vector<std::string> found;
  for (const auto& [text, is_used] : used_) {
    if (!is_used) found.push_back(text);
  }
  return found;
}

Result<Verdicts> VerdictFile::read() const {
  const auto text = gen::read_file(path);
  if (!text && std::filesystem::exists(std::filesystem::symlink_status(path))) {
    return Error::text(Code::PermissionDenied, path + " cannot be read: it is not a file, or permission is denied");
  }
  if (!text) {
    return Error::text(Code::FailedPrecondition,
                       path + " is missing; it records what PostgreSQL says about " + subject + ": run " + command);
  }
  auto verdicts = Verdicts::read(*text);
  if (!verdicts) {
    return Error::text(Code::FailedPrecondition,
                       path + " cannot be read (" + std::string(verdicts.error().message()) + "): run " + command);
  }
  KEEL_TRY_VOID(compare_migrations(*verdicts, migrations, path, command));
  return verdicts;
}

Result<> VerdictFile::write(const Verdicts& verdicts, bool is_check) const {
  const std::string text = verdicts.write();
  if (gen::read_file(path) == text) return {};
  if (is_check) {
    return Error::text(Code::FailedPrecondition,
                       path + " does not match PostgreSQL's current descriptions: run " + command);
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return Error::text(Code::Unavailable, path + " cannot be written");
  return {};
}

Result<std::map<std::string, std::string>> checksums_of(const std::string& folder) {
  KEEL_TRY(const std::vector<db::Migration> files, db::read_migrations(folder, "postgres"));
  std::map<std::string, std::string> checksums;
  for (const db::Migration& file : files) checksums[file.name] = file.checksum;
  return checksums;
}

Result<> compare_migrations(const Verdicts& verdicts, const std::string& folder, const std::string& file,
                            const std::string& cure) {
  KEEL_TRY(const auto now, checksums_of(folder));
  const auto differs = [&](const std::string& name, std::string_view what) {
    return Error::text(Code::FailedPrecondition,
                       name + ' ' + std::string(what) + " since " + file + " was written: run " + cure);
  };
  for (const auto& [name, checksum] : now) {
    const auto known = verdicts.migrations.find(name);
    if (known == verdicts.migrations.end()) return differs(name, "is new");
    if (known->second != checksum) return differs(name, "has changed");
  }
  for (const auto& [name, checksum] : verdicts.migrations) {
    if (!now.contains(name)) return differs(name, "is gone");
  }
  return {};
}

}  // namespace keel::sql
