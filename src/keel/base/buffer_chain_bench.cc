// A queue of bytes that is never empty: 256 bytes come and 256 go, while `queued` wait. A chain against a Buffer, which
// moves what is left to its front. Nanoseconds for one such step. `receive_and_read` is the same without a copy in
// front: the bytes are written into room that was reserved, and copied out.

#include "keel/base/buffer_chain.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "keel/base/buffer.h"

namespace keel {
namespace {

template <class Bytes>
void come_and_go(benchmark::State& state) {
  const auto queued = static_cast<std::size_t>(state.range(0));
  const std::string piece(256, 'x');
  Bytes bytes;
  while (bytes.size() < queued) bytes.append(piece);
  for (auto _ : state) {
    bytes.append(piece);
    bytes.consume(piece.size());
    benchmark::ClobberMemory();
  }
  if (bytes.size() != queued) state.SkipWithError("bytes were lost");
}
BENCHMARK(come_and_go<BufferChain>)->Name("come_and_go/chain")->ArgName("queued")->Arg(1024)->Arg(64 * 1024);
BENCHMARK(come_and_go<Buffer>)->Name("come_and_go/buffer")->ArgName("queued")->Arg(1024)->Arg(64 * 1024);

template <class Bytes>
void receive_and_read(benchmark::State& state) {
  constexpr std::size_t piece = 256;
  const auto queued = static_cast<std::size_t>(state.range(0));
  Bytes bytes;
  bytes.append(std::string(queued, 'x'));
  char out[piece];
  for (auto _ : state) {
    if constexpr (std::is_same_v<Bytes, Buffer>) {
      std::memset(bytes.reserve(piece), 'y', piece);
    } else {
      iovec parts[2];
      const std::size_t count = bytes.reserve(parts, piece);
      for (const iovec& part : std::span(parts, count)) std::memset(part.iov_base, 'y', part.iov_len);
    }
    bytes.commit(piece);
    if constexpr (std::is_same_v<Bytes, Buffer>) {
      std::memcpy(out, bytes.data(), piece);
      bytes.consume(piece);
    } else {
      bytes.read(out);
    }
    benchmark::DoNotOptimize(out);
  }
  if (bytes.size() != queued) state.SkipWithError("bytes were lost");
}
BENCHMARK(receive_and_read<BufferChain>)->Name("receive_and_read/chain")->ArgName("queued")->Arg(1024);
BENCHMARK(receive_and_read<Buffer>)->Name("receive_and_read/buffer")->ArgName("queued")->Arg(1024);

// What a write is given: where 64 KiB lie.
void gather(benchmark::State& state) {
  BufferChain chain;
  chain.append(std::string(64 * 1024, 'x'));
  iovec parts[16];
  std::size_t count = 0;
  for (auto _ : state) {
    count = chain.gather(parts);
    benchmark::DoNotOptimize(parts);
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += parts[i].iov_len;
  if (bytes != chain.size()) state.SkipWithError("a part is missing");
}
BENCHMARK(gather)->Name("gather/chain");

}  // namespace
}  // namespace keel
