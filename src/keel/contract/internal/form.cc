#include "keel/contract/internal/form.h"

#include <algorithm>
#include <cstddef>

#include "keel/http/message/fields.h"
#include "keel/http/message/negotiate.h"

namespace keel::contract::internal {

std::string part_of(std::string_view pointer) {
  std::string part;
  if (pointer.size() < 2) return part;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      if (i != 0) part += ']';
      part += '[';
    } else if (pointer[i] == '~' && i + 1 < pointer.size()) {
      part += pointer[++i] == '0' ? '~' : '/';
    } else {
      part += pointer[i];
    }
  }
  return part + ']';
}

void write_members(Texts& texts, std::span<const Pair> pairs, std::span<const Field> fields, Form others,
                   FunctionRef<void(std::string_view)> twice) {
  texts.out().begin_object();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string_view name = pairs[i].name;
    const auto is_same = [&](const Pair& pair) { return pair.name == name; };
    if (std::any_of(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(i), is_same)) continue;
    const auto known = std::ranges::find(fields, name, &Field::name);
    const Form form = known != fields.end() ? known->form : others;
    if (is_list(form)) {
      texts.out().key(name);
      // A field may also contain the whole list, as a JSON array.
      const bool is_repeated = std::ranges::count_if(pairs.subspan(i), is_same) > 1;
      if (form == Form::JsonList && !is_repeated && http::trim_blanks(pairs[i].text).starts_with('[')) {
        texts.write(Form::Json, pairs[i].text);
        continue;
      }
      texts.out().begin_array();
      for (const Pair& pair : pairs.subspan(i)) {
        if (is_same(pair)) texts.write(element_of(form), pair.text);
      }
      texts.out().end_array();
      continue;
    }
    if (std::any_of(pairs.begin() + static_cast<std::ptrdiff_t>(i) + 1, pairs.end(), is_same)) twice(name);
    // A browser also sends an empty field for each input that the user left empty.
    if (form == Form::Bare && pairs[i].text.empty()) continue;
    texts.out().key(name);
    texts.write(form, pairs[i].text);
  }
  texts.out().end_object();
}

void read_fields(Arena& arena, std::span<const Pair> pairs, std::span<const Field> fields, Form others, ReadField read,
                 void* value, Violations& wrong) {
  Texts texts;
  bool is_readable = true;
  write_members(texts, pairs, fields, others, [&](std::string_view name) {
    wrong.add(name, "is given more than once");
    is_readable = false;
  });
  if (texts.problem() != nullptr) wrong.add("", texts.problem());
  if (!is_readable || texts.problem() != nullptr) return;
  Violations read_wrong;
  if (json::internal::read_text(arena.copy(texts.text().view()), arena, {}, read, value, read_wrong)) return;
  for (const Violation& one : read_wrong) {
    const std::string part = part_of(one.pointer);  // "[name][2]" is "name[2]".
    const std::size_t end = part.find(']');
    wrong.add(part.empty() ? part : part.substr(1, end - 1) + part.substr(end + 1), one.message, one.keyword);
  }
}

bool is_of_media_types(std::string_view content_type, std::string_view media_types) noexcept {
  if (media_types.empty()) return true;
  for (std::string_view one; http::next_element(media_types, one);) {
    if (http::is_of_media_range(content_type, one)) return true;
  }
  return false;
}

std::string_view only_type_of(std::string_view media_types) noexcept {
  return media_types.find_first_of(",*") == std::string_view::npos ? media_types : std::string_view();
}

void add_wrong_type(std::string_view field, std::string_view media_types, Violations& wrong) {
  wrong.add(field, "must be sent as " + std::string(media_types), "contentType");
}

void check_media_type(const http::FormPart& part, std::span<const Field> fields, Violations& wrong) {
  const auto known = std::ranges::find(fields, part.name, &Field::name);
  if (known == fields.end() || is_of_media_types(part.content_type, known->media_types)) return;
  const bool is_file = element_of(known->form) == Form::File;
  if (!is_file && http::is_of_media_range(part.content_type, "text/plain")) return;
  add_wrong_type(part.name, known->media_types, wrong);
}

}  // namespace keel::contract::internal
