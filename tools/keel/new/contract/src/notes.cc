#include "notes.h"

#include <string>

using namespace keel;

Task<api::ListNotesResponse> Notes::list_notes(http::Request&, const api::ListNotesRequest& request) {
  const auto notes = co_await database_.query_many<api::Note>(
      "select id, text from notes where id > $after order by id limit $limit", request);
  co_return notes;
}

Task<api::CreateNoteResponse> Notes::create_note(http::Request&, const api::CreateNoteRequest& request) {
  const auto note = co_await database_.query_one<api::Note>(
      "insert into notes (text) values ($text) returning id, text", request.body);
  co_return api::CreateNoteResponse::created(note, {.location = "/notes/" + std::to_string(note.id)});
}

Task<api::GetNoteResponse> Notes::get_note(http::Request&, const api::GetNoteRequest& request) {
  const auto note = co_await database_.query_optional<api::Note>("select id, text from notes where id = $id", request);
  if (!note) co_return api::GetNoteResponse::not_found("no note has this number");
  co_return *note;
}

Task<api::DeleteNoteResponse> Notes::delete_note(http::Request&, const api::DeleteNoteRequest& request) {
  const db::Written written = co_await database_.execute("delete from notes where id = $id", request);
  if (written.changes == 0) co_return api::DeleteNoteResponse::not_found("no note has this number");
  co_return api::DeleteNoteResponse::no_content();
}
