#pragma once
// The kernels again as plain loops: slow, obvious, the oracle of the tests. Same meaning and arguments as gemm.h, vector.h,
// rows.h and attention.h; see there.

#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "kernels/vector.h"

namespace zhuyi::kernels::reference {

// Same signature as each function in the headers above, in this namespace.

}  // namespace zhuyi::kernels::reference
