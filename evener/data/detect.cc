// Detects the format of data by its first bytes and lines.
#include <string_view>

#include "evener/core/file.h"
#include "evener/data/multilabel.h"
#include "evener/data/number.h"
#include "evener/data/parse.h"
#include "evener/data/text_rows.h"

namespace evener {

namespace {

/// Evidence for a format in the lines seen so far.
struct Evidence {
  bool libsvm_only = false;      // a signed or fractional class, a comment
  bool multilabel_only = false;  // index 0, several labels or none
};

void weigh_line(std::string_view line, Evidence& evidence) {
  const std::size_t label_end = line.find_first_of(" \t\r");
  const std::string_view first = line.substr(0, label_end);
  if (first.empty()) {
    evidence.multilabel_only |= !line.empty() && line.find(':') != std::string_view::npos;
  } else if (first[0] == '#' || first[0] == '+' || first[0] == '-') {
    evidence.libsvm_only = true;
  } else if (first.find(':') != std::string_view::npos ||
             first.find(',') != std::string_view::npos) {
    evidence.multilabel_only = true;
  } else if (first.find('.') != std::string_view::npos) {
    evidence.libsvm_only = true;
  }
  for (std::size_t at = line.find("0:"); at != std::string_view::npos;
       at = line.find("0:", at + 1)) {
    if (at == 0 || is_blank(line[at - 1])) evidence.multilabel_only = true;
  }
}

Format detect_text(std::string_view head) {
  if (parse_multilabel_header(head)) return Format::multilabel;
  Evidence evidence;
  while (!head.empty() && !evidence.libsvm_only) {
    const std::size_t end = head.find('\n');
    weigh_line(head.substr(0, end), evidence);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  }
  return evidence.libsvm_only || !evidence.multilabel_only ? Format::libsvm : Format::multilabel;
}

}  // namespace

Format detect_format(std::string_view head) {
  using namespace std::string_view_literals;
  if (head.starts_with("PK\x03\x04"sv)) return Format::npz;
  if (head.size() >= 4 && head.starts_with("\0\0"sv)) return Format::idx;
  return detect_text(without_byte_order_mark(head));
}

}  // namespace evener
