// SQLite, logs, metrics, health, drain: what app::App adds to the service. Its contract is at /openapi.json; the page
// /docs shows it and can call it.

#include "service.h"

int main(int argc, char** argv) { return keel::app::run<Fullstack>("fullstack", argc, argv); }
