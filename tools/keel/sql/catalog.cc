#include "sql/catalog.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "gen/names.h"
#include "keel/base/ascii.h"
#include "keel/db/sql.h"
#include "sql/schema.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

// The types that queries may name, each with its C++ type.
constexpr std::pair<std::string_view, std::string_view> cpp_types[] = {{"int64", "std::int64_t"},
                                                                       {"int", "std::int64_t"},
                                                                       {"integer", "std::int64_t"},
                                                                       {"bigint", "std::int64_t"},
                                                                       {"int32", "std::int32_t"},
                                                                       {"int16", "std::int16_t"},
                                                                       {"bool", "bool"},
                                                                       {"boolean", "bool"},
                                                                       {"real", "double"},
                                                                       {"double", "double"},
                                                                       {"text", "std::string"},
                                                                       {"string", "std::string"},
                                                                       {"blob", "std::vector<std::byte>"},
                                                                       {"bytes", "std::vector<std::byte>"},
                                                                       {"timestamp", "keel::Timestamp"},
                                                                       {"date", "keel::Date"},
                                                                       {"decimal", "keel::Decimal"},
                                                                       {"numeric", "keel::Decimal"},
                                                                       {"uuid", "keel::Uuid"}};
constexpr std::string_view types_listed =
    "int64, int32, bool, real, decimal, text, blob, timestamp, date, uuid, or a type of C++ with its namespace";

// Returns "" if there is no such type.
std::string cpp_type_of(std::string_view type) {
  for (const auto& [name, cpp] : cpp_types) {
    if (name == type) return std::string(cpp);
  }
  return type.find("::") == type.npos ? "" : std::string(type);
}

bool is_number(std::string_view name) { return !name.empty() && std::ranges::all_of(name, ascii::is_digit); }

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

// A statement, and for each of its bytes the place in the file.
struct Text {
  std::string value;
  std::vector<Place> origin;

  void add(std::string_view text, Place place) {
    value += text;
    origin.insert(origin.end(), text.size(), place);
  }
  Place place(std::size_t offset) const { return origin[std::min(offset, origin.size() - 1)]; }
};

class QueryReading {
 public:
  QueryReading(const Query& query, Checker& checker, Problems& problems)
      : query_(query), checker_(checker), problems_(problems) {}

  // Returns nullopt if it has added a problem.
  std::optional<Function> read() {
    function_.query = &query_;
    const std::size_t before = problems_count_;
    find_filters();
    find_parameters();
    if (problems_count_ != before) return std::nullopt;
    describe();
    if (problems_count_ != before) return std::nullopt;
    set_parameter_types();
    check_kind();
    if (problems_count_ != before) return std::nullopt;
    set_columns();
    set_names();
    if (problems_count_ != before) return std::nullopt;
    return std::move(function_);
  }

 private:
  // A parameter, with its name or number in SQL: "1", "sku".
  struct Key {
    std::string name;
    Place place;
    // The blocks in which the parameter is used; "" if it is also used outside of all blocks.
    std::set<std::string> filters;
  };

  void error(Place place, std::string text) {
    ++problems_count_;
    problems_.add(place, std::move(text));
  }

  void find_filters() {
    for (const Query::Piece& piece : query_.pieces) {
      if (!piece.filter.empty() && std::ranges::find(filters_, piece.filter) == filters_.end()) {
        filters_.push_back(piece.filter);
        filter_places_.push_back(piece.origin.front());
      }
    }
    const std::size_t orders = std::max<std::size_t>(1, 2 * query_.sorts.size());
    const std::string what = query_.name + " has " + std::to_string(filters_.size()) + " optional blocks";
    if (filters_.size() > filters_max) {
      error(filter_places_[filters_max],
            what + ": at most " + std::to_string(filters_max) + " are allowed; write several queries");
    } else if (const std::size_t statements = orders << filters_.size(); statements > statements_max) {
      error(query_.place, what + " and " + std::to_string(query_.sorts.size()) + " sort columns, which make " +
                              std::to_string(statements) + " statements: at most " + std::to_string(statements_max) +
                              " are allowed; write several queries");
    }
    if (query_.sorts.size() > sorts_max) {
      error(query_.sort_place, "-- sort: has " + std::to_string(query_.sorts.size()) + " columns: at most " +
                                   std::to_string(sorts_max) + " are allowed");
    }
    const auto sorts = std::ranges::count_if(query_.pieces, &Query::Piece::is_sort);
    if (!query_.sorts.empty() && sorts != 1) {
      error(query_.sort_place, "-- sort: needs exactly one `order by $sort` in the statement, but there " +
                                   (sorts == 0 ? std::string("is none") : "are " + std::to_string(sorts)));
    }
  }

  // The text with the blocks whose bits are set in `mask`, and with the sort order number `sort`.
  Text text_of(std::size_t mask, std::size_t sort) const {
    Text text;
    for (const Query::Piece& piece : query_.pieces) {
      if (!piece.filter.empty()) {
        const auto at = std::ranges::find(filters_, piece.filter) - filters_.begin();
        if ((mask >> at & 1) == 0) continue;
      }
      if (piece.is_sort) {
        text.add(' ' + query_.sorts[sort / 2] + (sort % 2 == 0 ? "" : " desc"), piece.origin[0]);
        continue;
      }
      text.value += piece.text;
      text.origin.insert(text.origin.end(), piece.origin.begin(), piece.origin.end());
    }
    if (text.origin.empty()) text.origin.push_back(query_.place);
    return text;
  }

  void find_parameters() {
    for (const Query::Piece& piece : query_.pieces) {
      db::for_each_placeholder(piece.text, [&](const db::Placeholder& placeholder) {
        const Place place = piece.origin[placeholder.offset];
        const bool is_of_range = placeholder.number >= 1 && placeholder.number <= db::parameters_max;
        if (!placeholder.is_named() && !is_of_range) {
          error(place, "expected $1 to $" + std::to_string(db::parameters_max) + ", or $name");
          return;
        }
        auto key = std::ranges::find(keys_, placeholder.name, &Key::name);
        if (key == keys_.end()) {
          if (!is_number(placeholder.name) && !is_identifier(placeholder.name)) {
            error(place, '$' + std::string(placeholder.name) + " is not a C++ name: letters, digits and '_'");
          }
          key = keys_.insert(keys_.end(), Key{std::string(placeholder.name), place, {}});
        }
        key->filters.insert(piece.filter);
      });
    }
    if (problems_count_ != 0) return;
    const auto is_numbered = [](const Key& key) { return is_number(key.name); };
    const auto numbered = static_cast<std::size_t>(std::ranges::count_if(keys_, is_numbered));
    if (numbered != 0 && numbered != keys_.size()) {
      const auto first = std::ranges::find_if_not(keys_, is_numbered);
      error(first->place, "the statement has $" + first->name + " next to $1: use either numbers or names, not both");
      return;
    }
    if (numbered != 0) {
      std::ranges::sort(keys_, {}, [](const Key& key) { return std::stoi(key.name); });
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        if (keys_[i].name == std::to_string(i + 1)) continue;
        error(keys_[i].place, '$' + keys_[i].name + " is used, but $" + std::to_string(i + 1) +
                                  " is not: parameters must be numbered without gaps");
        return;
      }
    }
    for (const Query::Typed& typed : query_.parameter_types) {
      if (std::ranges::find(keys_, typed.name, &Key::name) != keys_.end()) continue;
      if (std::ranges::find(filters_, typed.name) != filters_.end()) continue;
      std::vector<std::string> names;
      for (const Key& key : keys_) names.push_back(key.name);
      error(typed.place, "the statement does not use $" + typed.name +
                             (names.empty() ? "; it has no parameters" : meant(typed.name, names, "it has ")));
    }
    for (std::size_t i = 0; i < filters_.size(); ++i) bind_filter(filters_[i], filter_places_[i]);
  }
  // Determines the parameter on which a block depends.
  void bind_filter(const std::string& filter, Place place) {
    auto key = std::ranges::find(keys_, filter, &Key::name);
    if (key == keys_.end()) {
      std::vector<Key*> within;
      for (Key& one : keys_) {
        if (one.filters.contains(filter)) within.push_back(&one);
      }
      if (within.empty()) {
        switches_.push_back(filter);
        return;
      }
      if (within.size() != 1 || !is_number(within[0]->name)) {
        error(place, "the block " + in_quotes(filter) + " does not use $" + filter + ": it uses $" + within[0]->name +
                         "; a block must have the name of the parameter that it uses");
        return;
      }
      key = keys_.begin() + (within[0] - keys_.data());
    }
    if (key->filters.size() != 1) {
      error(key->place, '$' + key->name + " is used outside of the block " + in_quotes(filter) +
                            ", too, where it may have no value: use it only in the block");
      return;
    }
    filter_of_[key->name] = filter;
  }

  void describe() {
    const std::size_t orders = query_.sorts.empty() ? 1 : 2 * query_.sorts.size();
    const std::size_t masks = std::size_t{1} << filters_.size();
    types_.resize(keys_.size());
    function_.variants.resize(orders * masks);
    for (std::size_t order = 0; order < orders; ++order) {
      for (std::size_t i = 0; i < masks; ++i) {
        // The statement with all blocks is checked first, because its mistakes include those of the variants.
        const std::size_t mask = masks - 1 - i;
        if (!describe(mask, order, function_.variants[order * masks + mask])) return;
      }
    }
  }
  bool describe(std::size_t mask, std::size_t order, Variant& variant) {
    const Text text = text_of(mask, order);
    Text numbered;
    std::size_t copied = 0;
    db::for_each_placeholder(text.value, [&](const db::Placeholder& placeholder) {
      const std::size_t key =
          static_cast<std::size_t>(std::ranges::find(keys_, placeholder.name, &Key::name) - keys_.begin());
      auto argument = std::ranges::find(variant.arguments, key);
      if (argument == variant.arguments.end()) argument = variant.arguments.insert(argument, key);
      const auto number = argument - variant.arguments.begin() + 1;
      copy(text, copied, placeholder.offset, numbered);
      numbered.add('$' + std::to_string(number), text.origin[placeholder.offset]);
      copied = placeholder.offset + 1 + placeholder.name.size();
    });
    copy(text, copied, text.value.size(), numbered);
    if (numbered.origin.empty()) numbered.origin.push_back(query_.place);
    if (variant.arguments.size() > static_cast<std::size_t>(db::parameters_max)) {
      error(query_.place, query_.name + " has more than " + std::to_string(db::parameters_max) + " parameters");
      return false;
    }
    Described described;
    if (const auto mistake = checker_.describe(numbered.value, described)) {
      std::string without;
      for (std::size_t i = 0; i < filters_.size(); ++i) {
        if ((mask >> i & 1) == 0) without += (without.empty() ? "" : " and ") + in_quotes(filters_[i]);
      }
      if (!without.empty()) without = " (without the block " + without + ')';
      error(mistake->offset ? numbered.place(*mistake->offset) : numbered.place(0), mistake->text + without);
      return false;
    }
    for (std::size_t i = 0; i < described.parameters.size(); ++i) merge(described.parameters[i], variant);
    variant.text = numbered.value;
    return merge_columns(described);
  }
  static void copy(const Text& from, std::size_t begin, std::size_t end, Text& to) {
    to.value.append(from.value, begin, end - begin);
    to.origin.insert(to.origin.end(), from.origin.begin() + static_cast<std::ptrdiff_t>(begin),
                     from.origin.begin() + static_cast<std::ptrdiff_t>(end));
  }
  void merge(const Described::Parameter& parameter, const Variant& variant) {
    const std::size_t number = static_cast<std::size_t>(std::stoi(parameter.name));
    Described::Parameter& known = types_[variant.arguments[number - 1]];
    if (known.type.empty()) {
      known.type = parameter.type;
      known.column = parameter.column;
    }
    if (!parameter.other_type.empty()) known.other_type = parameter.other_type;
    known.is_nullable = known.is_nullable || parameter.is_nullable;
  }
  bool merge_columns(Described& described) {
    if (!is_described_) {
      is_described_ = true;
      described_ = std::move(described);
      return true;
    }
    const bool is_same = std::ranges::equal(described.columns, described_.columns, [](const auto& a, const auto& b) {
      return a.name == b.name && a.type == b.type;
    });
    if (!is_same) {
      error(query_.place, "the optional blocks of " + query_.name + " change its columns, which a block must not do");
      return false;
    }
    for (std::size_t i = 0; i < described.columns.size(); ++i) {
      described_.columns[i].is_nullable = described_.columns[i].is_nullable || described.columns[i].is_nullable;
    }
    return true;
  }

  void set_parameter_types() {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const Key& key = keys_[i];
      const Described::Parameter& known = types_[i];
      Function::Parameter parameter;
      parameter.place = key.place;
      parameter.name = key.name;
      parameter.is_optional = known.is_nullable;
      const auto said = std::ranges::find(query_.parameter_types, key.name, &Query::Typed::name);
      std::string type = known.type;
      if (said != query_.parameter_types.end()) {
        type = said->type;
        if (cpp_type_of(type).empty()) error(said->place, no_type(type));
      } else if (type.empty()) {
        error(key.place,
              "the type of $" + key.name + " is not known: write it after the name: -- param: " + key.name + " text");
      } else if (!known.other_type.empty()) {
        error(key.place, '$' + key.name + " is used as " + type + " and as " + known.other_type +
                             ": write its type: -- param: " + key.name + ' ' + type);
      }
      parameter.type = cpp_type_of(type);
      if (filter_of_.contains(key.name)) {
        parameter.name = filter_of_[key.name];
        parameter.is_optional = true;
      } else if (is_number(key.name)) {
        parameter.name = known.column;  // Possibly: see set_names().
      }
      function_.parameters.push_back(std::move(parameter));
    }
    name_numbered();
    for (const std::string& filter : filters_) {
      if (std::ranges::find(switches_, filter) != switches_.end()) {
        Function::Parameter parameter;
        parameter.name = filter;
        parameter.type = "bool";
        parameter.is_switch = true;
        parameter.place =
            filter_places_[static_cast<std::size_t>(std::ranges::find(filters_, filter) - filters_.begin())];
        function_.parameters.push_back(std::move(parameter));
      }
      const auto at = std::ranges::find(function_.parameters, filter, &Function::Parameter::name);
      function_.filters.push_back(static_cast<std::size_t>(at - function_.parameters.begin()));
    }
  }
  // Names a numbered parameter, such as $1, after the column with which it is compared, unless another parameter would
  // get the same name.
  void name_numbered() {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      Function::Parameter& parameter = function_.parameters[i];
      if (!is_number(keys_[i].name) || filter_of_.contains(keys_[i].name)) continue;
      const std::string wanted = parameter.name;
      const auto is_it = [&](const Function::Parameter& one) { return one.name == wanted; };
      if (!is_identifier(wanted) || std::ranges::count_if(function_.parameters, is_it) != 1) {
        for (std::size_t k = 0; k < keys_.size(); ++k) {
          if (function_.parameters[k].name == wanted && !filter_of_.contains(keys_[k].name)) {
            function_.parameters[k].name = 'p' + keys_[k].name;
          }
        }
      }
    }
  }
  static std::string no_type(std::string_view type) {
    return std::string(type) + " is not a type: expected " + std::string(types_listed);
  }

  void check_kind() {
    const bool reads_rows = query_.kind != Query::Kind::Exec && query_.kind != Query::Kind::Batch;
    const std::string kind = ':' + std::string(word_of(query_.kind));
    const bool has_rows = !described_.columns.empty();
    if (reads_rows && !has_rows) {
      error(query_.place, kind + " reads rows, but the statement returns none: use :exec, or add `returning …` to it");
    } else if (!reads_rows && has_rows) {
      error(query_.place, kind + " discards rows, but the statement returns some: " +
                              (described_.is_readonly ? "use :one, :optional, :many or :stream"
                                                      : "leave `returning` out, or use :one, :optional or :many"));
    }
    if (query_.kind == Query::Kind::Stream && !described_.is_readonly) {
      error(query_.place, ":stream reads, but the statement writes: use :many");
    }
    if (query_.kind == Query::Kind::Batch && (keys_.empty() || !filters_.empty())) {
      error(query_.place, keys_.empty()
                              ? ":batch runs the statement once for each set of parameters, but the statement "
                                "has no parameters"
                              : ":batch cannot be combined with optional blocks");
    }
    if (!query_.row.empty() && !reads_rows)
      error(query_.row_place, kind + " returns no rows, so it needs no type for them");
  }

  void set_columns() {
    std::set<std::string> used;
    for (std::size_t i = 0; i < described_.columns.size(); ++i) {
      const Described::Column& column = described_.columns[i];
      Field field;
      field.place = query_.place;
      field.name = column.name;
      field.is_optional = column.is_nullable;
      std::string type = column.type;
      bool is_said = false;
      for (const Query::Typed& typed : query_.column_types) {
        if (!is_same_name(typed.name, column.name)) continue;
        is_said = true;
        type = typed.type;
        field.place = typed.place;
        used.insert(typed.name);
        if (cpp_type_of(type).empty()) error(typed.place, no_type(type));
      }
      for (const auto& [name, is_optional] : query_.nullable) {
        if (is_same_name(name, column.name)) field.is_optional = is_optional;
      }
      if (!is_said && !column.conflict.empty()) error(query_.place, column.conflict);
      const bool is_named = is_identifier(column.name);
      if (type.empty()) {
        error(query_.place, "the type of column " + std::to_string(i + 1) + ", " + column.name +
                                ", is not known: write it: " +
                                (is_named ? "-- type: " + column.name + " text" : std::string("as \"total: int64\"")));
      }
      if (!is_named && (described_.columns.size() > 1 || !query_.row.empty())) {
        error(query_.place, "column " + std::to_string(i + 1) + ", " + column.name +
                                ", has no name that a field can have: add `as total`");
      }
      field.type = cpp_type_of(type);
      for (const Field& other : function_.columns) {
        if (!is_same_name(other.name, field.name)) continue;
        error(query_.place, "two columns are called " + field.name + ": give one of them another name with `as`");
      }
      function_.columns.push_back(std::move(field));
    }
    for (const Query::Typed& typed : query_.column_types) {
      if (used.contains(typed.name)) continue;
      std::vector<std::string> names;
      for (const Field& field : function_.columns) names.push_back(field.name);
      error(typed.place, "no column is called " + typed.name + meant(typed.name, names, "the columns are "));
    }
  }

  void set_names() {
    const std::string pascal = gen::pascal_of(query_.name);
    if (function_.columns.size() > columns_max) {
      error(query_.place, query_.name + " gives " + std::to_string(function_.columns.size()) +
                              " columns: a row has at most " + std::to_string(columns_max));
    }
    if (!function_.columns.empty()) {
      function_.is_row_declared = query_.row.find("::") != std::string::npos;
      if (!query_.row.empty()) {
        function_.row = query_.row;
      } else if (function_.columns.size() == 1) {
        function_.row = function_.columns[0].cpp_type();
        function_.is_row_declared = true;  // By C++.
      } else {
        function_.row = pascal + "Row";
      }
    }
    const bool is_many =
        function_.parameters.size() > arguments_max || !filters_.empty() || query_.kind == Query::Kind::Batch;
    if (!query_.parameters.empty()) {
      if (function_.parameters.empty()) error(query_.parameters_place, "the statement has no parameters");
      function_.parameter_struct = query_.parameters;
      function_.is_parameter_struct_declared = query_.parameters.find("::") != std::string::npos;
    } else if (is_many) {
      function_.parameter_struct = pascal + "Params";
    }
    if (!query_.sorts.empty()) function_.sort = pascal + "Sort";
  }

  const Query& query_;
  Checker& checker_;
  Problems& problems_;
  std::size_t problems_count_ = 0;
  Function function_;
  std::vector<std::string> filters_;
  std::vector<Place> filter_places_;
  std::vector<std::string> switches_;
  std::vector<Key> keys_;
  // Maps the key of a parameter to the block that depends on the parameter.
  std::map<std::string, std::string> filter_of_;
  std::vector<Described::Parameter> types_;
  Described described_;
  bool is_described_ = false;
};

// Collects the generated structs and other types, each once, and reports names that are used twice.
class TypeNames {
 public:
  explicit TypeNames(Problems& problems) : problems_(problems) {}

  void add_row(const Function& function, std::vector<Struct>& rows) {
    const Place place = function.query->row.empty() ? function.query->place : function.query->row_place;
    add_struct({function.row, function.columns, place}, rows);
  }
  void add_struct(Struct made, std::vector<Struct>& structs) {
    const auto known = std::ranges::find(structs, made.name, &Struct::name);
    if (known != structs.end()) {
      compare(*known, made);
    } else if (take(made.name, made.place)) {
      structs.push_back(std::move(made));
    }
  }
  bool take(const std::string& name, Place place) {
    const auto [at, is_new] = taken_.emplace(name, place);
    if (!is_new)
      problems_.add(place, name + " is already the name of another type at " + problems_.describe(at->second));
    return is_new;
  }

 private:
  void compare(const Struct& known, const Struct& made) {
    const auto differs = [&](std::string text) {
      problems_.add(made.place, made.name + ": " + text + ", unlike at " + problems_.describe(known.place) +
                                    "; give one of them another name");
    };
    for (const Field& field : made.fields) {
      const auto other = std::ranges::find(known.fields, field.name, &Field::name);
      if (other == known.fields.end()) return differs("there is " + field.name);
      if (other->cpp_type() != field.cpp_type()) {
        return differs(field.name + " is " + field.cpp_type() + " and not " + other->cpp_type());
      }
    }
    for (const Field& field : known.fields) {
      if (std::ranges::find(made.fields, field.name, &Field::name) == made.fields.end()) {
        return differs("there is no " + field.name);
      }
    }
  }

  Problems& problems_;
  std::map<std::string, Place> taken_;
};

}  // namespace

std::string Field::cpp_name() const { return gen::snake_of(name) == name + '_' ? name + '_' : name; }

std::string Field::cpp_type() const { return is_optional ? "std::optional<" + type + '>' : type; }

Catalog make_catalog(const std::vector<std::size_t>& sources, Checker& checker, Problems& problems) {
  Catalog catalog;
  std::map<std::string, Query::Typed> typed;
  for (const std::size_t source : sources) {
    Catalog::File file;
    file.source = source;
    file.stem = std::filesystem::path(problems.path(source)).stem().string();
    file.queries = read_queries(source, problems);
    for (const Query::Typed& one : file.queries.types) {
      const auto [known, is_new] = typed.emplace(one.name, one);
      if (!is_new && known->second.type != one.type) {
        problems.add(one.place,
                     one.name + " is " + known->second.type + " at " + problems.describe(known->second.place));
      }
      if (cpp_type_of(one.type).empty()) {
        problems.add(one.place, one.type + " is not a type: expected " + std::string(types_listed));
      }
      const std::size_t dot = one.name.find('.');
      if (const auto mistake = checker.set_type(one.name.substr(0, dot), one.name.substr(dot + 1), one.type)) {
        problems.add(one.place, mistake->text);
      }
    }
    for (const std::string& include : file.queries.includes) {
      if (std::ranges::find(catalog.includes, include) == catalog.includes.end()) catalog.includes.push_back(include);
    }
    catalog.files.push_back(std::move(file));
  }
  if (problems.has_any()) return catalog;
  std::map<std::string, Place> names;
  std::map<std::string, Place> stems;
  TypeNames types(problems);
  for (Catalog::File& file : catalog.files) {
    if (file.stem == "rows")
      problems.add({file.source, 0}, "rows.h is the header with the types of rows: give the file another name");
    const auto [same, is_new_stem] = stems.emplace(file.stem, Place{file.source, 0});
    if (!is_new_stem) {
      problems.add({file.source, 0},
                   file.stem + ".h is generated from " + problems.path(same->second.source) + " already");
    }
    if (file.queries.queries.empty()) {
      problems.add({file.source, 0}, "the file has no query: begin a query with a line -- name: find_user :one");
    }
    for (const Query& query : file.queries.queries) {
      const auto [known, is_new] = names.emplace(query.name, query.place);
      if (!is_new) {
        problems.add(query.place, query.name + " exists already, at " + problems.describe(known->second));
        continue;
      }
      if (!checker.choose(query.database)) {
        problems.add(query.database_place,
                     "-- database: " + query.database + " is not among the databases that are checked");
        continue;
      }
      auto function = QueryReading(query, checker, problems).read();
      if (!function) continue;
      if (!function->row.empty() && !function->is_row_declared) types.add_row(*function, catalog.rows);
      if (!function->parameter_struct.empty() && !function->is_parameter_struct_declared) {
        std::vector<Field> fields(function->parameters.begin(), function->parameters.end());
        types.add_struct({function->parameter_struct, std::move(fields), query.place}, file.structs);
      }
      if (!function->sort.empty()) types.take(function->sort, query.place);
      file.functions.push_back(std::move(*function));
    }
  }
  return catalog;
}

}  // namespace keel::sql
