"""The scripts of bench/data, on small files."""
import lzma
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class DataScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def run_script(self, script, *words):
        return subprocess.run([sys.executable, str(ROOT / "bench/data" / script), *words], cwd=self.folder, capture_output=True, text=True)

    def fails_with(self, message, script, *words):
        done = self.run_script(script, *words)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(message, done.stderr)


class SplitRows(DataScript):
    def setUp(self):
        super().setUp()
        self.write("data.txt", "4 5 3\n0,2 1:0.5 4:1\n1 0:2\n 3:1\n2 2:1 4:3\n")
        self.write("rows", "4 1\n1 2\n2 3\n")

    def test_writes_the_rows_of_a_column_with_their_own_header(self):
        self.assertEqual(self.run_script("split_rows.py", "data.txt", "rows", "out.txt").returncode, 0)
        self.assertEqual((self.folder / "out.txt").read_text(), "3 5 3\n2 2:1 4:3\n0,2 1:0.5 4:1\n1 0:2\n")

    def test_takes_another_column_and_compresses(self):
        self.assertEqual(self.run_script("split_rows.py", "data.txt", "rows", "out.txt.xz", "--column", "2").returncode, 0)
        self.assertEqual(lzma.open(self.folder / "out.txt.xz", "rt").read(), "3 5 3\n0,2 1:0.5 4:1\n1 0:2\n 3:1\n")

    def test_says_what_is_wrong(self):
        self.fails_with("rows:1: there is no column 3", "split_rows.py", "data.txt", "rows", "out", "--column", "3")
        self.write("bad", "1\n9\n")
        self.fails_with("bad:2: 9 is not a row number from 1 to 4", "split_rows.py", "data.txt", "bad", "out")
        self.write("bad", "1\n1\n")
        self.fails_with("bad:2: row 1 is listed twice", "split_rows.py", "data.txt", "bad", "out")
        self.write("short.txt", "5 5 3\n0 1:1\n")
        self.fails_with("says 5 rows, the file has 1", "split_rows.py", "short.txt", "rows", "out")
        self.write("bare.txt", "0 1:1\n")
        self.fails_with("bare.txt:1: the first line must be", "split_rows.py", "bare.txt", "rows", "out")
        self.fails_with("No such file", "split_rows.py", "missing.txt", "rows", "out")


class CiteulikeT(DataScript):
    def test_weighs_words_and_leaves_out_articles_without_words_or_tags(self):
        self.write("mult.dat", "2 0:1 3:2\n0\n1 2:1\n3 0:1 1:1 2:5\n1 1:1\n1 0:1\n")
        self.write("tag-item.dat", "2 0 3\n1 1\n2 2 4\n")
        done = self.run_script("citeulike_t.py", "mult.dat", "tag-item.dat", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [lzma.open(self.folder / "out" / f"{part}.txt.xz", "rt").read().splitlines() for part in ("train", "test")]
        self.assertEqual([part[0] for part in rows], ["3 4 3", "1 4 3"])
        self.assertCountEqual([row.split()[0] for part in rows for row in part[1:]], ["0", "2", "0", "2"])
        for part in rows:
            for row in part[1:]:
                self.assertAlmostEqual(sum(float(pair.split(":")[1]) ** 2 for pair in row.split()[1:]), 1, places=3)

    def test_says_what_is_wrong(self):
        self.write("mult.dat", "1 0:1\n1 1:1\n")
        self.write("tag-item.dat", "1 7\n")
        self.fails_with("tag-item.dat:1: there is no article 7, only 2", "citeulike_t.py", "mult.dat", "tag-item.dat", "out")
        self.write("mult.dat", "2 0:1\n")
        self.fails_with("mult.dat:1: expected a number and that many entries", "citeulike_t.py", "mult.dat", "tag-item.dat", "out")


if __name__ == "__main__":
    unittest.main()
