// The documented bounds of every argument, each written once.
#pragma once

#include <chrono>
#include <cstddef>

#include "core/values.hpp"

namespace x_jobs::core {

constexpr std::size_t kMaxKeyBytes = 1024;
constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kMaxTraceparentBytes = 1024;
constexpr int kMaxTags = 32;

constexpr int kPriorities = 10;
constexpr int kDefaultPriority = 5;
constexpr int kDefaultMaxAttempts = 3;

constexpr int kMaxClaim = 10'000;
// A claim holds a page of the index for each queue while it looks.
constexpr std::size_t kMaxQueuesPerClaim = 1'000;
constexpr Duration kMaxVisibility = std::chrono::hours{24 * 30};
constexpr Duration kMaxWait = std::chrono::hours{24};
constexpr Duration kMaxDelay = std::chrono::hours{24} * 36'500;

constexpr std::size_t kMaxErrorBytes = 64 * 1024;
constexpr int kMaxStackCharacters = 8'000;
constexpr int kMaxNoteCharacters = 200;

// Rows that one claim may end because they expired, beyond its own limit.
constexpr int kMaxExpiredPerClaim = 100;

}  // namespace x_jobs::core
