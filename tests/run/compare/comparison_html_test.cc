#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/run/compare/compare.h"

namespace evener {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

ComparedRun run_of(std::uint64_t seed, double speed, double target) {
  ComparedRun run;
  run.seed = seed;
  for (int i = 0; i <= 10; ++i) {
    const double quality = 0.8 * (1 - std::exp(-0.5 * i));
    run.curve.push_back({0.5 * i, i / speed, quality, 1.0});
    if (!run.seconds_to_target && quality >= target) run.seconds_to_target = i / speed;
  }
  run.best_quality = run.final_quality = run.curve.back().quality;
  run.seconds = 10 / speed;
  run.epochs = 5;
  run.samples_per_second = 1000 * speed;
  run.workers = {{"fast", 900, 900, 90000, 256, 0.9, 0.05, 0.25},
                 {"slow", 100, 100, 1600, 16, 0.7, 0.1, 9}};
  run.series.resize(2);
  for (int i = 1; i <= 20; ++i) {
    run.series[0].push_back({i / speed / 2, 256, 45.0 * i, 0.9, 0.05});
    run.series[1].push_back({i / speed / 2, 16, 5.0 * i, 0.7, 0.1});
  }
  return run;
}

/// Two strategies that reach the target, the second one earlier.
Comparison typical() {
  Comparison comparison;
  comparison.data = "tags.txt";
  comparison.metric = "p@1";
  comparison.target = 0.7;
  comparison.devices = {"cpu:4", "cpu:1"};
  comparison.epochs = 5;
  double speed = 0.5;
  for (const char* name : {"sync", "adaptive"}) {
    ComparedStrategy strategy;
    strategy.strategy = name;
    strategy.learning_rate = 0.125;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      strategy.runs.push_back(run_of(seed, speed, comparison.target));
    }
    comparison.strategies.push_back(strategy);
    speed *= 4;
  }
  return comparison;
}

void never_reach(Comparison& comparison) {
  comparison.target = 0.95;
  for (ComparedStrategy& strategy : comparison.strategies) {
    for (ComparedRun& run : strategy.runs) run.seconds_to_target.reset();
  }
}

/// The first error in the nesting of a page's elements; empty: none.
std::string nesting_fault(const std::string& page) {
  std::vector<std::string> open;
  std::size_t at = page.find('<');
  for (; at != std::string::npos; at = page.find('<', at)) {
    const std::size_t end = page.find_first_of("<>", at + 1);
    if (end == std::string::npos || page[end] == '<') return "'<' that begins no tag";
    std::string tag = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("!DOCTYPE") || tag.starts_with("meta ") || tag.ends_with('/')) continue;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "quotes of <" + tag + ">";
    const bool closes = tag.starts_with('/');
    if (closes) tag.erase(0, 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n"));
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) return "<" + tag;
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

/// How often the word occurs alone or with a unit: "nan", "-inf", "nan%".
std::size_t words(const std::string& text, const std::string& word) {
  const auto letter = [&](std::size_t i) {
    return i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0;
  };
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !letter(at - 1)) && !letter(at + word.size())) ++count;
  }
  return count;
}

void expect_sound(const std::string& page) {
  EXPECT_THAT(nesting_fault(page), IsEmpty());
  for (const char* word : {"nan", "inf", "NaN", "NAN", "Infinity"}) {
    EXPECT_EQ(words(page, word), 0U) << word;
  }
  for (const char* elsewhere : {"<script", "<link", "src=", "href=", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(elsewhere)));
  }
}

TEST(NestingCheck, SeesFaults) {
  EXPECT_THAT(nesting_fault("<p class=\"a\">x<b>y</b><path d=\"M0 0\"/></p>"), IsEmpty());
  for (const char* page : {"<p>", "</p>", "<p><b></p></b>", "a < b", "<p x=\"></p>", "<p <b>"}) {
    EXPECT_THAT(nesting_fault(page), Not(IsEmpty())) << page;
  }
}

TEST(ComparisonHtml, NamesTheComparisonAndTheRecommendation) {
  const std::string page = comparison_html(typical());
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("tags.txt"));
  EXPECT_THAT(page, HasSubstr("cpu:4 and cpu:1"));
  EXPECT_THAT(page, HasSubstr("with seeds 1, 2, 3: every run trained for 5 epochs."));
  EXPECT_THAT(page, HasSubstr("until P@1 70.00 %"));
  EXPECT_THAT(page, HasSubstr("Use <strong>adaptive</strong> with learning rate 0.125: it reached "
                              "P@1 70.00 % in 2.50 s"));
  EXPECT_THAT(page, HasSubstr("Next is sync with 10.0 s, 4.00 times as long."));
  EXPECT_THAT(page, Not(HasSubstr("never")));
}

TEST(ComparisonHtml, HasARowForEachStrategyAndMarksTheRecommended) {
  const std::string page = comparison_html(typical());
  EXPECT_EQ(count_of(page, "<tr class=\"best\">"), 1U);
  EXPECT_EQ(count_of(page, "class=\"badge\">recommended"), 1U);
  const std::size_t row = page.find("<tr class=\"best\">");
  EXPECT_THAT(page.substr(row, page.find("</tr>", row) - row), HasSubstr("adaptive"));
  EXPECT_EQ(count_of(page, "<td>3 of 3 runs</td>"), 2U);
  EXPECT_EQ(count_of(page, "<td>79.46 %</td>"), 2U) << "all runs end alike: no range";
  EXPECT_EQ(count_of(page, "<td>9 : 1</td>"), 2U);
  EXPECT_EQ(count_of(page, "<td>25.0 %</td>"), 0U);
  EXPECT_EQ(count_of(page, "<td>20.0 %</td>"), 2U) << "the slow worker's waiting";
}

TEST(ComparisonText, IsATableWhereThereIsRoomAndAListElsewhere) {
  const Comparison comparison = typical();
  EXPECT_THAT(
      comparison_text(comparison, 80),
      AllOf(HasSubstr("\nstrategy  time to target  reached  final P@1  epochs  rows/s     lr\n"),
            HasSubstr("\nsync               10.00      3/3      79.46       5     500  0.125\n")));
  EXPECT_EQ(comparison_text(comparison), comparison_text(comparison, 80));
  EXPECT_THAT(comparison_text(comparison, 40),
              HasSubstr("\nsync\n  time to target  10.00\n  reached         3/3\n"));
}

/// The second strategy has replicas that communicate, the first has none.
Comparison talkative() {
  Comparison comparison = typical();
  ComparedStrategy& strategy = comparison.strategies[1];
  strategy.exchanges_are = "merges";
  for (ComparedRun& run : strategy.runs) {
    for (std::size_t i = 0; i < run.curve.size(); ++i) {
      run.curve[i].communication = {2'500'000 * i, 12 * i};
      run.curve[i].distance = 0.25 / static_cast<double>(i + 1);
    }
  }
  return comparison;
}

TEST(ComparisonText, ShowsCommunicationInTheTableOrInOneBelowIt) {
  const Comparison comparison = talkative();
  const char* columns = "  MB moved   exchanges  distance\n";
  EXPECT_THAT(comparison_text(comparison, 100),
              AllOf(HasSubstr("  rows/s     lr" + std::string(columns)),
                    HasSubstr("     500  0.125         -           -         -\n"),
                    HasSubstr("    2000  0.125      25.0  120 merges    0.0227\n")));
  EXPECT_THAT(comparison_text(comparison, 80),
              AllOf(HasSubstr("  rows/s     lr\n"), HasSubstr("\nstrategy" + std::string(columns)),
                    HasSubstr("\nadaptive      25.0  120 merges    0.0227\n")));
  EXPECT_THAT(comparison_text(comparison, 40),
              HasSubstr("  lr              0.125\n  MB moved        25.0\n"
                        "  exchanges       120 merges\n  distance        0.0227\n"));
  EXPECT_THAT(comparison_text(typical(), 200), Not(HasSubstr("exchanges")));
}

TEST(ComparisonCsv, HasALineForEachEvaluation) {
  const std::string csv = comparison_csv(talkative());
  EXPECT_THAT(csv, testing::StartsWith("strategy,learning_rate,seed,epoch,seconds,p@1,train_loss,"
                                       "bytes,exchanges,exchanges_are,replica_distance\n"));
  EXPECT_THAT(csv, AllOf(HasSubstr("\nsync,0.125,1,0,0,0,1,0,0,,\n"),
                         HasSubstr(",1,2500000,12,merges,0.125\n")));
}

TEST(ComparisonHtml, DrawsTheCommunicationOfStrategiesThatHaveIt) {
  EXPECT_THAT(comparison_html(typical()), Not(HasSubstr("Communication over time")));
  const std::string page = comparison_html(talkative());
  expect_sound(page);
  const std::size_t begin = page.find("<h2>Communication over time</h2>");
  ASSERT_NE(begin, std::string::npos);
  const std::string part = page.substr(begin, page.find("</section>", begin) - begin);
  for (const char* title :
       {"Moved so far", "Exchanges so far", "Distance between replicas", "adaptive: merges"}) {
    EXPECT_EQ(count_of(part, ">" + std::string(title) + "<") +
                  count_of(part, " " + std::string(title) + "<"),
              1U)
        << title;
  }
  EXPECT_EQ(count_of(part, "<path class=\"line pale\""), 3 * 2U) << "three charts, two pale runs";
  EXPECT_THAT(part, Not(HasSubstr("sync")));
}

TEST(Verdict, IsClearIfTheTimesDoNotOverlap) {
  const Comparison comparison = typical();
  const Verdict verdict = comparison.verdict();
  ASSERT_NE(verdict.best, nullptr);
  ASSERT_NE(verdict.next, nullptr);
  EXPECT_EQ(verdict.best->strategy, "adaptive");
  EXPECT_EQ(verdict.next->strategy, "sync");
  EXPECT_TRUE(verdict.by_time);
  EXPECT_FALSE(verdict.too_close);
  EXPECT_THAT(comparison_text(comparison), HasSubstr("recommended here: --strategy adaptive\n"));
  EXPECT_THAT(comparison_json(comparison), HasSubstr("\"recommended\": \"adaptive\""));
  EXPECT_THAT(comparison_json(comparison), HasSubstr("\"too_close_to_call\": []"));
}

TEST(Verdict, OfOneSeedIsNoRecommendation) {
  Comparison comparison = typical();
  for (ComparedStrategy& strategy : comparison.strategies) strategy.runs.resize(1);
  EXPECT_TRUE(comparison.verdict().one_seed);
  EXPECT_THAT(comparison_text(comparison),
              AllOf(HasSubstr("\nahead with this one seed: --strategy adaptive; "),
                    Not(HasSubstr("recommended"))));
  EXPECT_THAT(comparison_json(comparison),
              AllOf(HasSubstr("\"recommended\": null"),
                    HasSubstr("\"ahead_with_one_seed\": \"adaptive\"")));
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, AllOf(HasSubstr("<strong>One seed</strong>: "), Not(HasSubstr("recommended"))));
  EXPECT_EQ(count_of(page, "class=\"badge\">ahead"), 1U);
}

TEST(Comparison, SaysWhatTimeEveryRunHad) {
  Comparison comparison = typical();
  EXPECT_THAT(comparison_text(comparison), HasSubstr("\nevery run trained for 5 epochs\n"));
  comparison.reference = "sync";
  for (ComparedStrategy& strategy : comparison.strategies) {
    for (ComparedRun& run : strategy.runs) run.budget = 20;
  }
  EXPECT_THAT(comparison_text(comparison),
              HasSubstr("\nevery run trained for 20 s: what sync needs for 5 epochs\n"));
  comparison.strategies[0].runs[1].budget = 30;
  comparison.strategies[1].runs[1].budget = 30;
  EXPECT_THAT(comparison_text(comparison), HasSubstr("for 20 s (20 s to 30 s by seed): what"));
}

TEST(Comparison, NotesOfRunsAreSaidOnce) {
  Comparison comparison = typical();
  for (ComparedRun& run : comparison.strategies[1].runs) {
    run.notes = {"measured in 0.1 s: 5 rows/s", "decided: cpu:4 trains alone"};
  }
  comparison.strategies[1].runs[2].notes.back() = "decided: <all> devices train";
  const std::string text = comparison_text(comparison);
  EXPECT_THAT(text, AllOf(HasSubstr("\nadaptive (seed 1, 2): decided: cpu:4 trains alone\n"),
                          HasSubstr("\nadaptive (seed 3): decided: <all> devices train\n"),
                          Not(HasSubstr("measured"))));
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("<li>adaptive (seed 3): decided: &lt;all&gt; devices train</li>"));
}

TEST(Verdict, AStrategyThatNeverReachesTheTargetDoesNotOverlap) {
  Comparison comparison = typical();
  comparison.strategies[1].runs[0].seconds_to_target.reset();
  for (ComparedRun& run : comparison.strategies[0].runs) run.seconds_to_target.reset();
  const Verdict verdict = comparison.verdict();
  EXPECT_EQ(verdict.best->strategy, "adaptive");
  EXPECT_TRUE(verdict.by_time);
  EXPECT_FALSE(verdict.too_close);
}

TEST(Verdict, IsTooCloseToCallIfTheTimesOverlap) {
  Comparison comparison = typical();
  comparison.strategies[1].runs[2] = run_of(3, 0.4, comparison.target);  // slower than sync
  const Verdict verdict = comparison.verdict();
  EXPECT_EQ(verdict.best->strategy, "adaptive");
  EXPECT_TRUE(verdict.too_close);
  EXPECT_THAT(comparison_text(comparison),
              AllOf(HasSubstr("\ntoo close to call: the times of adaptive and sync overlap"),
                    Not(HasSubstr("recommended"))));
  EXPECT_THAT(comparison_json(comparison),
              AllOf(HasSubstr("\"recommended\": null"), HasSubstr("\"too_close_to_call\": [\n")));
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, AllOf(HasSubstr("<strong>Too close to call</strong>: the times of"),
                          Not(HasSubstr("recommended")), Not(HasSubstr("<p>Use"))));
  EXPECT_EQ(count_of(page, "class=\"badge\">too close to call"), 2U);
}

TEST(Verdict, GoesByQualityIfNoStrategyReachesTheTarget) {
  Comparison comparison = typical();
  never_reach(comparison);
  EXPECT_TRUE(comparison.verdict().too_close) << "they end alike";
  for (ComparedRun& run : comparison.strategies[0].runs) run.final_quality = 0.9;
  EXPECT_EQ(comparison.verdict().best->strategy, "sync");
  EXPECT_FALSE(comparison.verdict().by_time);
  EXPECT_FALSE(comparison.verdict().too_close);
  comparison.larger_is_better = false;
  EXPECT_EQ(comparison.verdict().best->strategy, "adaptive");
}

TEST(Verdict, NeedsAResult) {
  Comparison comparison = typical();
  comparison.strategies[0].runs.clear();
  EXPECT_EQ(comparison.verdict().next, nullptr);
  EXPECT_FALSE(comparison.verdict().too_close);
  comparison.strategies[1].runs.clear();
  EXPECT_EQ(comparison.verdict().best, nullptr);
  EXPECT_EQ(Comparison{}.verdict().best, nullptr);
}

TEST(ComparisonHtml, DrawsEveryRunAndTheTarget) {
  const std::string page = comparison_html(typical());
  // The large chart exists for wide and for narrow windows.
  EXPECT_EQ(count_of(page, "<path class=\"line pale\""), 2 * 2 * 2U);
  EXPECT_EQ(count_of(page, "<title>adaptive, seed 3</title>"), 2U);
  EXPECT_EQ(count_of(page, "<path class=\"level\""), 2U);
  EXPECT_EQ(count_of(page, ">target 70.00 %</text>"), 2U);
  EXPECT_EQ(count_of(page, "<h3>sync, seed 1</h3>"), 1U);
  EXPECT_EQ(count_of(page, "rows (logarithmic)"), 2U) << "16 and 256 rows";
  EXPECT_EQ(count_of(page, "<path class=\"waiting\""), 4U);
}

TEST(ComparisonHtml, DrawsTheMedianRunBold) {
  Comparison comparison = typical();
  comparison.strategies[0].runs = {run_of(1, 0.5, 0.7), run_of(2, 2, 0.7), run_of(3, 1, 0.7)};
  const std::string page = comparison_html(comparison);
  const auto path_titled = [&page](const std::string& title) {
    const std::size_t end = page.find("<title>" + title + "</title>");
    const std::size_t begin = page.rfind("<path", end);
    return page.substr(begin, end - begin);
  };
  EXPECT_THAT(path_titled("sync, seed 1"), HasSubstr("class=\"line pale\""));
  EXPECT_THAT(path_titled("sync, seed 2"), HasSubstr("class=\"line pale\""));
  EXPECT_THAT(path_titled("sync, seed 3"), HasSubstr("class=\"line\""));
}

TEST(ComparisonHtml, IsLogarithmicOnlyOverWideRanges) {
  Comparison comparison = typical();
  for (ComparedStrategy& strategy : comparison.strategies) {
    for (WorkerPoint& point : strategy.runs[0].series[1]) point.batch = 32;
  }
  EXPECT_THAT(comparison_html(comparison), Not(HasSubstr("logarithmic")));
}

TEST(ComparisonHtml, SaysWhenTimeIsVirtual) {
  Comparison comparison = typical();
  EXPECT_THAT(comparison_html(comparison), Not(HasSubstr("All times are virtual")));
  EXPECT_THAT(comparison_html(comparison), HasSubstr(">seconds of training<"));
  comparison.virtual_time = true;
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("All times are virtual"));
  EXPECT_THAT(page, HasSubstr(">virtual seconds of training<"));
  EXPECT_THAT(page, Not(HasSubstr(">seconds of training<")));
}

TEST(ComparisonHtml, SaysNeverWhereTheTargetWasNotReached) {
  Comparison comparison = typical();
  never_reach(comparison);
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_EQ(count_of(page, "<td>never</td>"), 2U);
  EXPECT_EQ(count_of(page, "<td>0 of 3 runs</td>"), 2U);
  EXPECT_THAT(page, HasSubstr("No strategy reached P@1 95.00 % in half of its runs"));
}

TEST(ComparisonHtml, GivesTheRangeUpToNeverIfSomeRunsGotThere) {
  Comparison comparison = typical();
  comparison.strategies[1].runs[2].seconds_to_target.reset();
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("<td>2.50 s<small>2.50 s – never</small></td><td>2 of 3 runs</td>"));
}

TEST(ComparisonHtml, EscapesNames) {
  Comparison comparison = typical();
  comparison.data = "<script>\"&'\x01";
  comparison.devices = {"<i>"};
  for (ComparedStrategy& strategy : comparison.strategies) {
    strategy.strategy = "<b a=\"" + strategy.strategy + "&amp;";
    strategy.tuning = {{0.1, 0.5}};
    for (ComparedRun& run : strategy.runs) run.workers[0].name = "</td>\"&";
  }
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;&quot;&amp;&#39; "));
  EXPECT_THAT(page, HasSubstr("&lt;b a=&quot;sync&amp;amp;"));
  EXPECT_THAT(page, HasSubstr("&lt;/td&gt;&quot;&amp;"));
  EXPECT_THAT(page, HasSubstr("&lt;i&gt;"));
}

TEST(ComparisonHtml, SaysWhichRunsDiverged) {
  Comparison comparison = typical();
  EXPECT_THAT(comparison_html(comparison), Not(HasSubstr("iverged")));
  comparison.metric = "loss";
  comparison.larger_is_better = false;
  ComparedRun& run = comparison.strategies[0].runs[1];
  run.diverged = true;
  run.curve[5].quality = 1e30;
  run.curve[6].quality = std::nan("");
  run.curve[7].quality = kInfinite;
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("1 of 3 runs of sync"));
  EXPECT_THAT(page, HasSubstr("1 run diverged</span>"));
  EXPECT_THAT(page, Not(HasSubstr("e+"))) << "the axis is that of the other runs";
}

TEST(ComparisonHtml, ShowsTheTuningIfThereWasAny) {
  Comparison comparison = typical();
  EXPECT_THAT(comparison_html(comparison), Not(HasSubstr("Tuning")));
  comparison.strategies[0].tuning = {{0.0625, 0.61}, {0.125, 0.62}};
  const std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\">0.0625</th><th scope=\"col\">0.125</th>"));
  EXPECT_THAT(page, HasSubstr("<td>61.00 %</td><td class=\"best\"><b>62.00 %"));
}

TEST(ComparisonHtml, HandlesMissingValues) {
  expect_sound(comparison_html({}));
  EXPECT_THAT(comparison_html({}), HasSubstr("No strategies were compared."));

  Comparison comparison = typical();
  comparison.devices.clear();
  comparison.strategies[0].runs.resize(1);
  ComparedRun& short_run = comparison.strategies[0].runs[0];
  short_run.curve.resize(1);
  short_run.series[0].resize(1);
  short_run.series[1].clear();
  for (ComparedRun& run : comparison.strategies[1].runs) {
    run.curve.clear();
    run.series.clear();
    run.workers.clear();
  }
  std::string page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("<title>sync, seed 1</title>"));
  EXPECT_THAT(page, Not(HasSubstr("<h3>adaptive")));

  comparison.strategies[0].runs.clear();
  page = comparison_html(comparison);
  expect_sound(page);
  EXPECT_THAT(page, HasSubstr("no curve to show"));
  EXPECT_THAT(page, HasSubstr("no runs"));
}

TEST(ComparisonHtml, NeverShowsWhatIsNotANumber) {
  for (const double value : {std::nan(""), kInfinite, -kInfinite, 1e308, -1e308, 5e-324}) {
    SCOPED_TRACE(value);
    Comparison comparison = typical();
    comparison.target = value;
    for (ComparedStrategy& strategy : comparison.strategies) {
      strategy.learning_rate = value;
      strategy.tuning = {{0.1, value}};
      for (ComparedRun& run : strategy.runs) {
        run.seconds_to_target = value;
        run.best_quality = run.final_quality = run.seconds = run.samples_per_second = value;
        for (CurvePoint& point : run.curve) point = {value, value, value, value};
        run.curve.push_back({1, value, 0.5, 0});
        run.curve.push_back({2, 3, value, 0});
        run.series[0][3] = {value, value, value, value, value};
        run.series[1][4] = {1, value, value, value, value};
        run.workers[0].compute = run.workers[0].staleness = value;
      }
    }
    expect_sound(comparison_html(comparison));
    comparison.metric = "loss";
    expect_sound(comparison_html(comparison));
  }
}

}  // namespace
}  // namespace evener
