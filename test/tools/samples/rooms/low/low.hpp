#include "high/high.hpp"
#include "postgres.h"
