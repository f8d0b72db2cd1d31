// Keys, and where a key lives. Pure functions: every process, and every later version, must agree on them (golden test:
// tests/base/key_test.cc).
#ifndef WEIR_BASE_KEY_H_
#define WEIR_BASE_KEY_H_

#include <cstdint>

namespace weir {

// Name of a row in its table. Every value is legal.
using Key = uint64_t;

// A bijection of 64-bit integers that spreads near values far apart (the finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Hash of two values, order matters.
constexpr uint64_t Mix64(uint64_t a, uint64_t b) { return Mix64(Mix64(a + 0x9e3779b97f4a7c15u) ^ (b + 0x9e3779b97f4a7c15u)); }

// Shard of a key. The same key of different tables lands in different shards.
constexpr uint32_t ShardOfKey(uint32_t table, Key key, uint32_t shard_count) {
  return static_cast<uint32_t>(Mix64(table, key) % shard_count);
}

// The same of many keys: hash % shard_count without a division. `hash` is Mix64(table, key).
class ShardDivider {
 public:
  // REQUIRES: shard_count > 0.
  explicit constexpr ShardDivider(uint32_t shard_count) : count_(shard_count), inverse_(~uint64_t{0} / shard_count) {}
  constexpr uint32_t ShardOf(uint64_t hash) const {
    // The quotient is too small by one at most.
    const auto quotient = static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * inverse_ >> 64);
    const uint64_t rest = hash - quotient * count_;
    return static_cast<uint32_t>(rest < count_ ? rest : rest - count_);
  }

 private:
  uint64_t count_;
  uint64_t inverse_;
};

// Server that owns a shard: contiguous, equal up to one.
constexpr uint32_t ServerOfShard(uint32_t shard, uint32_t shard_count, uint32_t server_count) {
  return static_cast<uint32_t>(uint64_t{shard} * server_count / shard_count);
}

// Element `index` of a stream of uniform numbers in [0, 1) that is a pure function of its name. Used for initial values:
// KeyedUniform(Mix64(Mix64(seed, table), key), i).
constexpr double KeyedUniform(uint64_t stream, uint64_t index) { return static_cast<double>(Mix64(stream, index) >> 11) * 0x1.0p-53; }

}  // namespace weir

#endif  // WEIR_BASE_KEY_H_
