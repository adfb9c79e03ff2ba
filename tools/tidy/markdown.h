// Reads Markdown pages for the checks: code spans, rows of tables, headings and links. Code blocks are ignored.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidy {

// The texts between back quotes.
std::vector<std::string> between_quotes(std::string_view text);
// The cells of a table row, which begins with '|', without surrounding blanks.
std::vector<std::string> cells(std::string_view row);

// The rows, without the headings, of all tables whose last column has the heading `last_column`.
std::vector<std::vector<std::string>> table_rows(const std::vector<std::string>& page, std::string_view last_column);

// For each heading of the page, its anchor on GitHub: the part of a link after '#'.
std::vector<std::string> anchors(const std::vector<std::string>& page);
// The targets of links to files of the repository and to headings.
std::vector<std::string> local_links(const std::vector<std::string>& page);

}  // namespace tidy
