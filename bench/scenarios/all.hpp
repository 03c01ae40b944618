// The scenarios. Each function is defined in a file with its name.
#pragma once

#include "scenarios/scenario.hpp"

namespace rocklock::bench {

Scenario uncontended();
Scenario hot();
Scenario zipf();
Scenario readers_and_writers();
Scenario sets();
Scenario table_edit();
Scenario upgrades();
Scenario renewals();
Scenario ends();
Scenario deaths();
Scenario guarded();
Scenario optimistic();
Scenario coarse();
Scenario items();
Scenario restart();
Scenario growth();
Scenario busy();

}  // namespace rocklock::bench
