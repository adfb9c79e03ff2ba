// Visits the values of a Record, for the code that writes and reads the forms of a Record.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "keel/base/check.h"
#include "keel/data/internal/record_storage.h"
#include "keel/data/record.h"

namespace keel {

struct Record::Forms {
  struct JsonSink;
  struct JsonBuilder;
  struct TextSink;
  template <class Format>
  struct BinarySink;
  template <class Format>
  struct BinaryBuilder;
  template <class Format>
  static void read(binary::Reader<Format>& in, Record& record);

  // Calls these functions for each value, in order: begin(is_record, size), name(key) and scalar(value),
  // end(is_record).
  template <class Sink>
  static void walk(const Block* block, bool is_record, Sink& sink, int depth) {
    KEEL_EXPECT(depth < depth_max, "a Record that is nested more than 64 levels deep cannot be written");
    const std::size_t size = block != nullptr ? block->size : 0;
    sink.begin(is_record, size);
    std::array<std::uint8_t, Block::linear_max> few{};
    const bool is_sorted = !Sink::is_ordered || size < 2 || !is_record || block->is_sorted;
    if (!is_sorted && !block->has_order()) sort(block, few);
    for (std::size_t i = 0; i < size; ++i) {
      if (!is_record) {
        visit(block->values()[i], sink, depth);
        continue;
      }
      const std::size_t place = is_sorted ? i : block->has_order() ? block->order()[i] : few[i];
      sink.name(block->values()[2 * place]);
      visit(block->values()[2 * place + 1], sink, depth);
    }
    sink.end(is_record);
  }
  template <class Sink>
  static void visit(const Value& value, Sink& sink, int depth) {
    if (value.kind() < Kind::Array) [[likely]] {
      sink.scalar(value);
    } else {
      walk(value.block(), value.kind() == Kind::Record, sink, depth + 1);
    }
  }
  static void sort(const Block* block, std::array<std::uint8_t, Block::linear_max>& places) {
    for (std::size_t i = 0; i < block->size; ++i) {
      std::size_t at = i;
      const Value& name = block->values()[2 * i];
      for (; at > 0 && Block::is_before(name, block->values()[2 * places[at - 1]]); --at) places[at] = places[at - 1];
      places[at] = static_cast<std::uint8_t>(i);
    }
  }

  template <class Sink>
  static void write(const Record& record, Sink&& sink) {
    walk(record.fields_, true, sink, 0);
    if constexpr (requires { sink.finish(); }) sink.finish();
  }
};

}  // namespace keel
