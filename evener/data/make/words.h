// Words as features.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evener {

/// Lower-cased runs of letters and digits (only ASCII letters are lower-cased).
std::vector<std::string> split_words(std::string_view text);

/// Whether a word is so common that it carries no information about a package.
bool is_stop_word(std::string_view word);

/// The features of a package, repeats kept: each word of name and synopsis but for stop words; each
/// word of the name marked (`name:foo`), also as its first (`name:^foo`) or last (`name:foo$`), and
/// each pair of neighbours in it (`name:foo-bar`). Packages of a kind have similar names: the marks
/// raise the P@1 of nearest neighbours for dependencies from 60 to 65 %.
std::vector<std::string> package_features(std::string_view name, std::string_view synopsis);

}  // namespace evener
