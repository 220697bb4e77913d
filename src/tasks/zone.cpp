// See zone.hpp.
#include "tasks/zone.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "errors/errors.hpp"
#include "pg/postgres.hpp"
#include "pg/text.hpp"

namespace x_jobs::tasks {

namespace {

namespace cron = core::cron;

constexpr pg_time_t kEpoch =
    static_cast<pg_time_t>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

cron::Stretch stretch_at(const void *zone, std::int64_t instant) {
    const pg_time_t at = instant + kEpoch;
    pg_time_t boundary = 0;
    long offset = 0;
    long offset_after = 0;
    int summer = 0;
    int summer_after = 0;
    const int changes = pg_next_dst_boundary(&at, &offset, &summer, &boundary, &offset_after,
                                             &summer_after, static_cast<const pg_tz *>(zone));
    return {static_cast<std::int32_t>(offset), changes > 0 ? boundary - kEpoch : cron::kForever};
}

// Going through the catalogue opens each of its files.
bool is_listed(const char *name) {
    pg_tzenum *catalogue = pg_tzenumerate_start();
    const pg_tz *zone = pg_tzenumerate_next(catalogue);
    while (zone != nullptr &&
           std::strcmp(pg_get_timezone_name(const_cast<pg_tz *>(zone)), name) != 0) {
        zone = pg_tzenumerate_next(catalogue);
    }
    pg_tzenumerate_end(catalogue);
    return zone != nullptr;
}

// The server reads a name that no file has as a rule of its own, such as EST5; a rule always has a
// number in it.
bool may_be_a_rule(std::string_view name) {
    return std::any_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The last names with a number that were found in the catalogue.
std::array<const pg_tz *, 8> listed{};
std::size_t listed_next = 0;

bool is_catalogued(pg_tz *zone) {
    const char *name = pg_get_timezone_name(zone);
    if (!may_be_a_rule(name) || std::find(listed.begin(), listed.end(), zone) != listed.end()) {
        return true;
    }
    if (!is_listed(name)) {
        return false;
    }
    listed[listed_next++ % listed.size()] = zone;
    return true;
}

}  // namespace

NamedZone zone_named(std::optional<std::string_view> name) {
    pg_tz *zone = name && !name->empty() && name->size() <= TZ_STRLEN_MAX
                      ? pg_tzset(pg::to_c_string(*name))
                      : nullptr;
    if (zone == nullptr || !pg_tz_acceptable(zone) || !is_catalogued(zone)) {
        constexpr std::size_t kShownBytes = 60;
        errors::raise(
            errors::Code::timezone_invalid,
            {psprintf("\"%s\"", pg::to_c_string(pg::storable(name.value_or(""), kShownBytes)))});
    }
    return {{stretch_at, zone}, pg_get_timezone_name(zone)};
}

}  // namespace x_jobs::tasks
