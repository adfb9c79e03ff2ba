// docs/json.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::json_doc_test {

enum class Status { Open, InTransit, Paid };

}  // namespace keel::json_doc_test

template <>
inline constexpr auto keel::name_case<keel::json_doc_test::Status> = keel::Case::Snake;  // "in_transit"

namespace keel::json_doc_test {

struct Money {
  std::int64_t cents = 0;
};
void read_json(json::Reader& in, Money& money) { money.cents = in.int64(); }
void write_json(json::Writer& out, const Money& money) { out.integer(money.cents); }

namespace {

struct Line {
  std::string sku;
  int quantity = 1;

  static constexpr std::string_view optional_fields[] = {"quantity"};
};
struct Order {
  Uuid id;
  Timestamp created_at;
  Status status;
  std::vector<Line> lines;
  std::optional<std::string> note;

  static constexpr auto name_case = Case::Camel;
};

Result<std::string> send_order(std::string_view text) {
  KEEL_TRY(Order order, json::parse<Order>(text));
  order.status = Status::InTransit;
  std::string reply = json::write(order);
  return reply;
}

TEST(JsonDoc, reads_and_writes_a_struct) {
  const std::string_view open =
      R"({"id":"0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50","createdAt":"2026-11-24T12:00:37Z","status":"open",)"
      R"("lines":[{"sku":"AB"}]})";
  EXPECT_EQ(send_order(open).value(),
            R"({"id":"0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50","createdAt":"2026-11-24T12:00:37Z","status":"in_transit",)"
            R"("lines":[{"sku":"AB","quantity":1}],"note":null})");
}

class Account {
 public:
  const std::string& owner() const { return owner_; }

 private:
  std::int64_t id_ = 0;
  std::string owner_;

 public:
  static constexpr auto fields = keel::fields("id", &Account::id_, "owner", &Account::owner_);
};

TEST(JsonDoc, reads_a_class_that_lists_its_fields) {
  EXPECT_EQ(json::parse<Account>(R"({"id":1,"owner":"Ada"})").value().owner(), "Ada");
}

struct Booking {
  std::string room;
  int guests;
  std::vector<std::string> names;
  std::optional<std::string> note;
  Timestamp from;
  Timestamp to;

  void rules(Check& check) const {
    check(room).matches("[A-Z][0-9]{2}", "must be a room such as B12");
    check(guests).range(1, 8);
    check(names).count(1, 8);
    check.each(names).length(1, 80);
    check(note).length_at_most(500);
    check.that(from < to, "from must be before to");
  }
};

TEST(JsonDoc, reports_all_that_is_wrong) {
  const std::string_view text = R"({"room":"A1","guests":9,"from":"2026-11-24T12:00:37Z","to":"2026-11-24T12:00:37Z"})";
  EXPECT_EQ(json::parse<Booking>(text).error().message(),
            "/names is required; /room must be a room such as B12; /guests must be from 1 to 8");
  std::vector<std::string> pointers;
  const auto report = [&](const std::string& pointer, auto&&...) { pointers.push_back(pointer); };
  Booking booking;
  Arena arena;

  Violations wrong;
  if (!json::read(booking, text, arena, wrong)) {
    for (const Violation& one : wrong) report(one.pointer, one.message, one.line, one.column);
  }

  EXPECT_EQ(pointers, (std::vector<std::string>{"/names", "/room", "/guests"}));
}

struct Card {
  std::string number;

  static constexpr Tag tag = {"type", "card"};
};
struct Transfer {
  std::string iban;

  static constexpr Tag tag = {"type", "transfer"};
};
struct Payment {
  std::int64_t cents;
  std::variant<Card, Transfer> by;
};

Result<> pay(std::string& charged) {
  const auto charge = [&](const Card& card, std::int64_t cents) { charged = card.number + std::to_string(cents); };
  KEEL_TRY(Payment payment, json::parse<Payment>(R"({"cents":5,"by":{"type":"card","number":"4111"}})"));
  if (const Card* card = std::get_if<Card>(&payment.by)) charge(*card, payment.cents);
  return {};
}

TEST(JsonDoc, reads_one_of_several_kinds) {
  std::string charged;
  EXPECT_TRUE(pay(charged));
  EXPECT_EQ(charged, "41115");
  EXPECT_EQ(json::parse<Payment>(R"({"cents":5,"by":{"type":"x"}})").error().message(),
            "/by/type must be one of card, transfer");
}

struct Upload {
  std::string name;
  std::vector<std::byte> content;
  std::array<std::byte, 4> checksum;
};

TEST(JsonDoc, reads_and_writes_bytes) {
  const std::string_view text = R"({"name":"a","content":"Zm9v","checksum":"AQID/w=="})";
  EXPECT_EQ(json::write(json::parse<Upload>(text).value()), text);
}

Result<std::string> look_into(std::string_view text, std::string& used) {
  const auto use = [&](std::optional<std::string_view> tag) { used += *tag; };
  KEEL_TRY(json::Value event, json::parse<json::Value>(text));
  KEEL_TRY(auto id, event.get<std::int64_t>("/order/id"));  // "/order/id is missing", "/order/id: expected an integer"
  if (const json::Value* tags = event.find("tags")) {
    for (const json::Value& tag : tags->elements()) use(tag.string());  // std::optional<std::string_view>
  }
  event["seen"] = true;
  json::Value reply = json::Value::object({{"id", id}, {"tags", json::Value::array({"a", "b"})}});
  return json::write(event) + json::write(reply);
}

TEST(JsonDoc, reads_what_has_no_struct) {
  std::string used;
  EXPECT_EQ(look_into(R"({"order":{"id":7},"tags":["x","y"]})", used).value(),
            R"({"order":{"id":7},"tags":["x","y"],"seen":true}{"id":7,"tags":["a","b"]})");
  EXPECT_EQ(used, "xy");
  EXPECT_EQ(look_into("{}", used).error().message(), "/order/id is missing");
  EXPECT_FALSE(json::parse<json::Value>("[[1]]", {.depth_max = 1, .bytes_max = 65'536}).is_ok());
}

struct ProfileChange {
  Patch<std::string> name;
  Patch<std::string> nickname;

  void rules(Check& check) const { check(name).length(1, 80).not_null(); }
};
struct Profile {
  std::string name = "Ada";
  std::optional<std::string> nickname = "A";
};

TEST(JsonDoc, changes_a_part_of_something) {
  Profile profile;
  const ProfileChange change = json::parse<ProfileChange>(R"({"nickname":null})").value();
  change.name.apply_to(profile.name);          // absent: it stays
  change.nickname.apply_to(profile.nickname);  // null: it is empty from here on
  EXPECT_EQ(profile.name, "Ada");
  EXPECT_EQ(profile.nickname, std::nullopt);
  EXPECT_EQ(json::parse<ProfileChange>(R"({"name":null})").error().message(), "/name must not be null");
}

struct Message {
  std::string_view to;
  std::string_view text;
};
Result<std::size_t> length(std::string_view text, Arena& arena) {
  KEEL_TRY(Message message, json::parse<Message>(text, arena));
  return message.text.size();
}

TEST(JsonDoc, reads_views_and_types_of_ones_own) {
  Arena arena;
  EXPECT_EQ(length(R"({"to":"Bob","text":"a\nb"})", arena).value(), 3u);
  EXPECT_EQ(json::write(json::parse<std::vector<Money>>("[1,2]").value()), "[1,2]");
}

}  // namespace
}  // namespace keel::json_doc_test
