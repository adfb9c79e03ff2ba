#include "service.h"

int main(int argc, char** argv) { return keel::app::run<ServiceName>({"service_name", VERSION}, argc, argv); }
