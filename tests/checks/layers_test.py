"""scripts/check_layers must fail on each kind of fault, naming file and line, and on nothing else."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers"


def run_checker(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class LayersTest(unittest.TestCase):
    def assert_refused(self, files, *expected):
        status, output = run_checker(files)
        self.assertEqual(status, 1, output)
        for text in expected:
            self.assertIn(text, output)

    def assert_accepted(self, files):
        status, output = run_checker(files)
        self.assertEqual(status, 0, output)

    def assert_order(self, layer, order):
        """Each folder may use those before it, and none after it."""
        for i, own in enumerate(order):
            for j, used in enumerate(order):
                file = {f"evener/{layer}/{own}/a.cc": f'#include "evener/{layer}/{used}/x.h"\n'}
                if j <= i:
                    self.assert_accepted(file)
                else:
                    self.assert_refused(file, f"a.cc:1: {layer}/{own} must not include evener/{layer}/{used}/x.h")

    def test_a_layer_may_use_those_above_it(self):
        self.assert_accepted({
            "evener/nn/a.cc": '#include "evener/core/error.h"\n#include "evener/data/dataset.h"\n',
            "evener/run/b.cc": '#include "evener/runtime/x.h"\n#include "evener/policy/x.h"\n',
        })

    def test_a_layer_must_not_use_those_below_it(self):
        self.assert_refused({"evener/core/a.cc": '\n#include "evener/data/dataset.h"\n'},
                            "evener/core/a.cc:2: core must not include evener/data/dataset.h")
        self.assert_refused({"evener/run/a.h": '#pragma once\n#include "evener/app/x.h"\n'}, "a.h:2:")

    def test_policies_see_only_core(self):
        self.assert_accepted({"evener/policy/a.cc": '#include "evener/core/seconds.h"\n'})
        for layer in ("data", "nn", "device"):
            self.assert_refused({"evener/policy/a.cc": f'#include "evener/{layer}/x.h"\n'}, "it may use core")

    def test_policies_see_only_the_pure_part_of_core(self):
        for header in ("error.h", "nearest.h", "random.h", "seconds.h"):
            self.assert_accepted({"evener/policy/strategies/a.cc": f'#include "evener/core/{header}"\n'})
        for header in ("team.h", "mailbox.h", "file.h", "plugin.h", "time.h", "new.h"):
            self.assert_refused({"evener/policy/strategies/a.cc": f'\n#include "evener/core/{header}"\n'},
                                f"a.cc:2: a policy is pure, and must not include evener/core/{header}")
            self.assert_accepted({"evener/runtime/a.cc": f'#include "evener/core/{header}"\n'})

    def test_policies_include_no_clock_thread_file_or_random_device(self):
        for header in ("thread", "chrono", "mutex", "atomic", "random", "fstream", "filesystem",
                       "condition_variable", "future", "iostream", "ctime", "sys/time.h", "unistd.h"):
            self.assert_refused({"evener/policy/a.h": f"#pragma once\n#include <{header}>\n"},
                                f"a.h:2: a policy is pure, and must not include <{header}>")
            self.assert_accepted({"evener/runtime/a.cc": f"#include <{header}>\n"})
        self.assert_accepted({"evener/policy/a.cc": "#include <vector>\n#include <fmt/format.h>\n"})

    def test_policies_name_no_stopwatch(self):
        self.assert_refused({"evener/policy/a.cc": "\nStopwatch clock;\n"},
                            "a.cc:2: a policy is pure, and reads no clock")
        self.assert_accepted({"evener/policy/a.cc": "// not a Stopwatch\n"})
        self.assert_accepted({"evener/runtime/a.cc": "Stopwatch clock;\n"})

    def test_what_policies_use_of_core_is_pure_itself(self):
        self.assert_refused({"evener/core/random.h": "#pragma once\n#include <random>\n"},
                            "random.h:2: a policy is pure")
        self.assert_refused({"evener/core/seconds.h": '#pragma once\n#include "evener/core/time.h"\n'},
                            "seconds.h:2: a policy is pure")
        self.assert_accepted({"evener/core/time.h": "#pragma once\n#include <chrono>\n"})

    def test_folders_of_the_cluster_are_layers_too(self):
        for last in ("parameter_server", "gossip"):
            self.assert_order("cluster", ["transport", "wire", "membership", last])
        for own, used in (("parameter_server", "gossip"), ("gossip", "parameter_server")):
            self.assert_refused({f"evener/cluster/{own}/a.cc": f'#include "evener/cluster/{used}/x.h"\n'},
                                "it may use transport, wire, membership")

    def test_folders_of_a_run_are_layers_too(self):
        self.assert_order("run", ["options", "artifacts", "report", "session", "compare"])
        self.assert_order("run", ["options", "devices", "session", "compare"])
        for own, used in (("devices", "artifacts"), ("devices", "report"), ("artifacts", "devices"),
                          ("report", "devices")):
            self.assert_refused({f"evener/run/{own}/a.cc": f'#include "evener/run/{used}/x.h"\n'},
                                f"run/{own} must not include")

    def test_folders_of_the_command_line_are_layers_too(self):
        self.assert_order("app", ["shell", "options", "commands"])
        self.assert_accepted({"evener/app/a.cc": '#include "evener/app/commands/x.h"\n'})
        self.assert_refused({"evener/app/shell/a.cc": '#include "evener/app/a.h"\n'},
                            "app/shell must not include evener/app/a.h: it may use nothing")

    def test_an_unknown_folder_of_an_ordered_layer_is_refused(self):
        self.assert_refused({"evener/run/util/a.cc": '#include "evener/run/options/x.h"\n'},
                            "'run/util' is not a folder of run")
        self.assert_refused({"evener/run/session/a.cc": '#include "evener/run/util/x.h"\n'},
                            "run/session must not include")

    def test_devices_do_not_see_policies(self):
        self.assert_refused({"evener/device/cpu/a.cc": '#include "evener/policy/x.h"\n'}, "cpu/a.cc:1:")

    def test_an_unknown_folder_is_not_a_layer(self):
        self.assert_refused({"evener/util/a.cc": ""}, "'util' is not a layer")
        self.assert_refused({"evener/nn/a.cc": '#include "evener/util/x.h"\n'}, "there is no layer 'util'")

    def test_own_headers_are_included_by_full_path_and_quoted(self):
        self.assert_refused({"evener/nn/a.cc": '#include "b.h"\n', "evener/nn/b.h": "#pragma once\n"}, "full path")
        self.assert_refused({"evener/nn/a.cc": "#include <evener/core/error.h>\n"}, "quoted")

    def test_only_the_command_line_reads_the_environment(self):
        self.assert_refused({"evener/run/a.cc": 'auto* home = std::getenv("HOME");\n'}, "a.cc:1: reads the environment")
        self.assert_accepted({"evener/app/a.cc": 'auto* home = std::getenv("HOME");\n'})

    def test_only_main_and_the_signal_handler_end_the_process(self):
        for call in ("exit(1)", "std::exit(1)", "::_exit(1)", "std::quick_exit(0)"):
            self.assert_refused({"evener/app/a.cc": f"void f() {{ {call}; }}\n"}, "a.cc:1: ends the process")
        self.assert_accepted({"evener/app/main.cc": "int main() { std::exit(0); }\n"})
        self.assert_accepted({"evener/app/shell/signals.cc": "void f() { _exit(130); }\n"})
        self.assert_accepted({"evener/app/a.cc": "int f() { return on_exit(1) + region.exit(2); }\n"})

    def test_comments_and_literals_are_not_code(self):
        self.assert_accepted({"evener/nn/a.cc": '// exit(1)\n/* getenv("X")\n exit(2) */\n'
                                                'auto s = "http://exit(1)"; auto n = 1\'000;\n'
                                                'auto r = R"(exit(1) " getenv(2))";\n'
                                                '// #include "evener/app/x.h"\n'})
        self.assert_refused({"evener/nn/a.cc": 'auto s = "// "; exit(1);\n'}, "a.cc:1:")

    def test_files_are_short_and_policies_shorter(self):
        self.assert_accepted({"evener/nn/a.cc": "\n" * 400, "evener/policy/a.cc": "\n" * 150})
        self.assert_refused({"evener/nn/a.cc": "\n" * 401}, "401 lines")
        self.assert_refused({"evener/policy/a.cc": "\n" * 151}, "151 lines")

    def test_headers_have_pragma_once(self):
        self.assert_refused({"evener/nn/a.h": "// #pragma once\n"}, "without #pragma once")

    def test_kernels_that_highway_includes_again_have_its_toggle(self):
        self.assert_accepted({"evener/device/cpu/a-inl.h": "#if defined(A_INL_H) == defined(HWY_TARGET_TOGGLE)\n#endif\n"})
        self.assert_refused({"evener/device/cpu/a-inl.h": "#pragma once\n"}, "without HWY_TARGET_TOGGLE")

    def test_an_empty_tree_is_a_fault_of_the_call(self):
        self.assert_refused({}, "no source files")


if __name__ == "__main__":
    unittest.main()
