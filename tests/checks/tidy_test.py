"""scripts/check_tidy must fail on a known finding, in a source and in a header of the project."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKER = ROOT / "scripts" / "check_tidy"


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = folder.name

    def check(self, files):
        """Exit code and output for evener/a.cc of a small project with these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "evener").mkdir()
            shutil.copy(ROOT / ".clang-tidy", root)
            for name, text in files.items():
                (root / "evener" / name).write_text(text, encoding="utf-8")
            source = str(root / "evener" / "a.cc")
            # A warning flag that only g++ knows: the checker must ignore it.
            command = {"directory": folder, "file": source,
                       "command": f"g++ -std=c++20 -Wall -Wduplicated-cond -Werror -I{folder} -c {source}"}
            (root / "compile_commands.json").write_text(json.dumps([command]), encoding="utf-8")
            return self.run_checker(folder, source)

    def run_checker(self, folder, source):
        done = subprocess.run([CHECKER, folder, source], capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": self.cache})
        return done.returncode, done.stdout + done.stderr

    def test_accepts_clean_code(self):
        status, output = self.check({"a.cc": "int twice(int x) {\n  return 2 * x;\n}\n"})
        self.assertEqual(status, 0, output)

    def test_refuses_a_bug(self):
        status, output = self.check({"a.cc": "double half(int x) {\n  return x / 2;\n}\n"})
        self.assertNotEqual(status, 0)
        self.assertIn("bugprone-integer-division", output)

    def test_refuses_a_wrong_name(self):
        status, output = self.check({"a.cc": "int WrongCase(int x) {\n  return x;\n}\n"})
        self.assertNotEqual(status, 0)
        self.assertIn("readability-identifier-naming", output)

    def test_looks_into_headers_of_the_project(self):
        status, output = self.check({"a.cc": '#include "evener/b.h"\n', "b.h": "inline int WrongCase() { return 1; }\n"})
        self.assertNotEqual(status, 0)
        self.assertIn("b.h:1:", output)

    def test_looks_again_only_where_something_has_changed(self):
        header = "inline int right_case() { return 1; }\n"
        clean = {"a.cc": '#include "evener/b.h"\n', "b.h": header}
        for known in ("0 of them", "1 of them"):
            status, output = self.check(clean)
            self.assertEqual(status, 0, output)
            self.assertIn(known, output)
        status, output = self.check({**clean, "b.h": header.replace("right_case", "WrongCase")})
        self.assertNotEqual(status, 0, output)

    def check_joined(self, files):
        """The same for a whole project whose build joins its sources."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("evener", "scripts", "Unity"):
                (root / name).mkdir()
            shutil.copy(ROOT / ".clang-tidy", root)
            shutil.copy(CHECKER, root / "scripts")
            for name, text in files.items():
                (root / "evener" / name).write_text(text, encoding="utf-8")
            joined = root / "Unity" / "unity_0_cxx.cxx"
            joined.write_text("".join(f'#include "{root}/evener/{name}"\n' for name in files), encoding="utf-8")
            command = {"directory": folder, "file": str(joined),
                       "command": f"g++ -std=c++20 -Wall -Wshadow -Werror -I{folder} -o a.o -c {joined}"}
            (root / "compile_commands.json").write_text(json.dumps([command]), encoding="utf-8")
            done = subprocess.run([root / "scripts" / "check_tidy", folder], capture_output=True, text=True, check=False,
                                  env={**os.environ, "XDG_CACHE_HOME": self.cache})
            return done.returncode, done.stdout + done.stderr

    def test_looks_at_joined_files_together_and_compiles_each_alone(self):
        clean = {"a.cc": "#include <cmath>\ndouble root(double x) {\n  return std::sqrt(x);\n}\n",
                 "b.cc": "int twice(int x) {\n  return 2 * x;\n}\n"}
        for known in ("0 of them", "3 of them"):
            status, output = self.check_joined(clean)
            self.assertEqual(status, 0, output)
            self.assertIn(f"3 checks, {known}", output)
        status, output = self.check_joined({**clean, "b.cc": "double half(int x) {\n  return x / 2;\n}\n"})
        self.assertNotEqual(status, 0)
        self.assertIn("bugprone-integer-division", output)
        # It would compile after a.cc, which has included the header.
        status, output = self.check_joined({**clean, "b.cc": "double other(double x) {\n  return std::cbrt(x);\n}\n"})
        self.assertNotEqual(status, 0)
        self.assertIn("b.cc (alone)", output)


if __name__ == "__main__":
    unittest.main()
