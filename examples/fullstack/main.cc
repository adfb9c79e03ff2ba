// SQLite, logs, metrics, health, drain: what app::App adds to the service.

#include "service.h"

int main(int argc, char** argv) { return keel::app::run<Fullstack>("fullstack", argc, argv); }
