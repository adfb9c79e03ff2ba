#include "devices.h"  // README.md explains how to try this example.

int main(int argc, char** argv) { return keel::app::run<devices::Devices, devices::Settings>("devices", argc, argv); }
