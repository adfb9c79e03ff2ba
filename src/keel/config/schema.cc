#include "keel/config/schema.h"

namespace keel::config {

using Kind = Field::Kind;

Field& Schema::add(Field field) { return top().children.emplace_back(std::move(field)); }
void Schema::open(std::string_view key, const char* help) {
  add({.kind = Kind::Section, .key = key, .help = help});
  ++depth_;
}
Field& Schema::close() {
  --depth_;
  return top().children.back();
}
void Schema::add_former(std::string_view key, std::string successor, std::string advice) {
  std::string path;
  const Field* section = &root_;
  for (std::size_t i = 0; i < depth_; ++i) {
    section = &section->children.back();
    path += std::string(section->key) + ".";
  }
  former_keys_.push_back({path + std::string(key), std::move(successor), std::move(advice)});
}
Field& Schema::top() {
  Field* at = &root_;
  for (std::size_t i = 0; i < depth_; ++i) at = &at->children.back();
  return *at;
}

internal::Words::Words(const keel::internal::EnumNames& names, bool has_none) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < names.count; ++i) {
    if (names.name(i).empty()) continue;
    texts.emplace_back(names.name(i));
    values.push_back(static_cast<std::int64_t>(i));
  }
  if (has_none) {
    texts.emplace_back("none");
    values.push_back(std::numeric_limits<std::int64_t>::min());
  }
  for (std::size_t i = 0; i < texts.size(); ++i) list.push_back({texts[i].c_str(), values[i]});
}

Field& field(Schema& v, std::string_view key, bool& value, const char* help) {
  return v.add({.kind = Kind::Bool, .key = key, .help = help, .at = &value});
}
Field& field(Schema& v, std::string_view key, double& value, const char* help, Range<double> range) {
  return v.add(
      {.kind = Kind::Real, .key = key, .help = help, .at = &value, .real_low = range.min, .real_high = range.max});
}
Field& field(Schema& v, std::string_view key, std::string& value, const char* help) {
  return v.add({.kind = Kind::Text, .key = key, .help = help, .at = &value});
}
Field& field(Schema& v, std::string_view key, Secret& value, const char* help) {
  return v.add({.kind = Kind::Secret, .key = key, .help = help, .at = &value});
}
Field& field(Schema& v, std::string_view key, Duration& value, const char* help, Range<Duration> range) {
  return v.add({.kind = Kind::Duration,
                .key = key,
                .help = help,
                .at = &value,
                .low = range.min.count_ns(),
                .high = range.max.count_ns()});
}
Field& field(Schema& v, std::string_view key, ByteSize& value, const char* help, Range<ByteSize> range) {
  return field(v, key, Bytes(value.bytes), help, range);
}

void renamed(Schema& v, std::string_view key, std::string_view path) { v.add_former(key, std::string(path), {}); }
void removed(Schema& v, std::string_view key, std::string_view advice) { v.add_former(key, {}, std::string(advice)); }

}  // namespace keel::config
