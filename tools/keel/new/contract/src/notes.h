// The operations of the tag "notes" in api.yaml, which store notes in a database.

#pragma once

#include <keel/db/session.h>

#include "api/notes.h"

class Notes final : public api::NotesHandler {
 public:
  explicit Notes(keel::db::Session& database) : database_(database) {}

  keel::Task<api::ListNotesResponse> list_notes(keel::http::Request& http,
                                                const api::ListNotesRequest& request) override;
  keel::Task<api::CreateNoteResponse> create_note(keel::http::Request& http,
                                                  const api::CreateNoteRequest& request) override;
  keel::Task<api::GetNoteResponse> get_note(keel::http::Request& http, const api::GetNoteRequest& request) override;
  keel::Task<api::DeleteNoteResponse> delete_note(keel::http::Request& http,
                                                  const api::DeleteNoteRequest& request) override;

 private:
  keel::db::Session& database_;
};
