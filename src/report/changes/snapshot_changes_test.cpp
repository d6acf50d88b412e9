#include "report/changes/snapshot_changes.h"

#include <gtest/gtest.h>
