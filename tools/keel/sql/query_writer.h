// The C++ of queries (keel gen sql).
//
// rows.h contains the structs of the rows. For a file users.sql, users.h declares its functions and users.cc defines
// them. The same files of queries always give the same code, formatted as by clang-format.

#pragma once

#include <string>
#include <vector>

#include "gen/folder.h"
#include "sql/catalog.h"
#include "sql/contract_places.h"

namespace keel::sql {

// `space` is the namespace; its last part is the folder used in #include: "shop::queries" is in "queries/". `contract`
// has the places of those types of the program that are generated from a contract.
std::vector<gen::File> write_queries(const Catalog& catalog, const Problems& problems, const std::string& space,
                                     const ContractPlaces& contract = {});

}  // namespace keel::sql
