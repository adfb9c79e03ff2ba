// keel/data/json.h — JSON (RFC 8259): writes JSON into a Buffer and reads it from bytes, each in a single pass.
//
//   json::Writer out(buffer);                          json::Reader in(body, arena);
//   out.begin_object();                                in.begin_object();
//   out.key("id").integer(user.id);                    while (auto key = in.next_key()) {
//   out.key("name").string(user.name);                   if (*key == "name") name = in.string();
//   out.end_object();                                    else if (*key == "age") age = in.int64();
//                                                        else in.skip();
//                                                      }
//                                                      KEEL_TRY_VOID(in.finish());
//
// For plain structs, neither json::Writer nor json::Reader is needed: json_parse.h and json_write.h read and write a
// whole struct. For a document without a struct, use a Value (json_value.h).
//
// Neither json::Writer nor json::Reader recurses, uses the heap, or builds a tree of values. Generated readers and
// writers have the shape shown above.

#pragma once

#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"
