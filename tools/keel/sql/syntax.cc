#include "sql/syntax.h"

#include <algorithm>
#include <utility>

#include "sql/lexemes.h"
#include "sql/operators.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

constexpr int tree_levels_max = 200;
constexpr int operators_max = 1000;  // The maximum number of operators in one expression, which is also SQLite's limit.

class Parser {
 public:
  explicit Parser(std::string_view text) : lexemes_(lexemes_of(text)) {}

  std::optional<StatementTree> statement() {
    StatementTree tree;
    if (take("with")) tree.ctes = ctes();
    if (at().is("select") || at().is("values")) {
      tree.kind = StatementTree::Kind::Select;
      tree.select = select();
      tree.select->ctes = std::move(tree.ctes);
      tree.ctes.clear();
    } else if (take("insert") || take("replace")) {
      insert(tree);
    } else if (take("update")) {
      update(tree);
    } else if (take("delete")) {
      remove(tree);
    } else {
      return std::nullopt;
    }
    while (take_symbol(";")) {
    }
    if (is_bad_ || at().kind != Lexeme::Kind::End) return std::nullopt;
    return tree;
  }

 private:
  const Lexeme& at(std::size_t ahead = 0) const { return lexemes_[std::min(next_ + ahead, lexemes_.size() - 1)]; }
  const Lexeme& advance() {
    const Lexeme& lexeme = at();
    if (next_ + 1 < lexemes_.size()) ++next_;
    return lexeme;
  }
  bool take(std::string_view word) {
    if (!at().is(word)) return false;
    advance();
    return true;
  }
  bool take_symbol(std::string_view symbol) {
    if (!at().is_symbol(symbol)) return false;
    advance();
    return true;
  }
  void expect(bool is_there) {
    if (!is_there) is_bad_ = true;
  }
  bool is_name() const { return at().kind == Lexeme::Kind::Word || at().kind == Lexeme::Kind::Quoted; }
  std::string name() {
    if (!is_name()) {
      is_bad_ = true;
      return {};
    }
    return advance().value();
  }
  // `main.users` is users.
  std::string table_name() {
    std::string first = name();
    return take_symbol(".") ? name() : first;
  }
  std::string alias() {
    if (take("as")) {
      if (at().kind == Lexeme::Kind::Text) return advance().value();
      return name();
    }
    if (is_name() && !is_reserved(at())) return name();
    return {};
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    expect(take_symbol("("));
    do found.push_back(name());
    while (!is_bad_ && take_symbol(","));
    expect(take_symbol(")"));
    return found;
  }
  std::vector<Expression> expressions() {
    std::vector<Expression> found;
    do found.push_back(expression());
    while (!is_bad_ && take_symbol(","));
    return found;
  }

  std::vector<Cte> ctes() {
    take("recursive");
    std::vector<Cte> found;
    do {
      Cte cte;
      cte.name = name();
      if (at().is_symbol("(")) cte.columns = names();
      expect(take("as"));
      take("not");
      take("materialized");
      expect(take_symbol("("));
      cte.select = select();
      expect(take_symbol(")"));
      found.push_back(std::move(cte));
    } while (!is_bad_ && take_symbol(","));
    return found;
  }

  std::shared_ptr<Select> select() {
    auto made = std::make_shared<Select>();
    if (++level_ > tree_levels_max) is_bad_ = true;
    if (take("with")) made->ctes = ctes();
    do {
      if (is_bad_) break;
      made->cores.push_back(core());
    } while (take_compound());
    if (take("order")) {
      expect(take("by"));
      made->order = ordered();
    }
    if (take("limit")) made->limits = limits();
    --level_;
    return made;
  }
  bool take_compound() {
    if (take("union")) {
      take("all");
      return true;
    }
    return take("intersect") || take("except");
  }
  std::vector<Expression> ordered() {
    std::vector<Expression> found;
    do {
      found.push_back(expression());
      if (!take("asc")) take("desc");
      if (take("nulls") && !take("first")) expect(take("last"));
    } while (!is_bad_ && take_symbol(","));
    return found;
  }
  std::vector<Expression> limits() {
    std::vector<Expression> found;
    found.push_back(expression());
    if (take("offset") || take_symbol(",")) found.push_back(expression());
    return found;
  }

  Core core() {
    Core made;
    if (take("values")) {
      made.values = rows();
      return made;
    }
    expect(take("select"));
    if (!take("distinct")) {
      take("all");
    } else if (take("on")) {
      expect(take_symbol("("));
      for (Expression& one : expressions()) made.conditions.push_back(std::move(one));
      expect(take_symbol(")"));
    }
    made.items = items();
    if (take("from")) made.from = sources();
    if (take("where")) made.conditions.push_back(expression());
    if (take("group")) {
      expect(take("by"));
      made.is_grouped = true;
      for (Expression& one : expressions()) made.conditions.push_back(std::move(one));
    }
    if (take("having")) {
      made.has_having = true;
      made.conditions.push_back(expression());
    }
    if (take("window")) {
      do {
        name();
        expect(take("as"));
        for (Expression& one : window()) made.conditions.push_back(std::move(one));
      } while (!is_bad_ && take_symbol(","));
    }
    return made;
  }
  std::vector<std::vector<Expression>> rows() {
    std::vector<std::vector<Expression>> found;
    do {
      expect(take_symbol("("));
      found.push_back(expressions());
      expect(take_symbol(")"));
    } while (!is_bad_ && take_symbol(","));
    return found;
  }
  std::vector<Item> items() {
    std::vector<Item> found;
    do {
      Item item;
      if (take_symbol("*")) {
      } else if (is_name() && at(1).is_symbol(".") && at(2).is_symbol("*")) {
        item.name = name();
        advance();
        advance();
      } else {
        item.value = expression();
        item.name = alias();
      }
      found.push_back(std::move(item));
    } while (!is_bad_ && take_symbol(","));
    return found;
  }

  std::vector<Source> sources() {
    std::vector<Source> found;
    add_source(found, Source::Join::Inner, false);
    while (!is_bad_) {
      Source::Join join = Source::Join::Inner;
      const bool is_natural = take("natural");
      if (!is_natural && take_symbol(",")) {
        add_source(found, join, false);
        continue;
      }
      if (take("left")) {
        join = Source::Join::Left;
      } else if (take("right")) {
        join = Source::Join::Right;
      } else if (take("full")) {
        join = Source::Join::Full;
      } else if (take("inner") || take("cross")) {
      } else if (!at().is("join")) {
        expect(!is_natural);
        break;
      }
      take("outer");
      expect(take("join"));
      add_source(found, join, is_natural);
    }
    return found;
  }
  void add_source(std::vector<Source>& found, Source::Join join, bool is_natural) {
    Source source;
    source.join = join;
    source.is_natural = is_natural;
    if (take_symbol("(")) {
      if (!at().is("select") && !at().is("values") && !at().is("with")) {
        // A join in parentheses is not supported, because the parser would have to distinguish the sides of such a
        // join.
        is_bad_ = true;
        return;
      }
      source.select = select();
      expect(take_symbol(")"));
    } else {
      source.table = table_name();
      if (take_symbol("(")) {
        source.is_function = true;
        if (!at().is_symbol(")")) source.arguments = expressions();
        expect(take_symbol(")"));
      }
    }
    source.alias = alias();
    if (source.alias.empty()) source.alias = source.table;
    if (take("indexed")) {
      expect(take("by"));
      name();
    } else if (at().is("not") && at(1).is("indexed")) {
      advance();
      advance();
    }
    if (take("on")) {
      source.on = expression();
    } else if (take("using")) {
      source.shared = names();
    }
    found.push_back(std::move(source));
  }

  void target(StatementTree& tree) {
    if (take("or")) advance();
    tree.table = table_name();
    if (take("as")) tree.alias = name();
    if (tree.alias.empty()) tree.alias = tree.table;
  }
  void returning(StatementTree& tree) {
    if (take("returning")) tree.returning = items();
  }
  void assignments(StatementTree& tree) {
    expect(take("set"));
    do {
      Assignment one;
      if (at().is_symbol("(")) {
        one.columns = names();
      } else {
        one.columns.push_back(name());
      }
      expect(take_symbol("="));
      one.value = expression();
      tree.assignments.push_back(std::move(one));
    } while (!is_bad_ && take_symbol(","));
  }
  void insert(StatementTree& tree) {
    tree.kind = StatementTree::Kind::Insert;
    if (take("or")) advance();
    expect(take("into"));
    target(tree);
    if (at().is_symbol("(")) tree.columns = names();
    if (take("default")) {
      expect(take("values"));
    } else {
      tree.select = select();
    }
    while (!is_bad_ && at().is("on")) {
      advance();
      expect(take("conflict"));
      if (take_symbol("(")) {
        for (Expression& one : ordered()) tree.conditions.push_back(std::move(one));
        expect(take_symbol(")"));
        if (take("where")) tree.conditions.push_back(expression());
      }
      expect(take("do"));
      if (take("nothing")) continue;
      expect(take("update"));
      assignments(tree);
      if (take("where")) tree.conditions.push_back(expression());
    }
    returning(tree);
  }
  void update(StatementTree& tree) {
    tree.kind = StatementTree::Kind::Update;
    target(tree);
    skip_index();
    assignments(tree);
    if (take("from")) tree.from = sources();
    if (take("where")) tree.conditions.push_back(expression());
    returning(tree);
    end_of_change(tree);
  }
  void remove(StatementTree& tree) {
    tree.kind = StatementTree::Kind::Delete;
    expect(take("from"));
    target(tree);
    skip_index();
    if (take("where")) tree.conditions.push_back(expression());
    returning(tree);
    end_of_change(tree);
  }
  void skip_index() {
    if (take("indexed")) {
      expect(take("by"));
      name();
    }
  }
  void end_of_change(StatementTree& tree) {
    if (take("order")) {
      expect(take("by"));
      for (Expression& one : ordered()) tree.conditions.push_back(std::move(one));
    }
    if (take("limit")) tree.limits = limits();
    if (tree.returning.empty()) returning(tree);
  }

  static Expression made(Expression::Kind kind, std::size_t offset, std::string name = {}) {
    Expression one;
    one.kind = kind;
    one.offset = offset;
    one.name = std::move(name);
    return one;
  }

  Expression expression(int least = 1) {
    if (++level_ > tree_levels_max) is_bad_ = true;
    Expression left = is_bad_ ? Expression() : prefix();
    for (int operators = 0; !is_bad_; ++operators) {
      if (operators == operators_max) is_bad_ = true;
      const int strength = strength_of(at(), at(1));
      if (strength == 0 || strength < least) break;
      left = infix(std::move(left), strength);
    }
    --level_;
    return left;
  }

  Expression infix(Expression left, int strength) {
    const Lexeme& first = advance();
    if (first.is("collate")) {
      name();
      return left;
    }
    if (first.is_symbol("::")) {
      Expression one = made(Expression::Kind::Cast, first.offset, type_name());
      one.children.push_back(std::move(left));
      return one;
    }
    if (first.is("isnull") || first.is("notnull")) return null_test(std::move(left));
    if (first.is("is")) {
      take("not");
      if (take("null")) return null_test(std::move(left));
      if (take("distinct")) expect(take("from"));
      Expression made_ = made(Expression::Kind::Binary, first.offset, "is");
      made_.children.push_back(std::move(left));
      made_.children.push_back(expression(strength + 1));
      return made_;
    }
    const bool is_not = first.is("not");
    const Lexeme& word = is_not ? advance() : first;
    if (is_not && word.is("null")) return null_test(std::move(left));
    if (word.is("in")) return in(std::move(left), word.offset);
    if (word.is("between")) {
      Expression one = made(Expression::Kind::Between, word.offset);
      one.children.push_back(std::move(left));
      one.children.push_back(expression(strength + 1));
      expect(take("and"));
      one.children.push_back(expression(strength + 1));
      return one;
    }
    const bool is_like =
        word.is("like") || word.is("ilike") || word.is("glob") || word.is("match") || word.is("regexp");
    Expression one =
        made(is_like ? Expression::Kind::Like : Expression::Kind::Binary, word.offset, lower_of(word.text));
    one.children.push_back(std::move(left));
    one.children.push_back(expression(strength + 1));
    if (is_like && take("escape")) one.children.push_back(expression(strength + 1));
    return one;
  }
  // Reads the type after PostgreSQL's `::`, such as "bigint", "timestamp(3) with time zone" or "int[]".
  std::string type_name() {
    std::string type = lower_of(table_name());
    const bool is_time = type == "timestamp" || type == "time";
    if (type == "double") expect(take("precision"));
    if (type == "character" || type == "bit") take("varying");
    if (take_symbol("(")) {
      while (!is_bad_ && !take_symbol(")")) {
        expect(at().kind != Lexeme::Kind::End);
        advance();
      }
    }
    if (is_time && (take("with") || take("without"))) {
      expect(take("time"));
      expect(take("zone"));
    }
    while (at().kind == Lexeme::Kind::Quoted && at().text.starts_with('[')) {
      advance();
      type = "array";
    }
    return type;
  }
  static Expression null_test(Expression of) {
    Expression one = made(Expression::Kind::IsNull, of.offset);
    one.children.push_back(std::move(of));
    return one;
  }
  Expression in(Expression left, std::size_t offset) {
    Expression one = made(Expression::Kind::In, offset);
    one.children.push_back(std::move(left));
    if (take_symbol("(")) {
      if (at().is("select") || at().is("values") || at().is("with")) {
        one.select = select();
      } else if (!at().is_symbol(")")) {
        for (Expression& value : expressions()) one.children.push_back(std::move(value));
      }
      expect(take_symbol(")"));
    } else {
      is_bad_ = true;  // The right-hand side of `in` is a table, which is not supported.
    }
    return one;
  }

  Expression prefix() {
    const Lexeme& first = at();
    if (first.is_symbol("-") || first.is_symbol("+") || first.is_symbol("~")) {
      advance();
      Expression one = made(Expression::Kind::Unary, first.offset, std::string(first.text));
      one.children.push_back(expression(11));
      return one;
    }
    if (first.is("not")) {
      advance();
      if (at().is("exists")) return prefix();
      Expression one = made(Expression::Kind::Unary, first.offset, "not");
      one.children.push_back(expression(3));
      return one;
    }
    if (first.is("exists") && at(1).is_symbol("(")) {
      advance();
      advance();
      Expression one = made(Expression::Kind::Exists, first.offset);
      one.select = select();
      expect(take_symbol(")"));
      return one;
    }
    if (first.is("case")) return case_of();
    if (first.is("cast") && at(1).is_symbol("(")) return cast();
    if (take_symbol("(")) return parenthesis(first.offset);
    return primary();
  }
  Expression parenthesis(std::size_t offset) {
    if (at().is("select") || at().is("values") || at().is("with")) {
      Expression one = made(Expression::Kind::Scalar, offset);
      one.select = select();
      expect(take_symbol(")"));
      return one;
    }
    std::vector<Expression> inner = expressions();
    expect(take_symbol(")"));
    if (inner.size() == 1) return std::move(inner[0]);
    Expression one = made(Expression::Kind::Row, offset);
    one.children = std::move(inner);
    return one;
  }
  Expression case_of() {
    Expression one = made(Expression::Kind::Case, advance().offset);
    const bool has_subject = !at().is("when");
    if (has_subject) one.others.push_back(expression());
    while (!is_bad_ && take("when")) {
      one.others.push_back(expression());
      expect(take("then"));
      one.children.push_back(expression());
    }
    // If true, the first expression in `others` is the subject, which is compared with the other expressions.
    one.is_filtered = has_subject;
    if (take("else")) {
      one.has_else = true;
      one.children.push_back(expression());
    }
    expect(take("end"));
    return one;
  }
  Expression cast() {
    Expression one = made(Expression::Kind::Cast, advance().offset);
    advance();
    one.children.push_back(expression());
    expect(take("as"));
    while (at().kind == Lexeme::Kind::Word) one.name += (one.name.empty() ? "" : " ") + lower_of(advance().text);
    if (take_symbol("(")) {
      while (!is_bad_ && !take_symbol(")")) {
        expect(at().kind != Lexeme::Kind::End);
        advance();
      }
    }
    expect(take_symbol(")"));
    return one;
  }

  Expression primary() {
    const Lexeme& first = advance();
    switch (first.kind) {
      case Lexeme::Kind::Number: {
        const bool is_hex = first.text.starts_with("0x") || first.text.starts_with("0X");
        const bool is_real = !is_hex && first.text.find_first_of(".eE") != first.text.npos;
        return made(is_real ? Expression::Kind::Real : Expression::Kind::Integer, first.offset,
                    std::string(first.text));
      }
      case Lexeme::Kind::Text:
        return made(Expression::Kind::Text, first.offset, first.value());
      case Lexeme::Kind::Blob:
        return made(Expression::Kind::Blob, first.offset);
      case Lexeme::Kind::Parameter:
        return made(Expression::Kind::Parameter, first.offset, std::string(first.text.substr(1)));
      case Lexeme::Kind::Word:
        if (first.is("null")) return made(Expression::Kind::Null, first.offset);
        if ((first.is("true") || first.is("false")) && !at().is_symbol("."))
          return made(Expression::Kind::Boolean, first.offset);
        if (first.is("current_timestamp") || first.is("current_date") || first.is("current_time")) {
          return made(Expression::Kind::Text, first.offset);
        }
        if (at().is_symbol("(")) return call(first);
        break;
      case Lexeme::Kind::Quoted:
        break;
      default:
        is_bad_ = true;
        return {};
    }
    Expression one = made(Expression::Kind::Column, first.offset, first.value());
    while (take_symbol(".")) {
      one.table = std::move(one.name);
      one.name = name();
    }
    return one;
  }
  Expression call(const Lexeme& function) {
    Expression one = made(Expression::Kind::Call, function.offset, lower_of(function.text));
    advance();
    take("distinct");
    if (take_symbol("*")) {
      one.is_star = true;
    } else if (!at().is_symbol(")")) {
      one.children = expressions();
    }
    expect(take_symbol(")"));
    if (at().is("filter") && at(1).is_symbol("(")) {
      advance();
      advance();
      expect(take("where"));
      one.is_filtered = true;
      one.others.push_back(expression());
      expect(take_symbol(")"));
    }
    if (take("over")) {
      one.is_window = true;
      if (at().is_symbol("(")) {
        for (Expression& part : window()) one.others.push_back(std::move(part));
      } else {
        name();
      }
    }
    return one;
  }
  std::vector<Expression> window() {
    std::vector<Expression> found;
    expect(take_symbol("("));
    if (take("partition")) {
      expect(take("by"));
      found = expressions();
    }
    if (take("order")) {
      expect(take("by"));
      for (Expression& one : ordered()) found.push_back(std::move(one));
    }
    // Skips the frame or the name of another window.
    while (!is_bad_ && !at().is_symbol(")")) {
      expect(at().kind == Lexeme::Kind::Word || at().kind == Lexeme::Kind::Number);
      advance();
    }
    expect(take_symbol(")"));
    return found;
  }

  std::vector<Lexeme> lexemes_;
  std::size_t next_ = 0;
  int level_ = 0;
  bool is_bad_ = false;
};

}  // namespace

std::optional<StatementTree> parse_statement(std::string_view text) { return Parser(text).statement(); }

}  // namespace keel::sql
