#pragma once
// The instruction sets that the kernels are compiled for: which one is used, and (in tests) which one shall be.

#include <string>
#include <vector>

namespace zhuyi::kernels {

// Names of the compiled instruction sets that this CPU can run, best first, e.g. {"AVX3", "AVX2", "SSE2"}.
std::vector<std::string> available_targets();

// The one in use.
std::string current_target();

// Makes later kernel calls use the named target; an empty name gives the best again. For tests and benchmarks; not
// while kernels run. Throws invalid_argument for a name that is not available.
void use_target(const std::string& name);

// Whether the target in use is AVX-512 on a CPU that also multiplies pairs of bf16 numbers (AVX512-BF16).
bool has_bf16();
// Whether the target in use is AVX-512 on a CPU that also multiplies quads of 8-bit integers (AVX512-VNNI).
bool has_vnni();

// Whether the target in use is AVX2 on a CPU with AVX-VNNI, and use_path has not left it out.
bool has_avx_vnni();

// Whether the target in use is AVX-512 with BF16 and VNNI on a CPU with AMX tiles for both, which the system lets this
// process use, which multiply right (checked once, amx_check.h), and use_path has not left out.
bool has_amx();

// The ways to compute that this machine has, best first, in the words of the program's option --kernels: of "amx"
// (AVX-512 with AMX tiles), "avx512", "avxvnni" (AVX2 with AVX-VNNI), "avx2" and "sse2".
std::vector<std::string> available_paths();

// The one of them in use.
std::string current_path();

// Makes all kernels of the process use this way; called once, before any of them. Throws invalid_argument for one that
// is not available.
void use_path(const std::string& name);

// What the user should know of the choice: "", or that the CPU has AMX but multiplies wrong with it.
std::string path_report();

}  // namespace zhuyi::kernels
