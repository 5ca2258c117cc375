#include "kernels/attention_map.h"

namespace zhuyi::kernels {

bool AttentionMap::keys_apart() const {
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i].key_begin < blocks[i - 1].key_end) return false;
  }
  return true;
}

bool AttentionMap::covers(std::int64_t queries, std::int64_t keys) const {
  for (const AttentionBlock& block : blocks) {
    if (block.query_begin == block.query_end) return false;
    queries -= block.query_end - block.query_begin;
    keys -= block.key_end - block.key_begin;
  }
  return queries == 0 && keys == 0;
}

}  // namespace zhuyi::kernels
