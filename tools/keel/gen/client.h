// gen/client.h — the clients of a contract: a class for each tag, and a result for each operation
// (keel/contract/client.h).
//
//   const ClientNames named = name_clients(contract, names);    // after all other names: theirs stay what they are
//   ClientText text(contract, named, {.space = "shop::api", .folder = "api", .has_server = true});
//   out << text.shared() << text.header(tag);
//   part << text.definition(tag, operation);

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gen/names.h"
#include "gen/operations.h"

namespace keel::gen {

struct ClientNames {
  struct Operation {
    std::string result;    // "GetProductResult".
    std::string function;  // "get_product".
    std::string stream;    // A name such as "get_product_stream"; "" if no response is streamed.
    std::string upload;    // A name such as "AddPictureUpload"; "" if the request has no files.
    // For each response, the names of its contents; for a response without content, the name of the response.
    std::vector<std::vector<std::string>> responses;
    std::vector<std::string> headers;  // For each response: "ok_headers", or "".
  };
  struct Tag {
    std::string type;  // "ProductsClient".
    std::string file;  // "products_client".
    std::vector<Operation> operations;
  };
  std::string options;      // "ClientOptions".
  std::string credentials;  // "Credentials"; "" if there are no security schemes.
  std::vector<Tag> tags;    // The tags of the contract.
};

ClientNames name_clients(const Contract& contract, Names& names);

class ClientText {
 public:
  struct Options {
    std::string space;
    std::string folder;
    bool has_server = false;  // True if the server's headers define the request structs.
    // For each tag, the headers of the types that it uses; empty if a server is generated.
    std::vector<std::vector<std::string>> types = {};
  };
  // All three arguments must outlive this object.
  ClientText(const Contract& contract, const ClientNames& names, const Options& options)
      : contract_(contract), names_(names), options_(options) {}

  // The text of client.h after its first comment.
  std::string shared() const;
  // The text of the header of a tag.
  std::string header(std::size_t tag) const;
  // The definitions for part_1.cc to part_N.cc, without the enclosing namespace.
  std::string shared_definition() const;
  std::string definition(std::size_t tag, std::size_t operation) const;

 private:
  std::string result(const Operation& operation, const ClientNames::Operation& names) const;
  std::string functions(const Operation& operation, const ClientNames::Operation& names) const;
  std::string constants(const Operation& operation) const;

  const Contract& contract_;
  const ClientNames& names_;
  const Options& options_;
};

}  // namespace keel::gen
