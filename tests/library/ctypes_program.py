"""The C interface from Python: ctypes_program.py LIBRARY MODEL LINE prints the version and three translations."""
import ctypes
import sys
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_void_p

library, model, line = sys.argv[1:]
zhuyi = ctypes.CDLL(library)
errors = POINTER(c_void_p)
for name, result, *arguments in (
    ("version", c_char_p),
    ("free_string", None, c_void_p),
    ("load", c_void_p, c_char_p, errors),
    ("free", None, c_void_p),
    ("options_new", c_void_p),
    ("options_set", c_int, c_void_p, c_char_p, c_char_p, errors),
    ("options_interrupt", None, c_void_p, c_void_p, c_void_p),
    ("options_free", None, c_void_p),
    ("translate", c_void_p, c_void_p, POINTER(c_char_p), c_size_t, c_void_p, errors),
    ("result_alternatives", c_size_t, c_void_p, c_size_t),
    ("result_alternative", c_char_p, c_void_p, c_size_t, c_size_t),
    ("result_score", c_double, c_void_p, c_size_t, c_size_t),
    ("result_free", None, c_void_p),
):
    function = getattr(zhuyi, "zhuyi_" + name)
    function.restype = result
    function.argtypes = arguments


def message(error):
    """The text of an error, which is freed."""
    text = ctypes.string_at(error.value).decode()
    zhuyi.zhuyi_free_string(error)
    return text


error = c_void_p()
assert zhuyi.zhuyi_load(b"/no/such/model", ctypes.byref(error)) is None
assert "/no/such/model" in message(error)
translator = zhuyi.zhuyi_load(model.encode(), None)
assert translator is not None
options = zhuyi.zhuyi_options_new()
assert zhuyi.zhuyi_options_set(options, b"n-best", b"3", None) == 1
assert zhuyi.zhuyi_options_set(options, b"max-length-extra", b"8", None) == 1
lines = (c_char_p * 2)(line.encode(), "请关闭文件".encode())
result = zhuyi.zhuyi_translate(translator, lines, 2, options, None)
print(zhuyi.zhuyi_version().decode())
for i in range(zhuyi.zhuyi_result_alternatives(result, 0)):
    text = zhuyi.zhuyi_result_alternative(result, 0, i).decode()
    print(f"{text}\t{zhuyi.zhuyi_result_score(result, 0, i):.6f}")
zhuyi.zhuyi_result_free(result)

# A callback that stops at once.
stop = ctypes.CFUNCTYPE(c_int, c_void_p)(lambda data: 1)
zhuyi.zhuyi_options_interrupt(options, ctypes.cast(stop, c_void_p), None)
assert zhuyi.zhuyi_translate(translator, lines, 2, options, ctypes.byref(error)) is None
assert "stopped before the end" in message(error)
zhuyi.zhuyi_options_free(options)
zhuyi.zhuyi_free(translator)
