// openapi/diff_schemas.h — the part of diff() that compares schemas.

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "openapi/diff.h"

namespace keel::openapi {

struct View;  // The content of a schema, including that of its references and its `allOf`.

class SchemaDiff {
 public:
  // The client sends a parameter as text, and receives a header as text. For a webhook, the client receives the request
  // and sends the response.
  enum class Direction : std::uint8_t { Request, Parameter, Response, Header, WebhookRequest, WebhookResponse };

  SchemaDiff(const Document& before, const Document& after, std::vector<Change>& changes)
      : before_(before), after_(after), changes_(changes) {}

  // Requests a comparison of the two schemas. Null means that there is no schema, so that any value is allowed.
  void compare(const Node* before, const Node* after, Direction direction);
  // Compares the requested schemas, and the schemas that they refer to.
  void run();

 private:
  struct Pair {
    const Node* before;
    const Node* after;
    Direction direction;
  };

  void compare(const Pair& pair);
  void compare_types(const View& before, const View& after);
  void compare_enums(const View& before, const View& after);
  void compare_bounds(const View& before, const View& after);
  void compare_texts(const View& before, const View& after);
  void compare_properties(const View& before, const View& after);
  void compare_items(const View& before, const View& after);
  void compare_alternatives(const View& before, const View& after, std::string_view name);
  void compare_rest(const View& before, const View& after);

  // True if the client sends the value; false if the client receives it.
  bool is_sent_by_client() const noexcept {
    return current_.direction == Direction::Request || current_.direction == Direction::Parameter ||
           current_.direction == Direction::WebhookResponse;
  }
  bool is_text() const noexcept {
    return current_.direction == Direction::Parameter || current_.direction == Direction::Header;
  }
  // narrowed() reports that the new schema accepts fewer values; widened() reports that it accepts more values.
  void narrowed(std::string_view what, std::string text, const Node* old_place, const Node* new_place);
  void widened(std::string_view what, std::string text, const Node* old_place, const Node* new_place);
  void note(Change::Severity severity, std::string_view what, std::string text, const Node* old_place,
            const Node* new_place);

  const Document& before_;
  const Document& after_;
  std::vector<Change>& changes_;
  std::set<std::tuple<const Node*, const Node*, Direction>> seen_;
  std::vector<Pair> waiting_;
  Pair current_{};
};

}  // namespace keel::openapi
