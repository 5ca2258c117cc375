#include "data/text_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/files.h"

namespace zhuyi::data {
namespace {

using base::ErrorKind;

constexpr std::size_t kLimit = std::size_t{4} << 30;

bool starts_with_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

struct EndInflate {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

}  // namespace

std::string gunzip(std::string_view bytes) {
  const auto stream = std::unique_ptr<z_stream, EndInflate>(new z_stream{});
  base::check_kind(inflateInit2(stream.get(), 16 + MAX_WBITS) == Z_OK, ErrorKind::system, "gzip: no memory");
  std::string text;
  std::array<char, 1 << 16> buffer;
  std::size_t taken = 0;
  bool complete = false;
  while (!complete) {
    // zlib counts in 32 bits, so a large file is given in pieces.
    const std::size_t piece = std::min<std::size_t>(bytes.size() - taken, std::size_t{1} << 30);
    stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream->avail_in = static_cast<uInt>(piece);
    stream->next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream->avail_out = static_cast<uInt>(buffer.size());
    const int result = inflate(stream.get(), Z_NO_FLUSH);
    taken += piece - stream->avail_in;
    text.append(buffer.data(), buffer.size() - stream->avail_out);
    base::check_kind(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR, ErrorKind::bad_file,
                     "gzip: the file is damaged at byte {} ({})", taken, stream->msg ? stream->msg : "bad data");
    base::check_kind(text.size() <= kLimit, ErrorKind::bad_file, "gzip: more than 4 GiB of text; split the file");
    if (result == Z_STREAM_END) {
      // Members may follow one another; anything else after the last one is padding, which gzip ignores too.
      complete = !starts_with_gzip(bytes.substr(taken));
      if (!complete) inflateReset(stream.get());
    } else {
      base::check_kind(taken < bytes.size() || stream->avail_out == 0, ErrorKind::bad_file,
                       "gzip: the file ends too early; it may be a download that was cut");
    }
  }
  return text;
}

std::string read_text_file(const std::filesystem::path& path) {
  std::string text = base::read_file(path);
  if (starts_with_gzip(text)) text = base::within(path.string(), [&] { return gunzip(text); });
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  base::check_kind(!text.starts_with("\xff\xfe") && !text.starts_with("\xfe\xff"), ErrorKind::bad_file,
                   "{} is UTF-16; convert it to UTF-8, for example with: iconv -f UTF-16 -t UTF-8", path.string());
  return text;
}

}  // namespace zhuyi::data
