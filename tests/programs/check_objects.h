// Cases of check_twins_cpp that are about objects and containers: object:NAME.
#pragma once

#include "check_twins.h"

// False where the case is not one of these.
bool run_object(const twin& twin);
