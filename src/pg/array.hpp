// Arrays: read element by element into memory of the current context, and a small growable array
// over a memory context, trivially destructible, for trivially copyable elements.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "pg/datum.hpp"

namespace x_jobs::pg {

// Grows in the context that was current when it was first filled, unless another is given.
template <typename T>
class Array {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

   public:
    Array() = default;
    explicit Array(MemoryContext context) : context_(context) {}

    T &push(const T &value) {
        if (size_ == capacity_) {
            grow();
        }
        data_[size_] = value;
        return data_[size_++];
    }
    void clear() { size_ = 0; }
    T pop() { return data_[--size_]; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T &operator[](std::size_t n) { return data_[n]; }
    const T &operator[](std::size_t n) const { return data_[n]; }
    T *begin() { return data_; }
    T *end() { return data_ + size_; }
    const T *begin() const { return data_; }
    const T *end() const { return data_ + size_; }

   private:
    void grow() {
        const std::size_t capacity = capacity_ == 0 ? 8 : capacity_ * 2;
        if (data_ == nullptr) {
            data_ = static_cast<T *>(MemoryContextAlloc(
                context_ != nullptr ? context_ : CurrentMemoryContext, capacity * sizeof(T)));
        } else {
            data_ = static_cast<T *>(repalloc(data_, capacity * sizeof(T)));
        }
        capacity_ = capacity;
    }

    MemoryContext context_ = nullptr;
    T *data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

struct Elements {
    std::span<const Datum> values;
    std::span<const bool> nulls;

    std::size_t size() const { return values.size(); }
    template <typename T>
    std::optional<T> get(std::size_t n) const {
        if (nulls[n]) {
            return std::nullopt;
        }
        return DatumOf<T>::read(values[n]);
    }
};

// The elements of an array of any number of dimensions, in storage order.
inline Elements elements_of(ArrayRef array) {
    ArrayType *value = DatumGetArrayTypeP(array.datum);
    std::int16_t length = 0;
    bool by_value = false;
    char alignment = 0;
    get_typlenbyvalalign(ARR_ELEMTYPE(value), &length, &by_value, &alignment);
    Datum *values = nullptr;
    bool *nulls = nullptr;
    int count = 0;
    deconstruct_array(value, ARR_ELEMTYPE(value), length, by_value, alignment, &values, &nulls,
                      &count);
    return {{values, static_cast<std::size_t>(count)}, {nulls, static_cast<std::size_t>(count)}};
}

}  // namespace x_jobs::pg
