// SQLite, logs, metrics, health, drain: what app::App adds to the service. Its contract is at /openapi.json, and to
// look at and try at /docs.

#include "service.h"

int main(int argc, char** argv) { return keel::app::run<Fullstack>("fullstack", argc, argv); }
