// The end of a value of a header, found in a buffer that continues behind it: nanoseconds for one search, by the length
// of the value. `find` is what the parser calls; `find_long` continues after 64 bytes with the best form for this
// processor; `form` is each of them that runs here, from the first byte on; `portable` looks at one byte after the
// other; memchr of the C library looks for the carriage return alone.

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <string_view>

#include "keel/base/internal/scan_kernels.h"
#include "keel/base/scan.h"

namespace keel {
namespace {

constexpr std::size_t before = 64;  // What the forms may read in front.

struct Header {
  explicit Header(std::size_t value_bytes) {
    constexpr std::string_view words = "Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0 ";
    while (text.size() < before + value_bytes) text += words;
    text.resize(before + value_bytes);
    text += "\r\nAccept: */*\r\n\r\n";
    text += std::string(200, 'x');
    value = text.data() + before;
    value_end = value + value_bytes;
    end = text.data() + text.size();
  }
  Header(const Header&) = delete;
  Header& operator=(const Header&) = delete;
  std::string text;
  const char* value;
  const char* value_end;
  const char* end;
};

template <class Search>
void search(benchmark::State& state, Search look) {
  const Header header(static_cast<std::size_t>(state.range(0)));
  const char* at = header.value;
  bool finds = true;
  for (auto _ : state) {
    benchmark::DoNotOptimize(at);
    finds &= look(header, at) == header.value_end;
  }
  if (!finds) state.SkipWithError("the end of the value was not found");
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void lengths(benchmark::internal::Benchmark* benchmark) {
  for (const int bytes : {8, 32, 64, 96, 128, 256, 1024, 4096}) benchmark->Arg(bytes);
}

void find(benchmark::State& state) {
  search(state,
         [](const Header& header, const char* at) { return scan::find_control(header.text.data(), at, header.end); });
}
BENCHMARK(find)->Apply(lengths);

void find_long(benchmark::State& state) {
  search(state, [](const Header& header, const char* at) { return scan::find_long<scan::Control>(at, header.end); });
}
BENCHMARK(find_long)->Apply(lengths);

#ifdef __SSE2__
void form(benchmark::State& state, const scan::internal::Kernel& kernel) {
  search(state, [look = kernel.find](const Header& header, const char* at) {
    return look(scan::internal::far<scan::Control>, at, header.end);
  });
}
// Those that run on this processor.
[[maybe_unused]] const bool forms_are_registered = [] {
  for (const auto& kernel : scan::internal::kernels()) {
    if (!kernel.runs_here()) continue;
    benchmark::RegisterBenchmark((std::string("form/") + kernel.name).c_str(), [&kernel](benchmark::State& state) {
      form(state, kernel);
    })->Apply(lengths);
  }
  return true;
}();
#endif

void portable(benchmark::State& state) {
  search(state,
         [](const Header& header, const char* at) { return scan::find_portable<scan::Control>(at, header.end); });
}
BENCHMARK(portable)->Apply(lengths);

void memchr(benchmark::State& state) {
  search(state, [](const Header& header, const char* at) {
    return static_cast<const char*>(std::memchr(at, '\r', static_cast<std::size_t>(header.end - at)));
  });
}
BENCHMARK(memchr)->Apply(lengths);

}  // namespace
}  // namespace keel
