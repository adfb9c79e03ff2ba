// SQLite, logs, metrics, health, drain: what app::App adds to the service. Its contract is at /openapi.json, and /docs
// is a page to read and try it.

#include "service.h"

int main(int argc, char** argv) { return keel::app::run<Fullstack>("fullstack", argc, argv); }
