#pragma once
// The edge of the library: whatever leaves it leaves as a zhuyi::Error.

#include <zhuyi/translator.h>

#include <new>

#include "base/error.h"

namespace zhuyi::library {

// The same kind as callers know it.
ErrorKind public_kind(base::ErrorKind kind);

// Runs `body` and gives its result.
template <class Body>
auto guarded(const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const base::Error& error) {
    throw Error(public_kind(error.kind()), error.message());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::system, "out of memory");
  } catch (const std::exception& error) {
    throw Error(ErrorKind::internal, error.what());
  }
}

}  // namespace zhuyi::library
