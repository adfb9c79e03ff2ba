#include "keel/config/internal/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

namespace keel::config {
namespace {

constexpr std::size_t text_bytes_max = 1 << 20;
constexpr std::size_t depth_max = 32;
constexpr std::size_t nodes_max = 20'000;
constexpr std::size_t scalar_bytes_max = 4 << 20;

struct Refused {
  int line;
  std::string text;
};

// Builds the tree from the parser's events, so that limits are enforced while the tree grows and not afterwards.
class Builder : public YAML::EventHandler {
 public:
  Node root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = make(mark, Node::Kind::Null);
    if (expects_key()) throw Refused{node.line, "a key is missing before ':': expected text"};
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused{mark.line + 1, "an alias refers to the value that contains it"};
    Node copy = found->second;
    copy.line = mark.line + 1;
    count(copy, copy.line);
    if (expects_key()) {
      if (copy.kind != Node::Kind::Scalar) throw key_is_not_text(copy.line);
      set_key(copy.text, copy.line);
    } else {
      if (stack_.size() + depth_of(copy) > depth_max) throw too_deep(copy.line);
      add(std::move(copy), 0);
    }
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = make(mark, Node::Kind::Scalar);
    refuse_tag(mark, tag);
    node.quoted = tag == "!";
    node.text = value;
    count_bytes(node, node.line);
    if (expects_key()) {
      if (anchor != 0) anchors_[anchor] = node;
      set_key(value, node.line);
    } else {
      add(std::move(node), anchor);
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, Node::Kind::List, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, Node::Kind::Map, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    bool has_key = false;
    std::string key;
    int key_line = 0;
  };

  static Refused too_deep(int line) {
    return {line, "is nested too deeply: expected at most " + std::to_string(depth_max) + " levels"};
  }
  static Refused key_is_not_text(int line) {
    return {line, "a key is a list or a map, or a bracket is not closed: expected text"};
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // The parser reports the tag "?" for a value without a tag, and "!" for a scalar in quotes.
    if (!tag.empty() && tag != "?" && tag != "!") throw Refused{mark.line + 1, "tags are not supported"};
  }
  static std::size_t depth_of(const Node& node) {
    std::size_t deepest = 0;
    for (const Node& child : node.children) deepest = std::max(deepest, depth_of(child));
    return node.children.empty() ? 0 : deepest + 1;
  }

  Node make(const YAML::Mark& mark, Node::Kind kind) {
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    count_node(node.line);
    return node;
  }
  void count_node(int line) {
    if (++nodes_ > nodes_max) {
      throw Refused{
          line, "has too many values: expected at most " + std::to_string(nodes_max) + " after aliases are expanded"};
    }
  }
  void count_bytes(const Node& node, int line) {
    bytes_ += node.text.size() + node.key.size();
    if (bytes_ > scalar_bytes_max) {
      throw Refused{line, "has too much text: expected at most 4 MiB after aliases are expanded"};
    }
  }
  // Counts the nodes and the text of the copy that the alias in line `line` makes.
  void count(const Node& node, int line) {
    count_node(line);
    count_bytes(node, line);
    for (const Node& child : node.children) count(child, line);
  }
  bool expects_key() const {
    return !stack_.empty() && stack_.back().node.kind == Node::Kind::Map && !stack_.back().has_key;
  }
  void set_key(std::string key, int line) {
    Open& top = stack_.back();
    top.has_key = true;
    top.key = std::move(key);
    top.key_line = line;
  }
  void open(const YAML::Mark& mark, Node::Kind kind, YAML::anchor_t anchor) {
    Node node = make(mark, kind);
    if (expects_key()) throw key_is_not_text(node.line);
    if (stack_.size() == depth_max) throw too_deep(node.line);
    stack_.push_back({std::move(node), anchor, false, {}, 0});
  }
  void close() {
    Open top = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(top.node), top.anchor);
  }
  void add(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    if (stack_.empty()) {
      root = std::move(node);
      return;
    }
    Open& top = stack_.back();
    if (top.node.kind == Node::Kind::Map) {
      node.key = std::move(top.key);
      node.line = top.key_line;
      top.has_key = false;
    }
    top.node.children.push_back(std::move(node));
  }

  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

// Continues reading after the first document, to reject a second one.
class Nothing : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    throw Refused{mark.line + 1, "has a second document: expected only one"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Records where the last scalar in quotes begins.
class LastQuoted : public YAML::EventHandler {
 public:
  YAML::Mark mark = YAML::Mark::null_mark();

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark& at, const std::string& tag, YAML::anchor_t, const std::string&) override {
    if (tag == "!") mark = at;
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Whether the text ends within quotes; other mistakes in the text are ignored.
bool ends_in_quotes(const std::string& text, LastQuoted& last) {
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    // Reads only one document, because a configuration has only one. If a line begins with a stray ',', the parser
    // finds an endless sequence of documents.
    if (parser.HandleNextDocument(last)) parser.HandleNextDocument(last);
  } catch (const YAML::Exception& error) {
    return error.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
  }
  return false;
}

// When the file ends with a line feed, the parser accepts a text whose closing quote is missing. Therefore this
// function parses `text` without the blanks and line feeds at its end. To find out which quote is missing, the function
// appends each kind of quote to this text in turn.
std::optional<ParseProblem> find_unclosed_quote(std::string_view text) {
  if (text.find_first_of("\"'") == text.npos) return std::nullopt;
  std::string trimmed(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
  LastQuoted last;
  if (!ends_in_quotes(trimmed, last)) return std::nullopt;
  for (const char quote : {'"', '\''}) {
    LastQuoted opened;
    if (ends_in_quotes(trimmed + quote, opened) || opened.mark.is_null()) continue;
    return ParseProblem{opened.mark.line + 1,
                        {},
                        std::string("is not valid YAML: the ") + quote + " in column " +
                            std::to_string(opened.mark.column + 1) + " is not closed"};
  }
  return ParseProblem{last.mark.line + 1, {}, "is not valid YAML: a quote is not closed"};
}

void refuse_duplicates(const Node& node, const std::string& path, std::vector<ParseProblem>& problems) {
  std::vector<const Node*> sorted;
  if (node.kind == Node::Kind::Map) {
    for (const Node& child : node.children) sorted.push_back(&child);
    std::sort(sorted.begin(), sorted.end(), [](const Node* a, const Node* b) {
      // Nodes with the same key are compared by address. All nodes are in one vector, so the order of the addresses is
      // the order in which the nodes were written.
      return std::tie(a->key, a) < std::tie(b->key, b);
    });
  }
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->key != sorted[i - 1]->key) continue;
    problems.push_back({sorted[i]->line, path.empty() ? sorted[i]->key : path + "." + sorted[i]->key,
                        "is given twice: first in line " + std::to_string(sorted[i - 1]->line)});
  }
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = node.children[i];
    if (child.children.empty()) continue;
    const std::string name = node.kind == Node::Kind::Map ? child.key : std::to_string(i);
    refuse_duplicates(child, path.empty() ? name : path + "." + name, problems);
  }
}

// The text of a line without its comment and the blanks at its end.
std::string_view code_of(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) line = line.substr(0, i);
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(code_of(text.substr(0, text[end] == '\n' ? end : end + 1)));
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::size_t indentation_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// The line, from 1, of the innermost bracket that is not closed, and the bracket; line 0: none was found. A bracket in
// the middle of an unquoted text does not count.
std::pair<int, char> unclosed_bracket(const std::vector<std::string_view>& lines) {
  std::vector<std::pair<int, char>> open;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    char quote = 0;
    char before = ':';  // The last character that is not blank; it shows whether a value may begin.
    for (const char c : lines[i]) {
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if ((c == '"' || c == '\'') && std::string_view(":-,[{").contains(before)) {
        quote = c;
      } else if ((c == '[' || c == '{') && std::string_view(":-,[{").contains(before)) {
        open.emplace_back(static_cast<int>(i) + 1, c);
      } else if ((c == ']' || c == '}') && !open.empty()) {
        open.pop_back();
      }
      if (c != ' ') before = c;
    }
  }
  return open.empty() ? std::pair(0, ' ') : open.back();
}

// The parser reports the place at which it stopped; this function finds the place of the mistake.
ParseProblem explain(std::string_view text, int line, const std::string& message) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (message.ends_with("flow not found")) {
    const auto [at, bracket] = unclosed_bracket(lines);
    if (at != 0) return {at, {}, std::string("is not valid YAML: ") + bracket + " is not closed"};
  }
  const auto here = static_cast<std::size_t>(line) - 1;
  const bool is_cut_short = message == "end of map not found";
  if ((is_cut_short || message == "illegal map value") && here >= 1 && here < lines.size()) {
    std::size_t above = here - 1;
    while (above > 0 && lines[above].empty()) --above;
    const std::string_view candidate = lines[above];
    const bool has_colon = candidate.ends_with(':') || candidate.find(": ") != std::string_view::npos;
    if (!candidate.empty() && !has_colon && indentation_of(candidate) == indentation_of(lines[here])) {
      return {static_cast<int>(above) + 1, {}, "is not valid YAML: a key is not followed by ':' and a blank"};
    }
  }
  if (is_cut_short) return {line, {}, "is not valid YAML: the indentation matches no key above it"};
  return {line, {}, "is not valid YAML: " + message};
}

}  // namespace

Node parse_tree(std::string_view text, std::vector<ParseProblem>& problems) {
  if (text.size() > text_bytes_max) {
    problems.push_back({0, {}, "is too large: expected at most 1 MiB"});
    return {};
  }
  if (std::optional<ParseProblem> problem = find_unclosed_quote(text)) {
    problems.push_back(*std::move(problem));
    return {};
  }
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Builder builder;
    if (parser.HandleNextDocument(builder)) {
      Nothing nothing;
      parser.HandleNextDocument(nothing);
    }
    refuse_duplicates(builder.root, {}, problems);
    std::sort(problems.begin(), problems.end(), [](const ParseProblem& a, const ParseProblem& b) {
      return std::tie(a.line, a.path, a.text) < std::tie(b.line, b.path, b.text);
    });
    return std::move(builder.root);
  } catch (const Refused& refused) {
    problems.push_back({refused.line, {}, refused.text});
  } catch (const YAML::Exception& error) {
    problems.push_back(explain(text, error.mark.is_null() ? 0 : error.mark.line + 1, error.msg));
  }
  return {};
}

}  // namespace keel::config
