// What it costs a handler to read an order with three lines from the body and to answer with it: by its structs, and by
// hand. `allocations` are heap allocations for one. Run with --benchmark_perf_counters=INSTRUCTIONS where the library
// has them.

#include "keel/http/server/input.h"

#include <benchmark/benchmark.h>

#include <string>
#include <string_view>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/json.h"
#include "keel/data/json_write.h"
#include "keel/http/testing/internal/request_test.h"

namespace keel::http {
namespace {

struct Line {
  std::string_view sku;
  int quantity;
  void rules(Check& check) const {
    check(sku).length(1, 40);
    check(quantity).range(1, 100);
  }
};
struct Order {
  std::string_view customer;
  std::vector<Line> lines;
  void rules(Check& check) const {
    check(customer).length(1, 80);
    check(lines).count(1, 20);
  }
};

Result<Response> by_struct(Request& request) {
  KEEL_TRY(const auto order, request.json<Order>());
  return Response::json(Status::Created, order);
}

struct LineByHand {
  std::string_view sku;
  std::int64_t quantity = 0;
};
struct OrderByHand {
  std::string_view customer;
  std::vector<LineByHand> lines;
};
void write_json(json::Writer& out, const OrderByHand& order) {
  out.begin_object();
  out.key("customer").string(order.customer);
  out.key("lines").begin_array();
  for (const LineByHand& line : order.lines) {
    out.begin_object();
    out.key("sku").string(line.sku);
    out.key("quantity").integer(line.quantity);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

LineByHand read_line(json::Reader& in) {
  enum : unsigned { Sku = 1, Quantity = 2 };
  unsigned seen = 0;
  LineByHand line;
  const auto once = [&](unsigned member) {
    if (seen & member) in.fail("is given twice");
    seen |= member;
  };
  in.begin_object();
  while (auto key = in.next_key()) {
    if (*key == "sku") {
      line.sku = in.string();
      if (line.sku.empty() || line.sku.size() > 40) in.fail("must have 1 to 40 characters");
      once(Sku);
    } else if (*key == "quantity") {
      line.quantity = in.int64();
      if (line.quantity < 1 || line.quantity > 100) in.fail("must be from 1 to 100");
      once(Quantity);
    } else {
      in.skip();
    }
  }
  if (!(seen & Sku)) in.fail("is required", "sku");
  if (!(seen & Quantity)) in.fail("is required", "quantity");
  return line;
}

Result<Response> by_hand(Request& request) {
  enum : unsigned { Customer = 1, Lines = 2 };
  unsigned seen = 0;
  OrderByHand order;
  json::Reader in(request.body(), request.arena());
  const auto once = [&](unsigned member) {
    if (seen & member) in.fail("is given twice");
    seen |= member;
  };
  in.begin_object();
  while (auto key = in.next_key()) {
    if (*key == "customer") {
      order.customer = in.string();
      if (order.customer.empty() || order.customer.size() > 80) in.fail("must have 1 to 80 characters");
      once(Customer);
    } else if (*key == "lines") {
      in.begin_array();
      while (in.next_element()) order.lines.push_back(read_line(in));
      if (order.lines.empty() || order.lines.size() > 20) in.fail("must have 1 to 20 elements");
      once(Lines);
    } else {
      in.skip();
    }
  }
  if (!(seen & Customer)) in.fail("is required", "customer");
  if (!(seen & Lines)) in.fail("is required", "lines");
  if (!in.finish()) return problem(in);
  return Response::json(Status::Created, order);
}

void answer(benchmark::State& state, Result<Response> (*handler)(Request&), std::string_view body) {
  Router router;
  router.post("/orders", handler);
  TestRequest request(router, "POST", "/orders", "Content-Type: application/json\r\n", body);
  const auto make = [&] {
    const Result<Response> response = request.answer();
    if (!response || response->status() != Status::Created) state.SkipWithError("the wrong answer");
    benchmark::DoNotOptimize(response->content().data());
  };
  make();
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) make();
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(keel::internal::allocations() - before),
                                                     benchmark::Counter::kAvgIterations);
}
constexpr std::string_view order =
    R"({"customer":"Ada Lovelace","lines":[{"sku":"AB-1234","quantity":2},{"sku":"CD-5678","quantity":1},)"
    R"({"sku":"EF-9012","quantity":12}]})";
BENCHMARK_CAPTURE(answer, by_struct, by_struct, order);
BENCHMARK_CAPTURE(answer, by_hand, by_hand, order);

}  // namespace
}  // namespace keel::http
