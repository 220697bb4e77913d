// If this failed, listing by id would no longer be listing by age, or two jobs could get one id.
#include "core/identity.hpp"

#include <array>
#include <cstdint>

#include "unit.hpp"

namespace {

using x_jobs::core::IdentityClock;
using x_jobs::core::is_uuid7;
using x_jobs::core::make_uuid7;
using x_jobs::core::Uuid;
using x_jobs::unit::check;
using x_jobs::unit::equal;

using Random = std::array<unsigned char, 8>;
constexpr Random kZeros{};
constexpr Random kOnes{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
constexpr std::uint64_t kSomeTime = 1'750'000'000'123'456;

std::uint64_t millis_of(const Uuid &id) {
    std::uint64_t millis = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        millis = millis << 8 | id.bytes[i];
    }
    return millis;
}

void layout() {
    for (const Random &random : {kZeros, kOnes}) {
        IdentityClock clock;
        const Uuid id = make_uuid7(clock, kSomeTime, random);
        equal(millis_of(id), kSomeTime / 1000, "ROW-5 an id carries its milliseconds");
        equal(id.bytes[6] >> 4, 7, "ROW-5 an id has version 7");
        equal(id.bytes[8] >> 6, 2, "ROW-5 an id has the variant of the RFC");
        check(is_uuid7(id), "X-5 what is made here is accepted here");
        equal(id.bytes[15], random[7], "ROW-5 the rest of an id is random");
    }
}

void order() {
    IdentityClock clock;
    Uuid last = make_uuid7(clock, kSomeTime, kOnes);
    bool grows = true;
    for (int n = 0; n < 10'000; ++n) {
        const Uuid next = make_uuid7(clock, kSomeTime, kZeros);
        grows = grows && next > last;
        last = next;
    }
    check(grows, "ROW-5 ids grow while the clock stands still");
    const Uuid earlier = make_uuid7(clock, kSomeTime - 3'600'000'000, kZeros);
    check(earlier > last, "ROW-5 ids grow when the clock steps back");
    const Uuid later = make_uuid7(clock, kSomeTime + 3'600'000'000, kZeros);
    check(later > earlier, "ROW-5 ids grow with the clock");
    equal(millis_of(later), (kSomeTime + 3'600'000'000) / 1000,
          "ROW-5 a clock that moved on is followed again");
    IdentityClock fine;
    const Uuid first = make_uuid7(fine, kSomeTime, kOnes);
    IdentityClock other;
    check(make_uuid7(other, kSomeTime + 1, kZeros) > first,
          "ROW-5 ids of two processes follow the microsecond");
}

void foreign() {
    IdentityClock clock;
    const Uuid good = make_uuid7(clock, kSomeTime, kOnes);
    for (const unsigned version : {0U, 1U, 4U, 6U, 8U, 15U}) {
        Uuid id = good;
        id.bytes[6] = static_cast<unsigned char>((version << 4) | (id.bytes[6] & 0x0FU));
        check(!is_uuid7(id), "X-5 an id of another version is refused");
    }
    for (const unsigned variant : {0U, 1U, 3U}) {
        Uuid id = good;
        id.bytes[8] = static_cast<unsigned char>((variant << 6) | (id.bytes[8] & 0x3FU));
        check(!is_uuid7(id), "X-5 an id of another variant is refused");
    }
    check(!is_uuid7(Uuid{}), "X-5 the nil id is refused");
}

}  // namespace

int main() {
    layout();
    order();
    foreign();
    return x_jobs::unit::done();
}
