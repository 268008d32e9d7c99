"""scripts/check_format must fail on a badly formatted file, and --fix must correct it."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKER = ROOT / "scripts" / "check_format"


class FormatTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        shutil.copy(ROOT / ".clang-format", self.folder.name)
        self.file = pathlib.Path(self.folder.name) / "a.cc"

    def run_checker(self, *options):
        command = [CHECKER, *options, self.file]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_refuses_and_mends_a_badly_formatted_file(self):
        self.file.write_text("int  f( int x ){return x;}\n", encoding="utf-8")
        done = self.run_checker()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a.cc:1:", done.stderr)
        self.assertEqual(self.run_checker("--fix").returncode, 0)
        self.assertEqual(self.run_checker().returncode, 0)

    def test_accepts_a_well_formatted_file(self):
        self.file.write_text("int f(int x) {\n  return x;\n}\n", encoding="utf-8")
        done = self.run_checker()
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
