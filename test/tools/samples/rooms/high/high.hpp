#include "low/low.hpp"
#include "low/missing.hpp"
