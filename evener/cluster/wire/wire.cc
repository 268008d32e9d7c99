#include "evener/cluster/wire/wire.h"

#include "evener/core/error.h"
#include "evener/core/printable.h"

namespace evener {

namespace {

constexpr std::size_t kLongestText = 1000;

void make_printable(std::string* text) {
  if (text->size() > kLongestText) *text = text->substr(0, kLongestText) + "...";
  *text = printable(*text);
}

}  // namespace

wire::Head head_of(const Message& message) {
  wire::Head head;
  if (!head.ParseFromString(message.head)) throw Error("a message whose head cannot be read");
  if (head.has_hello()) make_printable(head.mutable_hello()->mutable_name());
  if (head.has_refusal()) make_printable(head.mutable_refusal()->mutable_why());
  if (head.has_leave()) make_printable(head.mutable_leave()->mutable_why());
  if (head.has_push()) make_printable(head.mutable_push()->mutable_failure());
  if (head.has_pushed()) make_printable(head.mutable_pushed()->mutable_invalid());
  return head;
}

}  // namespace evener
