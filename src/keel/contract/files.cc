#include "keel/contract/files.h"

#include <algorithm>
#include <utility>

#include "keel/base/arena.h"
#include "keel/contract/internal/form.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/rejection.h"

namespace keel::contract {
namespace {

using http::MultipartState;
using http::MultipartStep;
using internal::Pair;

// "must have at most 5 bytes".
std::string length_words(std::uint64_t least, std::uint64_t most, std::string_view of) {
  const auto counted = [&](std::uint64_t count) {
    return std::to_string(count) + ' ' + std::string(of) + (count == 1 ? "" : "s");
  };
  if (most == UINT64_MAX) return "must have at least " + counted(least);
  if (least == 0) return "must have at most " + counted(most);
  if (least == most) return "must have " + counted(most);
  return "must have " + std::to_string(least) + " to " + counted(most);
}

// The fields received so far; their texts are stored one after the other.
class Fields {
 public:
  explicit Fields(Arena& arena) : arena_(arena) {}

  bool is_full() const noexcept { return count_ == FormReader::fields_max; }
  bool begin(std::string_view name) {
    if (places_.empty()) places_ = arena_.array<Place>(FormReader::fields_max);
    places_[count_++] = {arena_.copy(name), texts_.size(), 0};
    names_ += name.size();
    return is_small();
  }
  bool append(std::string_view data) {
    if (data.size() > FormReader::fields_bytes_max) return false;
    texts_.append(data);
    places_[count_ - 1].size += data.size();
    return is_small();
  }
  std::span<const Pair> pairs() {
    const std::span<Pair> all = arena_.array<Pair>(count_);
    for (std::size_t i = 0; i < count_; ++i)
      all[i] = {places_[i].name, texts_.view().substr(places_[i].at, places_[i].size)};
    return all;
  }

 private:
  struct Place {
    std::string_view name;
    std::size_t at;
    std::size_t size;
  };
  bool is_small() const noexcept { return texts_.size() + names_ <= FormReader::fields_bytes_max; }

  Arena& arena_;
  Buffer texts_;
  std::span<Place> places_;
  std::size_t count_ = 0;
  std::size_t names_ = 0;
};

Error too_many_bytes() { return http::Rejection::too_large("the fields of the form are larger than 256 KiB"); }

}  // namespace

std::size_t FormReader::file_of(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::ranges::find(form_.files, name, &FileRule::name) - form_.files.begin());
}
bool FormReader::is_field(std::string_view name) const noexcept {
  return form_.undeclared == Undeclared::Kept ||
         std::ranges::find(form_.fields, name, &Field::name) != form_.fields.end();
}
std::string FormReader::name_of_file() const {
  const FileRule& rule = form_.files[index_];
  std::string name(rule.name);
  if (rule.is_list) name += '[' + std::to_string(counts_[index_] - 1) + ']';
  return name;
}

Error FormReader::refuse(Violations wrong) {
  at_ = At::Failed;
  return http::Rejection::error(http::Rejection::What::Form, std::move(wrong));
}

Task<MultipartStep> FormReader::step() {
  while (true) {
    const MultipartStep step = reader_->feed(rest_);
    rest_.remove_prefix(step.consumed);
    if (step.state == MultipartState::Refused) {
      at_ = At::Failed;
      if (step.status == http::Status::ContentTooLarge) co_await http::Rejection::too_large(step.reason);
      co_await fail(Code::InvalidArgument, step.reason);
    }
    if (step.state != MultipartState::Need) co_return step;
    rest_ = co_await http_.read_body();
    if (!rest_.empty()) continue;
    co_await reader_->finish();
    co_return step;
  }
}

Task<bool> FormReader::open(std::size_t index) {
  const http::FormPart& part = reader_->part();
  index_ = index;
  names_ += part.filename.value_or(std::string_view()).size() + part.content_type.size();
  if (names_ > names_bytes_max) {
    at_ = At::Failed;
    co_await http::Rejection::too_large("the names and media types of the files are larger than 256 KiB");
  }
  filename_ = http_.arena().copy(part.filename.value_or(std::string_view()));
  content_type_ = http_.arena().copy(part.content_type);
  pending_ = {};
  bytes_ = 0;
  if (part.filename && part.filename->empty()) {
    // For a file input in which no file was chosen, a browser sends a part with an empty file name.
    const MultipartStep first = co_await step();
    if (first.state != MultipartState::Data) co_return false;
    pending_ = first.data;
  }
  ++counts_[index];
  at_ = At::Opened;
  co_return true;
}

void FormReader::check_opened(Violations& wrong) {
  const FileRule& rule = form_.files[index_];
  const std::uint64_t count = counts_[index_];
  if (!rule.is_list && count > 1) wrong.add(rule.name, "is given more than once");
  if (rule.is_list && count > rule.count_max) {
    wrong.add(rule.name, length_words(rule.count_min, rule.count_max, "element"), "maxItems");
  }
  if (!internal::is_of_media_types(content_type_, rule.media_types)) {
    internal::add_wrong_type(name_of_file(), rule.media_types, wrong);
  }
}

void FormReader::check_missing(Violations& wrong) const {
  for (std::size_t i = 0; i < form_.files.size(); ++i) {
    const FileRule& rule = form_.files[i];
    if (counts_[i] == 0) {
      if (rule.is_required) wrong.add(rule.name, "is required", "required");
    } else if (counts_[i] < rule.count_min) {
      wrong.add(rule.name, length_words(rule.count_min, rule.count_max, "element"), "minItems");
    }
  }
}

Task<> FormReader::begin(void* to) {
  const std::optional<std::string_view> type = http_.header(http::Known::ContentType);
  if (http_.head().body() == http::BodyKind::None && !type) {
    at_ = At::End;
    if (form_.is_required) co_await fail(Code::InvalidArgument, "a request body is required");
    co_return;
  }
  const std::string_view boundary = co_await http::multipart_boundary(type.value_or(std::string_view()));
  reader_.emplace(boundary, http::MultipartLimits{.parts_max = parts_max});
  counts_ = http_.arena().array<std::uint64_t>(form_.files.size());
  std::ranges::fill(counts_, 0);

  Fields fields(http_.arena());
  Violations wrong;
  bool is_collecting = false;
  while (at_ == At::Between) {
    const MultipartStep step = co_await this->step();
    if (step.state == MultipartState::Need) {
      at_ = At::End;
    } else if (step.state == MultipartState::Data) {
      if (is_collecting && !fields.append(step.data)) co_await too_many_bytes();
    } else if (step.state == MultipartState::PartEnd) {
      is_collecting = false;
    } else if (const std::string_view name = reader_->part().name; file_of(name) != form_.files.size()) {
      const bool has_file = co_await open(file_of(name));
      if (has_file) check_opened(wrong);
    } else if (is_field(name)) {
      if (fields.is_full()) co_await http::Rejection::too_large("the form has more than 256 fields");
      is_collecting = true;
      if (!fields.begin(name)) co_await too_many_bytes();
      internal::check_media_type(reader_->part(), form_.fields, wrong);
    } else if (form_.undeclared == Undeclared::Rejected) {
      wrong.add(name, "is not a field of this object", "additionalProperties");
    }
  }

  if (form_.read != nullptr) {
    void* const member = static_cast<std::byte*>(to) + form_.offset;
    void* const value = form_.room != nullptr ? form_.room(member) : member;
    Violations of_fields;
    internal::read_fields(http_.arena(), fields.pairs(), form_.fields, form_.others, form_.read, value, of_fields);
    for (const Violation& one : of_fields) {
      // The violation is about a part of a field, such as "lines[0][sku]". The field itself was received, so its parts
      // cannot come later.
      const bool is_nested = one.pointer.find('[') != one.pointer.npos &&
                             std::ranges::find(form_.fields, one.pointer, &Field::name) == form_.fields.end();
      const bool may_come = at_ == At::Opened && one.keyword == "required" && !is_nested;
      wrong.add(one.pointer, may_come ? "is required, and has to be sent before the files" : one.message, one.keyword);
    }
  }
  if (at_ == At::End) check_missing(wrong);
  if (!wrong.empty()) co_await refuse(std::move(wrong));
}

Task<bool> FormReader::next() {
  if (at_ == At::Failed) co_await fail(Code::InvalidArgument, "the form was rejected");
  if (at_ == At::Opened) {
    at_ = At::File;
    co_return true;
  }
  while (at_ == At::File) {
    const Chunk skipped = co_await read();
    if (skipped.empty()) break;
  }
  while (at_ == At::Between) {
    const MultipartStep step = co_await this->step();
    Violations wrong;
    if (step.state == MultipartState::Need) {
      at_ = At::End;
      check_missing(wrong);
    } else if (step.state == MultipartState::Part) {
      const std::string_view name = reader_->part().name;
      if (const std::size_t index = file_of(name); index != form_.files.size()) {
        const bool has_file = co_await open(index);
        if (has_file) check_opened(wrong);
      } else if (is_field(name)) {
        wrong.add(name, "has to be sent before the files");
      } else if (form_.undeclared == Undeclared::Rejected) {
        wrong.add(name, "is not a field of this object", "additionalProperties");
      }
    }
    if (!wrong.empty()) co_await refuse(std::move(wrong));
  }
  if (at_ == At::End) co_return false;
  at_ = At::File;
  co_return true;
}

Task<Chunk> FormReader::read() {
  if (at_ == At::Failed) co_await fail(Code::InvalidArgument, "the form was rejected");
  if (at_ != At::File) co_return Chunk();
  Chunk piece = std::exchange(pending_, {});
  if (piece.empty()) {
    const MultipartStep step = co_await this->step();
    piece = step.data;
  }
  const FileRule& rule = form_.files[index_];
  bytes_ += piece.size();
  const bool is_short = piece.empty() && bytes_ < rule.bytes_min;
  if (is_short || bytes_ > rule.bytes_max) {
    Violations wrong;
    wrong.add(name_of_file(), length_words(rule.bytes_min, rule.bytes_max, "byte"),
              is_short ? "minLength" : "maxLength");
    co_await refuse(std::move(wrong));
  }
  if (piece.empty()) at_ = At::Between;
  co_return piece;
}

Task<std::string> FormReader::read_whole(std::size_t bytes_max) {
  std::string whole;
  while (true) {
    const Chunk piece = co_await read();
    if (piece.empty()) co_return whole;
    if (piece.size() > bytes_max - whole.size()) {
      at_ = At::Failed;
      co_await http::Rejection::too_large("a file of the form is too large");
    }
    whole += piece;
  }
}

}  // namespace keel::contract
