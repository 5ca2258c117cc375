#pragma once
// Which query sees which keys, in blocks: sentences and the future need no mask of large negative numbers.

#include <cstdint>
#include <vector>

namespace zhuyi::kernels {

// Query rows [query_begin, query_end) see keys [key_begin, key_end). Causal: query_begin + i sees the first i + 1 keys
// only (the block must then have as many keys as queries).
struct AttentionBlock {
  std::int64_t query_begin = 0;
  std::int64_t query_end = 0;
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
};

// Which query sees which keys. Every query row stands in exactly one block; a block has at least one key.
struct AttentionMap {
  std::vector<AttentionBlock> blocks;
  bool causal = false;
  // Where key i lies: row key_rows[i] of k and v. Empty: key i is row i. Lets a cache reorder hypotheses by index.
  std::vector<std::int32_t> key_rows;

  // Whether every block's keys come after those of the blocks before, so that no two share one.
  bool keys_apart() const;
  // Whether each of so many queries and keys stands in a block, and every block has a query.
  bool covers(std::int64_t queries, std::int64_t keys) const;
};

}  // namespace zhuyi::kernels
