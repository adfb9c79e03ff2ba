#include "openapi/source.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "keel/base/arena.h"
#include "keel/data/json_reader.h"
#include "keel/data/utf8.h"

namespace keel::openapi {
namespace {

// Thrown if a text cannot be read: the reason, and the place in the text.
struct Refused {
  std::uint32_t line;
  std::uint32_t column;
  std::string text;
};

std::uint32_t characters(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      std::count_if(bytes.begin(), bytes.end(), [](unsigned char byte) { return (byte & 0xc0) != 0x80; }));
}

Refused too_deep(std::uint32_t line, std::uint32_t column) {
  return {line, column, "is nested too deeply: at most " + std::to_string(depth_max) + " levels are read"};
}

Node& make_counted(Store& store, const std::string& name, Kind kind, std::uint32_t line, std::uint32_t column) {
  if (store.size() >= nodes_max) {
    throw Refused{line, column,
                  "the document has too many values: at most " + std::to_string(nodes_max) +
                      " are read, after aliases are expanded"};
  }
  Node& node = store.make(kind);
  node.file = &name;
  node.line = line;
  node.column = column;
  return node;
}

// Makes nodes from a text that json::Reader has already accepted as JSON, so no syntax needs to be checked here.
class JsonBuilder {
 public:
  JsonBuilder(Store& store, const std::string& name, std::string_view text) : store_(store), name_(name), text_(text) {}

  Node* value() {
    skip_space();
    switch (text_[at_]) {
      case '{':
        return container(Kind::Map);
      case '[':
        return container(Kind::List);
      case '"': {
        Node& node = make(Kind::String);
        node.text = string();
        return &node;
      }
      case 't':
      case 'f':
        return literal(Kind::Boolean);
      case 'n':
        return literal(Kind::Null);
      default:
        return literal(Kind::Number);
    }
  }

 private:
  Node& make(Kind kind) { return make_counted(store_, name_, kind, line_, column()); }
  std::uint32_t column() {
    counted_ += characters(text_.substr(column_at_, at_ - column_at_));
    column_at_ = at_;
    return counted_ + 1;
  }
  void skip_space() {
    for (; text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'; ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      column_at_ = at_ + 1;
      counted_ = 0;
    }
  }
  Node* literal(Kind kind) {
    Node& node = make(kind);
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    node.text = text_.substr(begin, at_ - begin);
    return &node;
  }
  std::string_view string() {
    const std::size_t begin = at_++;
    bool has_escapes = false;
    for (; text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') continue;
      has_escapes = true;
      ++at_;
    }
    const std::string_view raw = text_.substr(begin, ++at_ - begin);
    if (!has_escapes) return raw.substr(1, raw.size() - 2);
    Arena arena;
    json::Reader in(raw, arena);
    return store_.keep(std::string(in.string()));
  }
  Node* container(Kind kind) {
    Node& node = make(kind);
    if (depth_++ == depth_max) throw too_deep(node.line, node.column);
    const char closing = kind == Kind::Map ? '}' : ']';
    ++at_;
    for (skip_space(); text_[at_] != closing; skip_space()) {
      if (text_[at_] == ',') {
        ++at_;
        skip_space();
      }
      Node* child = nullptr;
      if (kind == Kind::Map) {
        const std::uint32_t line = line_;
        const std::uint32_t from = column();
        const std::string_view key = string();
        skip_space();
        ++at_;  // The colon.
        child = value();
        child->key = key;
        child->line = line;
        child->column = from;
      } else {
        child = value();
      }
      child->parent = &node;
      node.children.push_back(child);
    }
    ++at_;
    --depth_;
    node.children.shrink_to_fit();
    return &node;
  }

  Store& store_;
  const std::string& name_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::uint32_t line_ = 1;
  std::size_t column_at_ = 0;  // The line has `counted_` characters before this position.
  std::uint32_t counted_ = 0;
};

bool is_number(std::string_view text) {
  std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  std::size_t count = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    count += digits();
  }
  if (count == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

// Returns a number in the notation of JSON: YAML also allows "+1", "007", ".5" and "5.".
std::string json_number(std::string_view text) {
  std::string out;
  if (text.starts_with('-')) out += '-';
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::size_t zeros = std::min(text.find_first_not_of('0'), whole);
  out += zeros == whole ? std::string_view("0") : text.substr(zeros, whole - zeros);
  text.remove_prefix(whole);
  const bool has_empty_fraction = text.starts_with('.') && (text.size() == 1 || text[1] == 'e' || text[1] == 'E');
  return out.append(text.substr(has_empty_fraction ? 1 : 0));
}

bool has_leading_zero(std::string_view number) {
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

// Makes nodes from the parser's events, so that limits are enforced while the tree grows and not afterwards.
class YamlBuilder : public YAML::EventHandler {
 public:
  YamlBuilder(Store& store, const std::string& name, std::string_view text) : store_(store), name_(name) {
    for (std::size_t at = 0;; ++at) {
      lines_.push_back(text.substr(at));
      at = text.find('\n', at);
      if (at == text.npos) break;
    }
  }

  Node* root = nullptr;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) throw refused(mark, "a key is null or missing: expected text");
    add(make(mark, Kind::Null), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw refused(mark, "an alias refers to the value that contains it");
    if (expects_key()) {
      if (found->second->children.empty() && found->second->is(Kind::String)) return set_key(mark, found->second->text);
      throw refused(mark, "a key is an alias of a value that is not text: expected text");
    }
    Node& node = copy(*found->second, mark, stack_.size());
    node.line = line_of(mark);
    node.column = column_of(mark);
    add(node, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool is_text = check_tag(mark, tag) || tag == "!";
    if (expects_key()) {
      if (value == "<<" && !is_text) {
        throw refused(mark, "merge keys (<<) are not supported: they are not part of YAML 1.2");
      }
      const std::string_view key = store_.keep(value);
      if (anchor != 0) {
        Node& node = make(mark, Kind::String);
        node.text = key;
        anchors_[anchor] = &node;
      }
      return set_key(mark, key);
    }
    Node& node = make(mark, is_text ? Kind::String : kind_of(mark, value));
    node.text = store_.keep(node.is(Kind::Number) ? json_number(value) : value);
    add(node, anchor);
    if (node.is(Kind::Number) && has_leading_zero(value)) zeros_.emplace_back(&node, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(mark, Kind::List, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(mark, Kind::Map, anchor);
  }
  void OnMapEnd() override { close(); }

  // YAML 1.1 reads 010 as 8, and YAML 1.2 reads it as 10, but the author of the document may have meant a text.
  void warn_of_zeros(Problems& problems) const {
    for (const auto& [node, written] : zeros_) {
      problems.warning(*node,
                       "the number " + written + " is " + std::string(node->text) + ": put it in quotes if it is text");
    }
  }
  Refused refused(const YAML::Mark& mark, std::string text) const {
    return {line_of(mark), column_of(mark), std::move(text)};
  }

 private:
  struct Open {
    Node* node;
    YAML::anchor_t anchor;
    bool has_key = false;
    std::string_view key;
    std::uint32_t key_line = 0;
    std::uint32_t key_column = 0;
  };

  static std::uint32_t line_of(const YAML::Mark& mark) { return static_cast<std::uint32_t>(mark.line) + 1; }
  // The parser counts bytes, but a column counts characters. Counting continues from the previous mark, because
  // successive marks are close to each other: a line of several megabytes must not be counted again for each mark.
  std::uint32_t column_of(const YAML::Mark& mark) const {
    const auto line = static_cast<std::size_t>(mark.line);
    if (line >= lines_.size()) return 1;
    if (line != counted_line_) {
      counted_line_ = line;
      counted_bytes_ = 0;
      counted_ = 0;
    }
    const std::size_t bytes = std::min(static_cast<std::size_t>(mark.column), lines_[line].size());
    if (bytes >= counted_bytes_) {
      counted_ += characters(lines_[line].substr(counted_bytes_, bytes - counted_bytes_));
    } else {
      counted_ -= characters(lines_[line].substr(bytes, counted_bytes_ - bytes));
    }
    counted_bytes_ = bytes;
    return counted_ + 1;
  }
  // Returns true for the tag of a string; throws for any other tag. The parser reports "?" if there is no tag, and "!"
  // for a quoted scalar.
  bool check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag == "tag:yaml.org,2002:str") return true;
    if (!tag.empty() && tag != "?" && tag != "!") throw refused(mark, "tags are not supported");
    return false;
  }
  // The kind of a plain scalar in the core schema of YAML 1.2.
  Kind kind_of(const YAML::Mark& mark, const std::string& value) const {
    if (value == "true" || value == "false") return Kind::Boolean;
    if (value == "True" || value == "False" || value == "TRUE" || value == "FALSE") {
      throw refused(mark, "write true or false, or put '" + value + "' in quotes");
    }
    if (is_number(value)) return Kind::Number;
    const std::string_view unsigned_value =
        std::string_view(value).substr(value.starts_with('-') || value.starts_with('+') ? 1 : 0);
    if (unsigned_value == ".inf" || unsigned_value == ".nan" || unsigned_value == ".NaN" || unsigned_value == ".Inf") {
      throw refused(mark, value + " is not a JSON number");
    }
    return Kind::String;
  }
  Node& make(const YAML::Mark& mark, Kind kind) {
    return make_counted(store_, name_, kind, line_of(mark), column_of(mark));
  }
  Node& copy(const Node& from, const YAML::Mark& mark, std::size_t depth) {
    if (depth > depth_max) throw too_deep(line_of(mark), column_of(mark));
    Node& node = make(mark, from.kind);
    node = from;
    for (Node*& child : node.children) {
      child = &copy(*child, mark, depth + 1);
      child->parent = &node;
    }
    return node;
  }
  bool expects_key() const { return !stack_.empty() && stack_.back().node->is(Kind::Map) && !stack_.back().has_key; }
  void set_key(const YAML::Mark& mark, std::string_view key) {
    Open& top = stack_.back();
    top.has_key = true;
    top.key = key;
    top.key_line = line_of(mark);
    top.key_column = column_of(mark);
  }
  void open(const YAML::Mark& mark, Kind kind, YAML::anchor_t anchor) {
    if (expects_key()) throw refused(mark, "a key is a list or a map, or a bracket is not closed: expected text");
    if (stack_.size() == depth_max) throw too_deep(line_of(mark), column_of(mark));
    stack_.push_back({.node = &make(mark, kind), .anchor = anchor, .key = {}});
  }
  void close() {
    const Open top = stack_.back();
    stack_.pop_back();
    top.node->children.shrink_to_fit();
    add(*top.node, top.anchor);
  }
  void add(Node& node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = &node;
    if (stack_.empty()) {
      root = &node;
      return;
    }
    Open& top = stack_.back();
    if (top.node->is(Kind::Map)) {
      node.key = top.key;
      node.line = top.key_line;
      node.column = top.key_column;
      top.has_key = false;
    }
    node.parent = top.node;
    top.node->children.push_back(&node);
  }

  Store& store_;
  const std::string& name_;
  std::vector<std::string_view> lines_;
  mutable std::size_t counted_line_ = 0;
  mutable std::size_t counted_bytes_ = 0;  // The line has `counted_` characters before this position.
  mutable std::uint32_t counted_ = 0;
  std::vector<Open> stack_;
  // The numbers with leading zeros, with their original texts.
  std::vector<std::pair<const Node*, std::string>> zeros_;
  std::map<YAML::anchor_t, Node*> anchors_;
};

// Receives the events after the first document, and rejects a second document.
class NoSecond : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    throw Refused{static_cast<std::uint32_t>(mark.line) + 1, 1, "the file has a second document: expected only one"};
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

Node* parse_yaml(Store& store, const std::string& name, std::string_view text, Problems& problems) {
  std::istringstream in{std::string(text)};
  YamlBuilder builder(store, name, text);
  try {
    YAML::Parser parser(in);
    if (parser.HandleNextDocument(builder)) {
      NoSecond nothing;
      parser.HandleNextDocument(nothing);
    }
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) throw Refused{0, 0, "is no YAML: " + error.msg};
    throw builder.refused(error.mark, "is no YAML: " + error.msg);
  }
  builder.warn_of_zeros(problems);
  return builder.root;
}

// Returns null if the text is not JSON, and sets `why` to the reason.
Node* parse_json(Store& store, const std::string& name, std::string_view text, Refused& why) {
  Arena arena;
  json::Reader reader(text, arena, {.depth_max = static_cast<int>(depth_max)});
  reader.skip();
  if (!reader.finish()) {
    const json::Problem problem = reader.problem();
    // The reader counts bytes, but a column counts characters.
    const std::size_t line = problem.offset == 0 ? 0 : text.rfind('\n', problem.offset - 1) + 1;
    why = {static_cast<std::uint32_t>(problem.line), characters(text.substr(line, problem.offset - line)) + 1,
           std::string("is no JSON: ") + problem.message};
    return nullptr;
  }
  return JsonBuilder(store, name, text).value();
}

void refuse_duplicates(Node& node, Problems& problems) {
  for (Node* child : node.children) refuse_duplicates(*child, problems);
  if (!node.is(Kind::Map) || node.children.size() < 2) return;
  std::vector<const Node*> sorted(node.children.begin(), node.children.end());
  std::sort(sorted.begin(), sorted.end(), [](const Node* a, const Node* b) {
    return std::tie(a->key, a->line, a->column) < std::tie(b->key, b->line, b->column);
  });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->key != sorted[i - 1]->key) continue;
    problems.error(*sorted[i], "the key '" + std::string(sorted[i]->key) + "' is given twice: first in line " +
                                   std::to_string(sorted[i - 1]->line));
  }
}

}  // namespace

Node* parse_source(Store& store, const std::string& name, std::string text, Problems& problems) {
  const auto refuse = [&](std::uint32_t line, std::uint32_t column, std::string why) -> Node* {
    problems.add({.file = name, .line = line, .column = column, .text = std::move(why), .pointer = {}});
    return nullptr;
  };
  if (text.size() > file_bytes_max) return refuse(0, 0, "is too large: at most 32 MiB are read");
  std::string_view kept = store.keep(std::move(text));
  if (kept.starts_with("\xef\xbb\xbf")) kept.remove_prefix(3);
  if (!utf8::is_valid(kept)) return refuse(0, 0, "is not text in UTF-8");
  const std::size_t begin = kept.find_first_not_of(" \t\r\n");
  if (begin == kept.npos) return refuse(0, 0, "is empty");
  try {
    Node* root = nullptr;
    Refused why{};
    if (name.ends_with(".json") || kept[begin] == '{' || kept[begin] == '[') {
      root = parse_json(store, name, kept, why);
      if (root == nullptr && name.ends_with(".json")) throw why;
    }
    if (root == nullptr) root = parse_yaml(store, name, kept, problems);
    if (root == nullptr) return refuse(0, 0, "is empty");
    refuse_duplicates(*root, problems);
    return root;
  } catch (const Refused& refused) {
    return refuse(refused.line, refused.column, refused.text);
  }
}

}  // namespace keel::openapi
