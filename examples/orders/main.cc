#include "orders.h"

int main(int argc, char** argv) { return keel::app::run<Orders>("orders", argc, argv); }
