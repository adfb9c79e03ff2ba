// app::App adds SQLite, logs, metrics, health checks and draining to the service. The service's contract is at
// /openapi.json; the page /docs shows the contract and can call the operations.

#include "service.h"

int main(int argc, char** argv) { return keel::app::run<Fullstack>("fullstack", argc, argv); }
